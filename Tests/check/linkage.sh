source "$(dirname "$0")/common.sh"

# Builds without optimization, which the step tests has made: what an optimizer leaves out, they load as well.
swift build --quiet "${plain[@]}"
built=$(swift build "${plain[@]}" --show-bin-path)
tool=$built/kiipush
# A program that links the core and nothing else, as an embedder's would; the objects of deleted sources may be left.
core=.build/check/linkage
mapfile -t objects < <(find Sources/KiiPush -name '*.swift' -printf "$built/KiiPush.build/%f.o\n")
swiftc -swift-version 6 -I "$built/Modules" Tests/Linkage/main.swift "${objects[@]}" -o "$core"
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
