source "$(dirname "$0")/common.sh"

tool=$(program kiipush)
core=$(program linkage)
for program in "$tool" "$core"; do
    libraries=$(ldd "$program")
    if grep -E 'lib_?(Foundation|FoundationEssentials|FoundationInternationalization)' <<<"$libraries"; then
        fail "$program links Foundation"
    fi
    grep -q libswiftCore <<<"$libraries" || fail "ldd shows no Swift library for $program: the check sees nothing"
    echo "$(basename "$program"): no Foundation"
done
[ "$("$core")" = "Push to User" ] || fail "the program that links only the core does not run"
