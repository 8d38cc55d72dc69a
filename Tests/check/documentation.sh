source "$(dirname "$0")/common.sh"

documented=.build/documentation
all=$PWD/$documented/symbol-graphs
mkdir -p "$all"
# Each library that has a catalog. A link to another library's symbol is plain code: DocC reads one module at a time.
for catalog in Sources/*/*.docc; do
    library=$(basename "$catalog" .docc)
    swift build --quiet --scratch-path "$documented" --target "$library" \
        -Xswiftc -emit-symbol-graph -Xswiftc -emit-symbol-graph-dir -Xswiftc "$all"
    graphs=$documented/symbol-graphs-of/$library
    rm -rf "$graphs" && mkdir -p "$graphs"
    cp "$all/$library.symbols.json" "$graphs"
    # What it adds to the types of other libraries, such as `PushReceiver.load`.
    find "$all" -name "$library@*.symbols.json" -exec cp {} "$graphs" \;
    echo "$library"
    docc convert "$catalog" --fallback-display-name "$library" --fallback-bundle-identifier "$library" \
        --additional-symbol-graph-dir "$graphs" --output-path "$documented/$library.doccarchive" --warnings-as-errors
done
