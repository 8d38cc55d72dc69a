source "$(dirname "$0")/common.sh"

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
