source "$(dirname "$0")/common.sh"

# A clone as somebody has it who begins: the files that git knows, as they are now. What was built in it last time stays.
folder=$PWD/.build/newcomer
clone=$folder/kii-push
mkdir -p "$clone"
comm -13 <(git ls-files | LC_ALL=C sort) <(cd "$clone" && find . -name .build -prune -o -type f -printf '%P\n' | LC_ALL=C sort) |
    while read -r stale; do rm -f "$clone/$stale"; done
git ls-files -z | xargs -0 cp --no-dereference --parents --preserve=timestamps --update --target-directory "$clone"
# Of the packages that the guides make, only what was built stays.
for package in agent doorbell; do
    [ ! -d "$folder/$package" ] || find "$folder/$package" -mindepth 1 -maxdepth 1 ! -name .build -exec rm -rf {} +
done
python3 Tests/commands.py --newcomer "$folder"

"$folder/built/debug/kiipush" rules lint --strict Samples/05-RoutingRules/rules.json
