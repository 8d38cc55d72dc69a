source "$(dirname "$0")/common.sh"

# With --bless, what is there now is what is compared with from now on.
blessed=Tests/check/interface
swift build --quiet "${plain[@]}"
swift build --quiet "${traits[@]}"
dump=.build/interface.json
differs=""
for text in "$blessed"/*.txt; do
    library=$(basename "$text" .txt)
    case "$library" in
        KiiPushSQLite | KiiPushMQTT | KiiCloudHTTP) options=("${traits[@]}") ;;
        *) options=("${plain[@]}") ;;
    esac
    modules=$(swift build "${options[@]}" --show-bin-path)/Modules
    # The system libraries' own modules, for those that use one.
    swift-api-digester -dump-sdk -module "$library" -o "$dump" -I "$modules" -sdk / -avoid-tool-args -avoid-location \
        -I Sources/CSQLite -I Sources/CMosquitto -I Sources/CCurl
    if [ "${1:-}" = --bless ]; then python3 Tests/interface.py "$dump" >"$text"; fi
    # A break has to be seen: of a symbol that somebody used, and that is gone.
    if python3 Tests/interface.py "$dump" <(cat "$text"; echo "Gone.symbol func") >/dev/null; then
        fail "Tests/interface.py does not see a symbol that is gone"
    fi
    echo "$library: $(wc -l <"$text") lines"
    python3 Tests/interface.py "$dump" "$text" || differs+=" $library"
done
[ -z "$differs" ] ||
    fail "another public interface than the one that was blessed:$differs; where that is meant: bash Tests/check/interface.sh --bless"
