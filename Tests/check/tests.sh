source "$(dirname "$0")/common.sh"

swift build --quiet --build-tests "${plain[@]}"
# In three runs: an agent in the tests' process answers within seconds, and so must not stand behind a test that
# computes, or that keeps a thread while it waits for a process.
for tests in '--skip KiiPush(System|Agent|Tool)Tests' '--filter KiiPush(System|Agent)Tests' '--filter KiiPushToolTests'; do
    failures_and_sum swift test --skip-build "${plain[@]}" --parallel $tests
done

bundle="$(swift build "${plain[@]}" --show-bin-path)/kii-pushPackageTests.xctest"
libraries=$(ldd "$bundle")
if grep -E 'libsqlite3|libmosquitto' <<<"$libraries"; then fail "a build without traits links what a trait is for"; fi
