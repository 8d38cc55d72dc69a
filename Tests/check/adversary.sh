source "$(dirname "$0")/common.sh"

simulation=$(program kiipush-simulation)
# How many of so many random loops exceed the bounds, as LoopSafety.md says; each of the same seeds gives the same.
"$simulation" --adversary --seeds 270 --rounds 0 --cost 20000 --allow 38 | tail -n 1
if [ -n "${KIIPUSH_LONG:-}" ]; then "$simulation" --adversary --seeds 2000 --rounds 4 --cost 20000 --allow 2000 | tail -n 60; fi
