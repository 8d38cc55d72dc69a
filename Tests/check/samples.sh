source "$(dirname "$0")/common.sh"

# In the folder of the step "tests", which has compiled the library with the same flags.
package=(--package-path Samples "${plain[@]}")
swift build --quiet --build-tests "${package[@]}"
samples=$(swift build "${package[@]}" --show-bin-path)
state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
for sample in Samples/[0-9]*/; do
    name=$(basename "$sample" | sed 's/^[0-9]*-//')
    echo "$name"
    STATE_DIRECTORY=$state "$samples/$name" </dev/null | diff -u "$sample/expected-output.txt" -
done
picture=.build/loop-safety.svg
"$samples/LoopSafeSync" --svg "$picture" >/dev/null
cmp "$picture" Sources/KiiPush/KiiPush.docc/Resources/loop-safety.svg ||
    fail "the guide's picture is not what the sample draws; LoopSafeSync --svg makes it"

failures_and_sum swift test --skip-build "${package[@]}"
