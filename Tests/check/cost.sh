source "$(dirname "$0")/common.sh"

bench=$(program kiipush-bench)
"$bench" --rounds 1
"$bench" --hostile
bash Tests/Benchmarks/gate.sh
