#!/usr/bin/env bash
# Builds the documentation of all libraries as one static site, and shows it on this machine.
#
#   bash Tests/docs.sh                builds the site, and serves it on 127.0.0.1 until Ctrl-C
#   bash Tests/docs.sh --build        builds it only; it is in .build/documentation/site
#   bash Tests/docs.sh --port 8081    serves it on another port than 8080
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { printf 'docs.sh: %s\n' "$*" >&2; exit 64; }

serves=yes port=8080
while [ $# -gt 0 ]; do
    case "$1" in
        --build) serves="" ;;
        --port) port=${2:?--port takes a number}; shift ;;
        --help) awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"; exit ;;
        *) fail "there is no option '$1'; see --help" ;;
    esac
    shift
done

documented=.build/documentation
all=$PWD/$documented/symbol-graphs
site=$documented/site
libraries=()
for folder in Sources/Kii*/; do libraries+=("$(basename "$folder")"); done
# A build writes the graphs only of what it compiles: where one is missing, all is built anew.
for library in "${libraries[@]}"; do [ -f "$all/$library.symbols.json" ] || rm -rf "$documented"; done
rm -rf "$site" "$documented/all.doccarchive"
mkdir -p "$all"
for library in "${libraries[@]}"; do
    swift build --quiet --scratch-path "$documented" --target "$library" \
        -Xswiftc -emit-symbol-graph -Xswiftc -emit-symbol-graph-dir -Xswiftc "$all"
done
archives=()
for library in "${libraries[@]}"; do
    graphs=$documented/symbol-graphs-of/$library
    rm -rf "$graphs" && mkdir -p "$graphs"
    cp "$all/$library.symbols.json" "$graphs"
    find "$all" -name "$library@*.symbols.json" -exec cp {} "$graphs" \;
    # DocC reads one library at a time: a link to another one's type is shown as code. Where there are guides, that and
    # every other warning is an error, as in check.sh.
    catalog=() strict=(--diagnostic-level error)
    [ -d "Sources/$library/$library.docc" ] && catalog=("Sources/$library/$library.docc") strict=(--warnings-as-errors)
    archive=$documented/$library.doccarchive
    rm -rf "$archive"
    echo "$library"
    docc convert "${catalog[@]}" --fallback-display-name "$library" --fallback-bundle-identifier "$library" \
        --fallback-default-module-kind Library --additional-symbol-graph-dir "$graphs" --output-path "$archive" \
        "${strict[@]}"
    archives+=("$archive")
done
docc merge "${archives[@]}" --synthesized-landing-page-name "KiiPush" --synthesized-landing-page-kind "Package" \
    --output-path "$documented/all.doccarchive"
docc process-archive transform-for-static-hosting "$documented/all.doccarchive" --output-path "$site" \
    --hosting-base-path /
echo "$site: $(find "$site/documentation" -name index.html | wc -l) pages"
[ -n "$serves" ] || exit 0
echo "http://127.0.0.1:$port/documentation/kiipush/"
exec python3 -m http.server "$port" --bind 127.0.0.1 --directory "$site"
