#!/usr/bin/env bash
# The one command: format, build, tests, documentation, samples, linkage, benchmark, sanitizers, fuzzing. Ends with an error as soon as one of them fails.
#
#   bash Tests/check.sh           everything that fits into a coffee break
#   bash Tests/check.sh --long    with a million flipped bits, the whole simulation of loops, 1,200 kills of agents, the core's coverage, and a minute of fuzzing each
set -euo pipefail
cd "$(dirname "$0")/.."

fuzz_seconds=10
for argument in "$@"; do
    case "$argument" in
        --long)
            fuzz_seconds=60
            export KIIPUSH_LONG=1
            ;;
        *) echo "check.sh: unknown option '$argument'; it takes --long" >&2; exit 64 ;;
    esac
done

step() { printf '\n== %s\n' "$*"; }
# The last line says whether it went well, also when a command that says little of its own has failed.
trap 'status=$?; [ $status -eq 0 ] || printf "\ncheck.sh: stopped with %s\n" "$status" >&2' EXIT

fail() { printf 'check.sh: %s\n' "$*" >&2; exit 1; }

# need COMMAND PACKAGE: installs a Debian package when its command, or its file of that path, is missing.
need() {
    if command -v "$1" >/dev/null || [ -e "$1" ]; then return; fi
    step "installing $2, for $1"
    local root=""
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "$1 is missing; install the Debian package $2 (no root, no sudo here)"
        root=sudo
    fi
    $root apt-get update -qq
    $root apt-get install -y -qq "$2"
}

command -v swift >/dev/null || fail "no Swift toolchain on PATH; install Swift 6.3 from swift.org"
need ldd libc-bin
need strip binutils
swift --version 2>&1 | head -n 1

step "format"
swift format lint --strict --recursive --parallel Package.swift Sources Tests Samples

step "the core and the tool: no Foundation, no unsafe code"
if grep -rnE '^ *(public |package |internal |private )?import Foundation' \
    Sources/KiiPush Sources/kiipush Sources/KiiPushLinux Sources/KiiPushTesting Sources/KiiPushSQLite Sources/KiiPushMQTT; then
    fail "Foundation is imported where it must not be"
fi
if grep -rnwE 'unsafe|nonisolated\(unsafe\)|@unchecked' --include='*.swift' Sources/KiiPush | grep -vE ':[0-9]+: *//'; then
    fail "unsafe code in the core"
fi

# Warnings are errors: strict memory safety and unused results report as warnings.
strict=(-Xswiftc -warnings-as-errors --explicit-target-dependency-import-check error)

# Leaves out of the tests' report what went well: the run's last line counts it.
failures_and_sum() { awk '!/^(◇|✔ (Suite|Test case|Test [^r]))/'; }

need zsh zsh
need fish fish
step "build and tests, no traits"
swift build --quiet --build-tests "${strict[@]}"
# In two runs: what talks to processes and sockets waits for others, who must not stand behind a test that computes.
waiting='KiiPushLinuxTests|KiiPushToolTests'
swift test --skip-build --parallel --skip "$waiting" | failures_and_sum
swift test --skip-build --parallel --filter "$waiting" | failures_and_sum

# Before the traits are on, or it would say nothing of a build without them.
tests=$(echo "$(swift build --show-bin-path)"/*.xctest)
if ldd "$tests" | grep -E 'libsqlite3|libmosquitto'; then fail "a build without traits links what a trait is for"; fi

need /usr/include/sqlite3.h libsqlite3-dev
need /usr/include/mosquitto.h libmosquitto-dev
need /usr/sbin/mosquitto mosquitto
need mosquitto_pub mosquitto-clients
need openssl openssl
need strace strace
step "build and tests, all traits"
# In a folder of their own: a trait is a flag of every compilation, so that turning it on and off builds all anew.
traits=(--enable-all-traits --scratch-path .build/traits)
swift build --quiet --build-tests "${traits[@]}" "${strict[@]}"
# What a trait adds; all else was tested above. One after the other: a process that one test starts shares the lock of
# another test's database until it runs its own program.
swift test --skip-build "${traits[@]}" --no-parallel --filter 'KiiPushSQLiteTests|KiiPushMQTTTests|AgentTests' | failures_and_sum
tests=$(echo "$(swift build "${traits[@]}" --show-bin-path)"/*.xctest)
libraries=$(ldd "$tests")
grep -q libsqlite3 <<<"$libraries" || fail "a build with all traits does not link SQLite"
grep -q libmosquitto <<<"$libraries" || fail "a build with all traits does not link libmosquitto"

step "documentation: every link leads somewhere"
graphs=$PWD/.build/documentation/symbol-graphs
mkdir -p "$graphs"
swift build --quiet --scratch-path .build/documentation --target KiiPush \
    -Xswiftc -emit-symbol-graph -Xswiftc -emit-symbol-graph-dir -Xswiftc "$graphs"
docc convert Sources/KiiPush/KiiPush.docc --fallback-display-name KiiPush --fallback-bundle-identifier KiiPush \
    --additional-symbol-graph-dir "$graphs" --output-path .build/documentation/KiiPush.doccarchive --warnings-as-errors

step "samples: each prints what its expected-output.txt says"
swift build --quiet --build-tests --package-path Samples
samples=$(swift build --package-path Samples --show-bin-path)
for sample in Samples/[0-9]*/; do
    name=$(basename "$sample" | sed 's/^[0-9]*-//')
    echo "$name"
    diff -u "$sample/expected-output.txt" <("$samples/$name")
done
picture=.build/loop-safety.svg
"$samples/LoopSafeSync" --svg "$picture" >/dev/null
cmp "$picture" Sources/KiiPush/KiiPush.docc/Resources/loop-safety.svg ||
    fail "the guide's picture is not what the sample draws; LoopSafeSync --svg makes it"

swift test --skip-build --package-path Samples | failures_and_sum

step "sample 06 with its traits: its tour, over a kill, and what its unit leaves open"
need systemd-analyze systemd
agent=(--package-path Samples --traits MQTT,SQLite --scratch-path Samples/.build/traits --product MQTTAgent)
swift build --quiet "${agent[@]}"
bash Samples/06-MQTTAgent/tour.sh "$(swift build "${agent[@]}" --show-bin-path)/MQTTAgent"
systemd-analyze security --offline=true --threshold=15 Samples/06-MQTTAgent/mqtt-agent.service | tail -n 1

step "alert rules: they can be read, and say what their tests want"
# Debian's package, unpacked and not installed: it would start a server that listens on all addresses.
promtool=$(command -v promtool || echo .build/prometheus/usr/bin/promtool)
if [ ! -x "$promtool" ]; then
    rm -rf .build/prometheus && mkdir -p .build/prometheus
    apt-cache show prometheus >/dev/null 2>&1 || apt-get update -qq
    (cd .build/prometheus && apt-get download -qq prometheus && dpkg-deb -x prometheus_*.deb .) ||
        fail "promtool is missing; install the Debian package prometheus"
fi
"$promtool" check rules Samples/Watching/alerts.yml
"$promtool" test rules Samples/Watching/alerts-test.yml
# A metric that a rule or the dashboard asks for, and that no agent writes, would be silent for ever.
for metric in $(grep -ohE 'kiipush_[a-z_]+' Samples/Watching/alerts.yml Samples/Watching/dashboard.json | sort -u); do
    name=${metric#kiipush_}
    grep -rqE "\"${name%_bucket}\"|\"${name%_sum}\"" Sources/KiiPushLinux/Records || fail "no agent writes $metric"
done

step "linkage: the core and the tool load no Foundation"
swift build --quiet -c release --product kiipush
swift build --quiet -c release --package-path Tests/Linkage
tool="$(swift build -c release --show-bin-path)/kiipush"
core="$(swift build -c release --package-path Tests/Linkage --show-bin-path)/linkage"
for program in "$tool" "$core"; do
    libraries=$(ldd "$program")
    if grep -E 'lib_?(Foundation|FoundationEssentials|FoundationInternationalization)' <<<"$libraries"; then
        fail "$program links Foundation"
    fi
    grep -q libswiftCore <<<"$libraries" || fail "ldd shows no Swift library for $program: the check sees nothing"
    echo "$(basename "$program"): no Foundation"
done
[ "$("$core")" = "Push to User" ] || fail "the program that links only the core does not run"

step "the tool, as a newcomer starts it"
"$tool" demo >/dev/null
echo '{"bucketID":"settings","objectScopeType":"APP"}' | "$tool" inspect
"$tool" rules lint --strict Samples/05-RoutingRules/rules.json
"$tool" rules test --coverage --fail-under 100 Samples/05-RoutingRules/rules.json

step "benchmark, one round"
swift build --quiet -c release --package-path Tests/Benchmarks
bench="$(swift build -c release --package-path Tests/Benchmarks --show-bin-path)/kiipush-bench"
"$bench" --rounds 1

need valgrind valgrind
step "a message's allocations and instructions: none beyond what thresholds.txt allows"
bash Tests/Benchmarks/gate.sh

step "hostile payloads: none costs twenty times what an ordinary one does, byte for byte"
"$bench" --hostile

step "loops and honest traffic through fleets of devices: every bound holds"
swift build --quiet -c release --package-path Tests/Simulation
simulation="$(swift build -c release --package-path Tests/Simulation --show-bin-path)/kiipush-simulation"
# Prints what the simulation prints, and fails unless the guide has each row of its tables with these first words.
simulate() { # WORDS OPTION...
    local words="$1" output rows
    shift
    output="$("$simulation" "$@")" || { printf '%s\n' "$output"; fail "the simulation, $*"; }
    printf '%s\n' "$output"
    rows="$(printf '%s\n' "$output" | sed -E 's/ +/ /g' | grep -E "^\| ($words)")"
    while IFS= read -r row; do
        grep -qxF -- "$row" Sources/KiiPush/KiiPush.docc/LoopSafety.md || fail "LoopSafety.md has another row than: $row"
    done <<<"$rows"
}
if [ -n "${KIIPUSH_LONG:-}" ]; then "$simulation"; fi
simulate 'update|create|ping-pong' --quick
simulate 'one|a new|fifty|60|5,000|what' --honest --seeds 10

step "an adversary against the loop guard"
# How many of so many random loops exceed the bounds, as LoopSafety.md says; each of the same seeds gives the same.
"$simulation" --adversary --seeds 270 --rounds 0 --cost 20000 --allow 30 | tail -n 1
if [ -n "${KIIPUSH_LONG:-}" ]; then "$simulation" --adversary --seeds 2000 --rounds 4 --cost 20000 --allow 2000 | tail -n 60; fi

step "agents on a real broker, killed, cut off, out of disk: nothing acknowledged is lost"
swift build --quiet -c release --package-path Tests/Faults
faults="$(swift build -c release --package-path Tests/Faults --show-bin-path)/kiipush-faults"
durable="$(swift build "${traits[@]}" --show-bin-path)/kiipush"
if [ -n "${KIIPUSH_LONG:-}" ]; then
    "$faults" --long --tool "$durable"
else
    timeout 420 "$faults" --tool "$durable"
fi

step "sanitizers: addresses and threads"
bash Tests/sanitize.sh | failures_and_sum

if [ -n "${KIIPUSH_LONG:-}" ]; then
    step "coverage: every region of what reads a payload"
    bash Tests/coverage.sh 100
fi

step "fuzzing, $fuzz_seconds seconds each"
bash Tests/Fuzz/run.sh "$fuzz_seconds"

step "all is well"
