source "$(dirname "$0")/common.sh"

graphs=$PWD/.build/documentation/symbol-graphs
mkdir -p "$graphs"
swift build --quiet --scratch-path .build/documentation --target KiiPush \
    -Xswiftc -emit-symbol-graph -Xswiftc -emit-symbol-graph-dir -Xswiftc "$graphs"
docc convert Sources/KiiPush/KiiPush.docc --fallback-display-name KiiPush --fallback-bundle-identifier KiiPush \
    --additional-symbol-graph-dir "$graphs" --output-path .build/documentation/KiiPush.doccarchive --warnings-as-errors
