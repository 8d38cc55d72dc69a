source "$(dirname "$0")/common.sh"

failures_and_sum bash Tests/sanitize.sh
