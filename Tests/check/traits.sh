source "$(dirname "$0")/common.sh"

swift build --quiet --build-tests "${traits[@]}" "${strict[@]}"
# What a trait adds; the step tests has all else. Those of MQTT wait for brokers most of the time, and wait together.
failures_and_sum swift test --skip-build "${traits[@]}" --parallel --filter KiiPushMQTTTests
failures_and_sum swift test --skip-build "${traits[@]}" --parallel --filter 'KiiCloudHTTPTests|CloudCommandTests'
# These one after the other: a process that one test starts shares the lock of another test's database until it runs its
# own program.
failures_and_sum swift test --skip-build "${traits[@]}" --no-parallel --filter 'KiiPushSQLiteTests|AgentTests'

bundle=$(echo "$(swift build "${traits[@]}" --show-bin-path)"/*.xctest)
libraries=$(ldd "$bundle")
grep -q libsqlite3 <<<"$libraries" || fail "a build with all traits does not link SQLite"
grep -q libcurl <<<"$libraries" || fail "a build with all traits does not link libcurl"
grep -q libmosquitto <<<"$libraries" || fail "a build with all traits does not link libmosquitto"
