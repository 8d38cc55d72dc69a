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
step "agents on a real broker, killed, cut off, out of disk: nothing acknowledged is lost"
swift build --quiet -c release --package-path Tests/Faults
faults="$(swift build -c release --package-path Tests/Faults --show-bin-path)/kiipush-faults"
"$faults" ${KIIPUSH_LONG:+--long} --tool "$(swift build "${traits[@]}" --show-bin-path)/kiipush"

step "sanitizers: addresses and threads"
bash Tests/sanitize.sh | failures_and_sum

if [ -n "${KIIPUSH_LONG:-}" ]; then
    step "coverage: every region of what reads a payload"
    bash Tests/coverage.sh 100
fi

step "fuzzing, $fuzz_seconds seconds each"
bash Tests/Fuzz/run.sh "$fuzz_seconds"

step "all is well"
