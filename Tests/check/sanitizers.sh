source "$(dirname "$0")/common.sh"

bash Tests/sanitize.sh | failures_and_sum
