# What the steps share; each step sources this file, and runs in the repository's root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fail() { printf 'check.sh: %s\n' "$*" >&2; exit 1; }

# Warnings are errors: strict memory safety and unused results report as warnings. Without debug information a build
# takes a fifth less; a test that crashes is run again with a plain `swift test` for the lines.
strict=(
    -Xswiftc -warnings-as-errors --explicit-target-dependency-import-check error
    -debug-info-format none
)

# Each in a folder of its own: a flag or a trait is part of every compilation, so that a build with others, such as a
# plain `swift build`, would build all anew.
plain=(--scratch-path .build/check "${strict[@]}")
traits=(--enable-all-traits --scratch-path .build/check-traits "${strict[@]}")

# The package of the programs beside the tests; it builds the tool too, of the library that it has compiled already.
programs=(-c release --package-path Tests)

# So many tests at once: a limit of time says then how long a test takes, and not how long others kept it waiting.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4

# The order of a package's traits is part of every compilation, and changes from one plan to the next with the hashes of
# the process that plans: all would be built anew.
swift() { if [ "$1" = build ]; then SWIFT_DETERMINISTIC_HASHING=1 command swift "$@"; else command swift "$@"; fi; }
export -f swift

# program NAME: builds one of these programs, and prints its path.
program() {
    swift build --quiet "${programs[@]}" --product "$1" >&2
    echo "$(swift build "${programs[@]}" --show-bin-path)/$1"
}

# Runs a command of tests, and leaves out of its report what went well, since the last line counts it, and what was
# compiled. Both outputs go one way and line by line: a failure stands where it happened, at the end when it ended the run.
failures_and_sum() {
    NO_COLOR=1 "$@" 2>&1 |
        awk '!/^(◇|✔ (Suite|Test case|Test [^r])|\[[0-9]+\/[0-9]+\] )/ { print; fflush() }
            /^✔ Test run with 0 tests/ { print "check.sh: no test has the name that was asked for"; none = 1 }
            END { exit none }'
}

# tests_of BUNDLE OPTION...: runs the tests of a bundle; beside others, which `swift test` would make wait.
tests_of() { failures_and_sum "$1" --testing-library swift-testing "${@:2}"; }
