#!/usr/bin/env bash
# Builds the documentation of all libraries as one static site, and shows it on this machine.
#
#   bash Tests/docs.sh                builds the site, and serves it on 127.0.0.1 until Ctrl-C
#   bash Tests/docs.sh --build        builds it only; it is in .build/documentation/site
#   bash Tests/docs.sh --port 8081    serves it on another port than 8080
#
# It needs Debian's libsqlite3-dev, libmosquitto-dev and libcurl4-openssl-dev, since all libraries are documented whole.
source "$(dirname "$0")/check/common.sh"

refuse() { printf 'docs.sh: %s\n' "$*" >&2; exit 64; }

serves=yes port=8080
while [ $# -gt 0 ]; do
    case "$1" in
        --build) serves="" ;;
        --port) port=${2:?--port takes a number}; shift ;;
        --help) awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' Tests/docs.sh; exit ;;
        *) refuse "there is no option '$1'; see --help" ;;
    esac
    shift
done

documented=.build/documentation
all=$PWD/$documented/symbol-graphs
site=$documented/site
libraries=()
for folder in Sources/Kii*/; do libraries+=("$(basename "$folder")"); done
rm -rf "$documented"
mkdir -p "$all"
swift build --quiet "${traits[@]}"
modules=$(swift build "${traits[@]}" --show-bin-path)/Modules
for library in "${libraries[@]}"; do
    # What it adds to the types of other libraries, such as `PushReceiver.load`, is part of the graph as blocks.
    swift-symbolgraph-extract -module-name "$library" -I "$modules" -output-dir "$all" -emit-extension-block-symbols \
        -target "$(uname -m)-unknown-linux-gnu" -sdk / \
        -I Sources/CClock -I Sources/CSQLite -I Sources/CMosquitto -I Sources/CCurl
done
archives=()
for library in "${libraries[@]}"; do
    graphs=$documented/symbol-graphs-of/$library
    mkdir -p "$graphs"
    # Without what it re-exports of other libraries, which is documented there.
    python3 - "$library" "$graphs" "$all/$library.symbols.json" "$all/$library@"*.symbols.json <<'END'
import json, os, re, sys
library, folder, *graphs = sys.argv[1:]
def own(symbol):
    """Whether it stands in the library's folder, or is a type of the library that has it from elsewhere."""
    target = re.search(r"::SYNTHESIZED::s:(\d+)(\w+)", symbol["identifier"]["precise"])
    if target: return target[2][:int(target[1])] == library
    return f"/Sources/{library}/" in symbol.get("location", {}).get("uri", f"/Sources/{library}/")
for path in filter(os.path.exists, graphs):
    graph = json.load(open(path, encoding="utf-8"))
    graph["symbols"] = [symbol for symbol in graph["symbols"] if own(symbol)]
    names = {symbol["identifier"]["precise"] for symbol in graph["symbols"]}
    graph["relationships"] = [edge for edge in graph["relationships"] if edge["source"] in names]
    if names: json.dump(graph, open(f"{folder}/{os.path.basename(path)}", "w", encoding="utf-8"))
END
    # DocC reads one library at a time: a link to another one's type is an error, and must be plain code.
    archive=$documented/$library.doccarchive
    echo "$library"
    docc convert "Sources/$library/$library.docc" --fallback-display-name "$library" \
        --fallback-bundle-identifier "$library" --fallback-default-module-kind Library \
        --additional-symbol-graph-dir "$graphs" --output-path "$archive" --warnings-as-errors
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
