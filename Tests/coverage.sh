#!/usr/bin/env bash
# How much of the core the tests reach: regions covered, a line for each folder, and each region that none does.
#
#   bash Tests/coverage.sh [PERCENT]   fails when the folders that read payloads reach less than PERCENT (100)
set -euo pipefail
cd "$(dirname "$0")/.."

goal=${1:-100}
# The folders that the goal is for: whatever a network sends goes through them.
judged=(Payload Formats Message Model)
scratch=.build/coverage

fail() { printf 'coverage.sh: %s\n' "$*" >&2; exit 1; }
[[ $goal =~ ^[0-9]+([.][0-9]+)?$ ]] || { echo "coverage.sh: '$goal' is no percentage" >&2; exit 64; }

# llvm-cov must be the one that the compiler came with, or it may not read what that wrote.
llvm_cov="$(dirname "$(readlink -f "$(type -P swift)")")/llvm-cov"
[ -x "$llvm_cov" ] || llvm_cov=$(command -v llvm-cov) || fail "there is no llvm-cov beside swift"

# One test at a time: the counters are not atomic, and counts that got lost make covered regions look missed.
options=(--enable-code-coverage --scratch-path "$scratch")
log="$scratch.log"
mkdir -p "$(dirname "$log")"
swift build --build-tests "${options[@]}" >"$log" 2>&1 || { cat "$log"; fail "the tests do not build"; }
swift test --skip-build "${options[@]}" --no-parallel >"$log" 2>&1 || { grep -a ✘ "$log"; fail "a test failed: $log"; }

folder=$(dirname "$(swift test "${options[@]}" --show-codecov-path)")
program=$(find "$(dirname "$folder")" -maxdepth 1 -name '*PackageTests.xctest')
covered=("$program" "-instr-profile=$folder/default.profdata")

# regions FOLDER...: how many regions the folders' files have, and how many of them no test reaches.
regions() {
    "$llvm_cov" report "${covered[@]}" "$@" | awk '$1 == "TOTAL" { print $2, $3 }'
}

printf '%-12s %8s %8s %9s\n' folder regions missed covered
for part in Sources/KiiPush/*/; do
    compgen -G "$part*.swift" >/dev/null || continue
    read -r all missed < <(regions "$part")
    awk -v name="$(basename "$part")" -v all="$all" -v missed="$missed" \
        'BEGIN { printf "%-12s %8d %8d %8.2f%%\n", name, all, missed, 100 * (all - missed) / all }'
done

read -r all missed < <(regions "${judged[@]/#/Sources/KiiPush/}")
printf '\n%s: %s of %s regions\n' "${judged[*]}" "$((all - missed))" "$all"
# Each line with a region that no test reaches: its count is 0, or that of a part of it is.
"$llvm_cov" show "${covered[@]}" -show-line-counts-or-regions "${judged[@]/#/Sources/KiiPush/}" | awk '
    /^[^ ].*:$/ { file = $0; next }
    /\^0( |$)/ { print file source; next }
    { source = $0 }
    /^ *[0-9]+\| +0\|/ { print file source }'
awk -v all="$all" -v missed="$missed" -v goal="$goal" 'BEGIN { exit 100 * (all - missed) < goal * all }' ||
    fail "less than $goal% of the regions"
