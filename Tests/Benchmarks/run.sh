#!/usr/bin/env bash
# Measures KiiPush beside its peers on the same bytes, in one run: installs what is missing, builds all, checks that all
# understand the same, runs them in turn on one core, and prints tables of medians, spread and ratios.
#
#   bash Tests/Benchmarks/run.sh                   tables for a terminal, about ten minutes
#   bash Tests/Benchmarks/run.sh --format json     all samples of the run; also: --format markdown
#   bash Tests/Benchmarks/run.sh --rounds 15       more rounds; 7 unless told, and no fewer
#   bash Tests/Benchmarks/run.sh --quick           three short rounds: whether it works, no figures to quote
#   bash Tests/Benchmarks/run.sh --guide           also writes the table and the picture of README.md beside it
#   bash Tests/Benchmarks/run.sh --from FILE ...   shows the JSON of an earlier run instead of measuring
#
# The run's JSON is kept in .build/side-by-side/results.json. The programs are described in Peers/README.md; one that
# this machine cannot have is left out, and the report says why. Build nothing else meanwhile.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
folder=$PWD/.build/side-by-side
mkdir -p "$folder"

fail() { printf 'run.sh: %s\n' "$*" >&2; exit 1; }
say() { printf '%s\n' "$*" >&2; }

format=text guide="" stored="" pass=()
while [ $# -gt 0 ]; do
    case "$1" in
        --format) format=${2:?--format takes text, json or markdown}; shift ;;
        --guide) guide=yes ;;
        --from) stored=$(realpath "${2:?--from takes a file}"); shift ;;
        --rounds) pass+=(--rounds "${2:?--rounds takes a number}"); shift ;;
        --quick) pass+=(--quick) ;;
        *) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' run.sh >&2; exit 64 ;;
    esac
    shift
done
if [ -n "$guide" ] && [[ " ${pass[*]-} " = *" --quick "* ]]; then
    fail "--quick gives no figures for README.md; leave one of the two out"
fi
command -v swift >/dev/null || fail "no Swift toolchain on PATH; install Swift 6.3 from swift.org"

say "building KiiPush and its benchmarks"
programs=(-c release --package-path "$root/Tests")
swift build --quiet "${programs[@]}" --product side-by-side
bin=$(swift build "${programs[@]}" --show-bin-path)
if [ -n "$guide" ]; then
    show=(--guide "$PWD/README.md" --plot "$PWD/cost-of-a-message.svg")
else
    show=()
fi

if [ -z "$stored" ]; then
    # What is measured has Swift's standard library inside, as one ships an agent, and as Rust and C++ have theirs.
    static=("${programs[@]}" --static-swift-stdlib --scratch-path .build/static)
    swift build --quiet "${static[@]}" --product kiipush-bench
    cp "$(swift build "${static[@]}" --show-bin-path)/kiipush-bench" "$folder/kiipush-bench"
    # The tool as it is shipped, and as a checkout builds it; each stripped.
    swift build --quiet --package-path "$root" -c release --product kiipush \
        --static-swift-stdlib --scratch-path "$root/.build/static"
    swift build --quiet --package-path "$root" -c release --product kiipush
    strip -o "$folder/kiipush-static" "$root/.build/static/release/kiipush"
    strip -o "$folder/kiipush-dynamic" "$root/.build/release/kiipush"

    : >"$folder/left-out.tsv"
    version=$(swift --version 2>/dev/null | sed -n 's/.*\(Swift version [0-9.]*\).*/\1/p' | head -n 1)
    printf 'version\t%s\n' "$version" >"$folder/programs.tsv"
    for peer in Peers/*/; do
        name=$(basename "$peer")
        say "building $name"
        status=0
        bash "$peer/build.sh" "$folder" >"$folder/$name.tsv" 2>"$folder/$name.log" || status=$?
        case $status in
            0) cat "$folder/$name.tsv" >>"$folder/programs.tsv" ;;
            69)
                reason=$(tail -n 1 "$folder/$name.log")
                say "left out: $name: $reason"
                printf '%s\t%s\n' "$name" "$reason" >>"$folder/left-out.tsv"
                ;;
            *) cat "$folder/$name.log" >&2; fail "$name does not build" ;;
        esac
    done

    # All on the last core this process may use: the first one has most of the machine's own work.
    on=() core=$(taskset -cp $$ 2>/dev/null | sed 's/.*[ ,-]//') || core=""
    if [ -n "$core" ] && taskset -c "$core" true 2>/dev/null; then
        on=(taskset -c "$core")
        pass+=(--core "$core")
    else
        say "taskset does not work here: the runs are not bound to one core"
    fi
    "${on[@]}" "$bin/side-by-side" "$folder" --format json ${pass[@]+"${pass[@]}"} >"$folder/results.new"
    stored=$folder/results.json
    mv "$folder/results.new" "$stored"
fi
"$bin/side-by-side" "$folder" --from "$stored" --format "$format" ${show[@]+"${show[@]}"}
