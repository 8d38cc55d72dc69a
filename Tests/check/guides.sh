source "$(dirname "$0")/common.sh"

# The commands of README and guides, and their words.
swift build --quiet "${traits[@]}" --product kiipush
tool=$(swift build "${traits[@]}" --show-bin-path)/kiipush
python3 Tests/commands.py "$tool"
python3 Tests/command_lines.py "$tool"
# The schema of the rules file by a validator that is not ours.
python3 Tests/schema.py "$tool"
# Each of these lines is wrong in another way.
if found=$(python3 Tests/command_lines.py "$tool" Tests/check/canary/commands.md); then
    fail "wrong command lines are taken for right ones: $found"
fi
grep -q ': 14 problems$' <<<"$found" || fail "wrong command lines are not found: $found"
codespell --skip "*/canary/*,*.svg,*.json,*.jsonl,*/.build,expected-output.txt,codespell.txt" --ignore-words Tests/check/codespell.txt \
    README.md Package.swift Sources Samples Tests .ci

# The documentation as a whole.
bash Tests/docs.sh --build
python3 Tests/documentation.py .build/documentation/all.doccarchive

# README and the first guides, as a newcomer follows them.
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

# The sample agent over a real broker, and what its unit leaves open.
agent=(--package-path Samples --traits MQTT,SQLite --scratch-path Samples/.build/traits --product MQTTAgent)
swift build --quiet "${agent[@]}"
bash Samples/06-MQTTAgent/tour.sh "$(swift build "${agent[@]}" --show-bin-path)/MQTTAgent"
systemd-analyze security --offline=true --threshold=15 Samples/06-MQTTAgent/mqtt-agent.service | tail -n 1

# Alert rules and dashboard.
promtool=$(command -v promtool || echo .build/prometheus/usr/bin/promtool)
"$promtool" check rules Samples/Watching/alerts.yml
"$promtool" test rules Samples/Watching/alerts-test.yml
# A metric that a rule or the dashboard asks for, and that no agent writes, would be silent for ever.
for metric in $(grep -ohE 'kiipush_[a-z_]+' Samples/Watching/alerts.yml Samples/Watching/dashboard.json | sort -u); do
    name=${metric#kiipush_}
    grep -rqE "\"${name%_bucket}\"|\"${name%_sum}\"" Sources/KiiPushAgent/Records || fail "no agent writes $metric"
done

# A page of kiipush report in a browser.
tool=$(program kiipush)
python3 Tests/report.py "$tool" .build/report
