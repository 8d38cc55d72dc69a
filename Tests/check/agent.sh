source "$(dirname "$0")/common.sh"

agent=(--package-path Samples --traits MQTT,SQLite --scratch-path Samples/.build/traits --product MQTTAgent)
swift build --quiet "${agent[@]}"
bash Samples/06-MQTTAgent/tour.sh "$(swift build "${agent[@]}" --show-bin-path)/MQTTAgent"
systemd-analyze security --offline=true --threshold=15 Samples/06-MQTTAgent/mqtt-agent.service | tail -n 1
