source "$(dirname "$0")/common.sh"

promtool=$(command -v promtool || echo .build/prometheus/usr/bin/promtool)
"$promtool" check rules Samples/Watching/alerts.yml
"$promtool" test rules Samples/Watching/alerts-test.yml
# A metric that a rule or the dashboard asks for, and that no agent writes, would be silent for ever.
for metric in $(grep -ohE 'kiipush_[a-z_]+' Samples/Watching/alerts.yml Samples/Watching/dashboard.json | sort -u); do
    name=${metric#kiipush_}
    grep -rqE "\"${name%_bucket}\"|\"${name%_sum}\"" Sources/KiiPushAgent/Records || fail "no agent writes $metric"
done
