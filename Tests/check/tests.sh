source "$(dirname "$0")/common.sh"

swift build --quiet --build-tests "${plain[@]}"
# In two runs: what talks to processes and sockets waits for others, who must not stand behind a test that computes.
waiting='KiiPushAgentTests|KiiPushToolTests'
failures_and_sum swift test --skip-build "${plain[@]}" --parallel --skip "$waiting"
failures_and_sum swift test --skip-build "${plain[@]}" --parallel --filter "$waiting"

bundle=$(echo "$(swift build "${plain[@]}" --show-bin-path)"/*.xctest)
libraries=$(ldd "$bundle")
if grep -E 'libsqlite3|libmosquitto' <<<"$libraries"; then fail "a build without traits links what a trait is for"; fi
