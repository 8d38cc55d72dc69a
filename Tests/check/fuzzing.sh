source "$(dirname "$0")/common.sh"

bash Tests/Fuzz/run.sh "${KIIPUSH_LONG:+60}"
