#!/usr/bin/env bash
# Fails when a message costs more than thresholds.txt allows: allocations, and instructions as callgrind counts them.
# Both are the same in every run of the same program, whatever else the machine does; no time is measured.
#
#   bash Tests/Benchmarks/gate.sh          compares
#   bash Tests/Benchmarks/gate.sh --set    writes what is measured, and a margin, as the new thresholds
#
# Measured are "decode" (decode and classify), "whole" (bytes in to handler returned, which reads bucket, object and
# scope), "own" (the same with a middleware of one's own in the chain) and "watched" (that with a trace listener) of the
# documented sample, 100 routes: each the difference of two runs, so that starting costs nothing.
set -euo pipefail
cd "$(dirname "$0")"

fail() { printf 'gate.sh: %s\n' "$*" >&2; exit 1; }

set_anew=""
case "${1:-}" in
    "") ;;
    --set) set_anew=yes ;;
    *) echo "gate.sh: unknown option '$1'; it takes --set" >&2; exit 64 ;;
esac
command -v valgrind >/dev/null || fail "valgrind is missing; install the Debian package valgrind"
programs=(-c release --package-path ..)
swift build --quiet "${programs[@]}" --product kiipush-bench
bench="$(swift build "${programs[@]}" --show-bin-path)/kiipush-bench"
toolchain=$(swift --version 2>/dev/null | sed -n 's/.*\(Swift version [0-9.]*\).*/\1/p' | head -n 1)

# count PART MESSAGES: the allocations and the instructions of a run, in which Swift's dictionaries draw no seed.
count() {
    local report
    report=$(SWIFT_DETERMINISTIC_HASHING=1 valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        "$bench" --count "$1" "$2" 2>&1) || { printf '%s\n' "$report" >&2; fail "valgrind failed"; }
    sed -n 's/^allocations: //p; s/.*Collected : \([0-9]*\).*/\1/p' <<<"$report" | paste -sd ' '
}

# What 2,000 messages more cost, by each of them; by then each object has been seen twice.
measured=""
for part in decode whole own watched; do
    few=$(count "$part" 2000)
    many=$(count "$part" 4000)
    measured+=$(awk -v part="$part" '{
        if (NF != 4) { print "no figures" > "/dev/stderr"; exit 1 }
        printf "%s allocations %.2f\n%s instructions %.0f\n", part, ($3 - $1) / 2000, part, ($4 - $2) / 2000
    }' <<<"$few $many")$'\n'
done

if [ -n "$set_anew" ]; then
    {
        sed -n "/^#/{s/^# measured with.*/# measured with $toolchain, $(valgrind --version | tr - ' ')/;p}" thresholds.txt
        # The margin is what another machine may differ by, and what moving code about may cost.
        awk '
            $2 == "allocations" { printf "%-7s %-13s %.2f\n", $1, $2, $3 + 0.1 }
            $2 == "instructions" { printf "%-7s %-13s %.0f\n", $1, $2, $3 * 1.05 }' <<<"$measured"
    } >thresholds.new
    mv thresholds.new thresholds.txt
    cat thresholds.txt
    exit
fi

awk -v toolchain="$toolchain" '
    NR == FNR { if (/^# measured with/) with = $0; if (!/^#/ && NF == 3) most[$1, $2] = $3; next }
    NF == 3 {
        if (!(($1, $2) in most)) {
            printf "gate.sh: thresholds.txt has no threshold for %s of %s\n", $2, $1
            bad = 1
            next
        }
        limit = most[$1, $2]
        if ($3 > limit) {
            bad = 1
            printf "gate.sh: %s takes %s %s a message: %s, or %.1f per cent, above its threshold of %s\n", $1, $3, $2, \
                $3 - limit, 100 * ($3 - limit) / limit, limit
        } else {
            printf "%s: %s %s a message, at most %s%s\n", $1, $3, $2, limit, \
                $3 < 0.9 * limit ? "; so far below that a lower threshold is due: gate.sh --set" : ""
        }
    }
    END {
        if (bad) {
            print "If that is the price of something, say of what in the commit, and set the threshold anew:"
            print "edit Tests/Benchmarks/thresholds.txt, or: bash Tests/Benchmarks/gate.sh --set"
            if (index(with, toolchain ",") == 0) printf "%s: another toolchain; this is %s\n", with, toolchain
        }
        exit bad
    }' thresholds.txt - <<<"$measured"
