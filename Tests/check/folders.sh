source "$(dirname "$0")/common.sh"

if python3 Tests/folders.py Tests/check/canary/folders >/dev/null 2>&1; then
    fail "Tests/folders.py does not see two folders that need each other"
fi
python3 Tests/folders.py Sources
# An agent follows its rules with what it is made of; the tool's other commands may use the test kit.
if grep -rn --include='*.swift' 'import KiiPushTesting' Sources/KiiPushAgent Sources/kiipush/{Receive,State,Watch,Messages,Cloud,Kill}; then
    fail "the agent needs the test kit"
fi
