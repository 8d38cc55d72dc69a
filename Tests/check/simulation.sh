source "$(dirname "$0")/common.sh"

# What a message costs; what Tests/Benchmarks/gate.sh counts is the same in every run.
bench=$(program kiipush-bench)
"$bench" --rounds 1
"$bench" --hostile
bash Tests/Benchmarks/gate.sh

simulation=$(program kiipush-simulation)
guide=Sources/KiiPush/KiiPush.docc/LoopSafety.md
# Prints the words and the bound of each row of a table in standard input: its first two columns.
bounds() { awk -F'|' '/^\|/ { gsub(/ +/, " "); gsub(/^ | $/, "", $2); gsub(/^ | $/, "", $3); print $2 " | " $3 }'; }
# Swift's dictionaries have another order in each process, unless they are told not to: a seed must be the same run again.
SWIFT_DETERMINISTIC_HASHING=1 "$simulation" --service --seeds "$([ -n "${KIIPUSH_LONG:-}" ] && echo 1000000 || echo 5000)"
# What was measured differs with the seeds; the guide must have the words and the bound of each row.
table="$("$simulation" --table ${KIIPUSH_LONG:+--seeds 1000})" || { printf '%s\n' "$table"; fail "a bound is exceeded"; }
printf '%s\n' "$table"
known="$(bounds <"$guide")"
while IFS= read -r row; do
    grep -qxF -- "$row" <<<"$known" || fail "$guide has no row with these words and this bound: $row"
done < <(bounds <<<"$table" | grep -v '^---')

# A crash that libFuzzer finds in 10 seconds of an entry point.
bash Tests/Fuzz/run.sh "${KIIPUSH_LONG:+60}"
