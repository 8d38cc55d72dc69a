source "$(dirname "$0")/common.sh"

faults=$(program kiipush-faults)
swift build --quiet "${traits[@]}" --product kiipush
durable="$(swift build "${traits[@]}" --show-bin-path)/kiipush"
if [ -n "${KIIPUSH_LONG:-}" ]; then
    "$faults" --long --tool "$durable"
else
    timeout 1800 "$faults" --tool "$durable"
fi
"$faults" --fleet --tool "$durable"
