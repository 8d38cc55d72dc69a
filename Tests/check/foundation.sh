source "$(dirname "$0")/common.sh"

if grep -rnE '^ *(public |package |internal |private )?import Foundation' --include='*.swift' Sources; then
    fail "Foundation is imported where it must not be"
fi
core=(Sources/KiiPush Sources/KiiPushRules Sources/KiiPushDelivery Sources/KiiCloud)
if grep -rnwE 'unsafe|nonisolated\(unsafe\)|@unchecked' --include='*.swift' "${core[@]}" | grep -vE ':[0-9]+: *//'; then
    fail "unsafe code in the core"
fi
