source "$(dirname "$0")/common.sh"

if grep -rnE '^ *(public |package |internal |private )?import Foundation' \
    Sources/KiiPush Sources/kiipush Sources/KiiPushLinux Sources/KiiPushTesting Sources/KiiPushSQLite Sources/KiiPushMQTT; then
    fail "Foundation is imported where it must not be"
fi
if grep -rnwE 'unsafe|nonisolated\(unsafe\)|@unchecked' --include='*.swift' Sources/KiiPush | grep -vE ':[0-9]+: *//'; then
    fail "unsafe code in the core"
fi
