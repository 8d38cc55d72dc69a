source "$(dirname "$0")/common.sh"

tool=$(program kiipush)
"$tool" demo >/dev/null
echo '{"bucketID":"settings","objectScopeType":"APP"}' | "$tool" inspect
"$tool" rules lint --strict Samples/05-RoutingRules/rules.json
"$tool" rules test --coverage --fail-under 100 Samples/05-RoutingRules/rules.json
