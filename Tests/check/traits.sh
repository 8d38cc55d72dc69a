source "$(dirname "$0")/common.sh"

# What a trait adds; the step tests has all else.
export KIIPUSH_TESTS=KiiPushMQTTTests,KiiPushSQLiteTests,KiiCloudHTTPTests,KiiPushToolTests
swift build --quiet --build-tests "${traits[@]}"
bundle=$(echo "$(swift build "${traits[@]}" --show-bin-path)"/*.xctest)

# In two processes beside each other, since most of them wait for a broker, an agent or a disk.
beside=.build/tests-beside.txt
(
    tests_of "$bundle" --parallel --filter KiiPushMQTTTests
    tests_of "$bundle" --parallel --filter 'KiiCloudHTTPTests|CloudCommandTests'
) >"$beside" 2>&1 &
status=0
# These one after the other: a process that one test starts shares the lock of another test's database until it runs its
# own program.
tests_of "$bundle" --no-parallel --filter 'KiiPushSQLiteTests|AgentTests' || status=1
wait $! || status=1
cat "$beside"
[ $status -eq 0 ] || fail "tests with traits failed"

libraries=$(ldd "$bundle")
grep -q libsqlite3 <<<"$libraries" || fail "a build with all traits does not link SQLite"
grep -q libcurl <<<"$libraries" || fail "a build with all traits does not link libcurl"
grep -q libmosquitto <<<"$libraries" || fail "a build with all traits does not link libmosquitto"
