source "$(dirname "$0")/common.sh"

swift build --quiet "${traits[@]}" --product kiipush
tool=$(swift build "${traits[@]}" --show-bin-path)/kiipush
python3 Tests/commands.py "$tool"
python3 Tests/command_lines.py "$tool"
# Each of these lines is wrong in another way.
if found=$(python3 Tests/command_lines.py "$tool" Tests/check/canary/commands.md); then
    fail "wrong command lines are taken for right ones: $found"
fi
grep -q ': 14 problems$' <<<"$found" || fail "wrong command lines are not found: $found"
codespell --skip "*/canary/*,*.svg,*.json,*.jsonl,*/.build,expected-output.txt,codespell.txt" --ignore-words Tests/check/codespell.txt \
    README.md Package.swift Sources Samples Tests .ci
