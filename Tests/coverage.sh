#!/usr/bin/env bash
# How many lines of the core its tests reach, by folder; fails at a line that none reaches of what reads a payload.
#
#   bash Tests/coverage.sh
#
# Lines, not regions: what stands behind `??` is often there only because the compiler asks for it, and nothing reaches it.
set -euo pipefail
cd "$(dirname "$0")/.."

# Whatever a network sends goes through these folders.
judged=(Payload Formats Message Model)
scratch=.build/coverage
export KIIPUSH_TESTS=KiiPushTests,KiiPushRulesTests,KiiPushDeliveryTests

fail() { printf 'coverage.sh: %s\n' "$*" >&2; exit 1; }

# llvm-cov must be the one that the compiler came with, or it may not read what that wrote.
llvm_cov="$(dirname "$(readlink -f "$(type -P swift)")")/llvm-cov"
[ -x "$llvm_cov" ] || llvm_cov=$(command -v llvm-cov) || fail "there is no llvm-cov beside swift"

# Atomic counters: tests have several threads, and counts that got lost make covered lines look missed.
atomic=(-Xswiftc -Xllvm -Xswiftc -instrprof-atomic-counter-update-all)
options=(--enable-code-coverage --scratch-path "$scratch" "${atomic[@]}")
log="$scratch.log"
mkdir -p "$(dirname "$log")"
swift build --build-tests "${options[@]}" >"$log" 2>&1 || { cat "$log"; fail "the tests do not build"; }
swift test --skip-build "${options[@]}" --no-parallel >"$log" 2>&1 || { grep -a ✘ "$log"; fail "a test failed: $log"; }

folder=$(dirname "$(swift test "${options[@]}" --show-codecov-path)")
program=$(find "$(dirname "$folder")" -maxdepth 1 -name '*PackageTests.xctest')
covered=("$program" "-instr-profile=$folder/default.profdata")

printf '%-12s %8s %8s %9s\n' folder lines missed covered
for part in Sources/KiiPush/*/; do
    compgen -G "$part*.swift" >/dev/null || continue
    "$llvm_cov" report "${covered[@]}" "$part" | awk -v name="$(basename "$part")" '
        $1 == "TOTAL" { printf "%-12s %8d %8d %8.2f%%\n", name, $8, $9, 100 * ($8 - $9) / $8 }'
done

# The brace that closes an endless loop is counted as a line, and is none.
missed=$("$llvm_cov" show "${covered[@]}" "${judged[@]/#/Sources/KiiPush/}" | awk '
    /^[^ ].*:$/ { file = $0; next }
    /^ *[0-9]+\| +0\|/ && !/\| *}$/ { print file $0 }')
[ -z "$missed" ] || { printf '\n%s\n' "$missed"; fail "no test reaches these lines"; }
