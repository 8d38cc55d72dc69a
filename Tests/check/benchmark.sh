source "$(dirname "$0")/common.sh"

bench=$(program kiipush-bench)
"$bench" --rounds 1
