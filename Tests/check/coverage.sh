source "$(dirname "$0")/common.sh"

bash Tests/coverage.sh
