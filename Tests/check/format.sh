source "$(dirname "$0")/common.sh"

swift format lint --strict --recursive --parallel Package.swift Sources Tests Samples

# The formatter breaks code after 120 characters, and no comment.
long=$(git ls-files -z '*.swift' | LC_ALL=C.UTF-8 xargs -0 grep -nHP '^(?=.{121})\s*//' || [ $? -eq 123 ])
[ -z "$long" ] || fail "comments of more than 120 characters a line:"$'\n'"$long"

# No Foundation, and nothing unsafe in what is embedded.
if grep -rnE --include='*.swift' '^ *(public |package |internal |private )?import Foundation' Sources; then
    fail "Foundation is imported where it must not be"
fi
# What runs inside of any program that embeds it: the receiver, its rules, its delivery, and what talks to Kii's cloud.
embedded=(Sources/KiiPush Sources/KiiPushRules Sources/KiiPushDelivery Sources/KiiCloud)
if grep -rnwE --include='*.swift' 'unsafe|nonisolated\(unsafe\)' "${embedded[@]}" | grep -vE ':[0-9]+: *//'; then
    fail "unsafe code in what a program embeds"
fi
if grep -rnE --include='*.swift' '@unchecked' "${embedded[@]}" | grep -vE '@unchecked.*// [A-Z].{20}'; then
    fail "an @unchecked in what a program embeds without its reason on the line"
fi

# A device's C library may be Musl.
files_with() { grep -rlE --include='*.swift' "^ *((package|public) )?import $1" Sources | sort; }
diff <(files_with Glibc) <(files_with Musl) || fail "an import of Glibc without one of Musl"

# Folders use only what lies below them.
if python3 Tests/folders.py Tests/check/canary/folders >/dev/null 2>&1; then
    fail "Tests/folders.py does not see two folders that need each other"
fi
python3 Tests/folders.py Sources Sources/KiiPush/KiiPush.docc/Architecture.md
# An agent follows its rules with what it is made of; the tool's other commands may use the test kit.
if grep -rn --include='*.swift' 'import KiiPushTesting' Sources/KiiPushAgent Sources/kiipush/{Receive,State,Watch,Messages,Cloud,Kill}; then
    fail "the agent needs the test kit"
fi

# check.sh itself: a step that fails ends the run, and nothing goes on behind its failure.
status=0
output=$(KIIPUSH_CHECKS=Tests/check/canary bash Tests/check.sh 2>&1) || status=$?
[ $status -eq 1 ] && grep -q "step 'fails' failed" <<<"$output" && ! grep -q 'behind the failure' <<<"$output" ||
    fail "check.sh goes on behind a step that fails: $output"
