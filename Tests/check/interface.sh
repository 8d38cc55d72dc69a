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
        -I Sources/CClock -I Sources/CSQLite -I Sources/CMosquitto -I Sources/CCurl
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

# What the tool and a program that links only the core load.
built=$(swift build "${plain[@]}" --show-bin-path)
tool=$built/kiipush
# A program that links the core and nothing else, as an embedder's would; the objects of deleted sources may be left.
core=.build/check/linkage
mapfile -t objects < <(find Sources/KiiPush -name '*.swift' -printf "$built/KiiPush.build/%f.o\n")
swiftc -swift-version 6 -I "$built/Modules" -I Sources/CClock Tests/Linkage/main.swift "${objects[@]}" -o "$core"
for program in "$tool" "$core"; do
    libraries=$(ldd "$program")
    if grep -E 'lib_?(Foundation|FoundationEssentials|FoundationInternationalization)' <<<"$libraries"; then
        fail "$program links Foundation"
    fi
    grep -q libswiftCore <<<"$libraries" || fail "ldd shows no Swift library for $program: the check sees nothing"
    # One search for a string in a string is enough to bring it into a static program, which is a megabyte larger then.
    symbols=$(nm -D --undefined-only "$program")
    if grep 17_StringProcessing <<<"$symbols"; then fail "$program uses the engine of regular expressions"; fi
    grep -q 'sSS' <<<"$symbols" || fail "nm shows no symbol of strings for $program: the check sees nothing"
    echo "$(basename "$program"): no Foundation, no engine of regular expressions"
done
[ "$("$core")" = "Push to User" ] || fail "the program that links only the core does not run"
