source "$(dirname "$0")/common.sh"

if python3 Tests/folders.py Tests/check/canary/folders >/dev/null 2>&1; then
    fail "Tests/folders.py does not see two folders that need each other"
fi
python3 Tests/folders.py Sources
