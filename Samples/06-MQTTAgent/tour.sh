#!/usr/bin/env bash
# Runs what the README says, with a broker of its own on a free port, and checks what the agent prints.
#
#   bash Samples/06-MQTTAgent/tour.sh PROGRAM    the built MQTTAgent
set -euo pipefail

program=${1:?name the built MQTTAgent}
folder=$(mktemp -d)
agent=""
broker=""
stop() {
    for process in $agent $broker; do kill "$process" 2>/dev/null || :; done
    rm -rf "$folder"
}
trap stop EXIT

fail() {
    echo "tour.sh: $*" >&2
    cat "$folder/log" >&2
    exit 1
}

# until FILE TEXT: waits at most 20 seconds for a text in a file.
until_there() {
    for _ in $(seq 200); do
        if grep -q "$2" "$1" 2>/dev/null; then return; fi
        sleep 0.1
    done
    fail "there is no '$2' after 20 s"
}

start_agent() {
    STATE_DIRECTORY="$folder/state" "$program" "mqtt://127.0.0.1:$port/pushes" >>"$folder/log" 2>&1 &
    agent=$!
}

publish() { mosquitto_pub -h 127.0.0.1 -p "$port" -t pushes -q 1 -m "$1"; }

event() { echo "{\"origin\":\"EVENT\",\"bucketID\":\"settings\",\"objectScopeType\":\"APP\",\"objectID\":\"$1\",\"when\":1}"; }

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
mosquitto -p "$port" >"$folder/broker" 2>&1 &
broker=$!
until_there "$folder/broker" running
start_agent
until_there "$folder/log" granted
publish "$(event o-1)"
until_there "$folder/log" "object o-1 of bucket settings has changed"
publish "$(event o-1)"
until_there "$folder/log" "duplicate (done)"

kill -9 "$agent"
wait "$agent" 2>/dev/null || :
publish "$(event o-2)"
start_agent
until_there "$folder/log" "object o-2 of bucket settings has changed"
publish "$(event o-1)"
for _ in $(seq 200); do
    [ "$(grep -c "duplicate (done)" "$folder/log")" -lt 2 ] || break
    sleep 0.1
done
[ "$(grep -c "duplicate (done)" "$folder/log")" -ge 2 ] || fail "the agent forgot what it had handled"

kill "$agent"
wait "$agent" || fail "SIGTERM ended the agent with $?"
agent=""
[ "$(grep -c "has changed" "$folder/log")" -eq 2 ] || fail "two objects changed, and the handler said: $(cat "$folder/log")"
echo "two messages handled once each, over a kill -9, and one duplicate before and after it"
