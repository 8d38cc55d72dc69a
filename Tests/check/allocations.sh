source "$(dirname "$0")/common.sh"

bash Tests/Benchmarks/gate.sh
