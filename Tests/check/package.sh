source "$(dirname "$0")/common.sh"

bash Tests/package.sh --try
