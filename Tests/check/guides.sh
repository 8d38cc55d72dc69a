source "$(dirname "$0")/common.sh"

swift build --quiet "${traits[@]}" --product kiipush
python3 Tests/commands.py --build "$(swift build "${traits[@]}" --show-bin-path)/kiipush"
codespell --skip "*.svg,*.json,*.jsonl,*/.build,expected-output.txt,codespell.txt" --ignore-words Tests/check/codespell.txt \
    README.md Sources Samples Tests .ci
