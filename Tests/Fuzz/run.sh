#!/usr/bin/env bash
# Runs each fuzz target for so many seconds, or so many inputs, beginning with the corpus; fails when one finds a crash.
#
#   bash Tests/Fuzz/run.sh 10            10 seconds each
#   bash Tests/Fuzz/run.sh runs 10000000  ten million inputs each
#
# A crash is written to Tests/Fuzz/Found/TARGET/, where the ordinary tests replay it: keep the file with the fix.
set -euo pipefail
cd "$(dirname "$0")"

case "${1:-10}" in
    runs) bound="-runs=${2:?how many inputs?}" ;;
    *) bound="-max_total_time=${1:-10}" ;;
esac

# libFuzzer brings its own main, so each program is compiled as a library. A crash must end the process at once.
swift build -c release --sanitize fuzzer -Xswiftc -parse-as-library
programs=$(swift build -c release --sanitize fuzzer -Xswiftc -parse-as-library --show-bin-path)
for target in Sources/*/; do
    name=$(basename "$target")
    scratch=$(mktemp -d)
    echo "$name"
    SWIFT_BACKTRACE=enable=no "$programs/$name" "$bound" -dict=keys.dict -max_len=4096 -timeout=5 -rss_limit_mb=1024 \
        -artifact_prefix="Found/$name/" -print_final_stats=1 -verbosity=1 "$scratch" "Corpus/$name" "Found/$name" \
        >"$scratch.log" 2>&1 || { tail -n 30 "$scratch.log"; echo "$name found something: see Tests/Fuzz/Found/$name" >&2; exit 1; }
    grep -E 'stat::number_of_executed_units|stat::average_exec_per_sec|stat::peak_rss_mb' "$scratch.log"
    grep -E 'cov: ' "$scratch.log" | tail -n 1
    rm -r "$scratch" "$scratch.log"
done
