#!/usr/bin/env bash
# Checks the project: runs steps one after the other, stops at the first that fails, and says how long each took. Steps
# that only compute run beside the others, at a lower priority.
#
#   bash Tests/check.sh                what one runs before a commit: format, tests, traits, samples
#   bash Tests/check.sh --all          all that CI runs
#   bash Tests/check.sh --long         all, and longer: a million flipped bits, 1,000 seeds of loops, 1,200 kills of
#                                      agents, the core's coverage, and a minute of fuzzing each
#   bash Tests/check.sh --only STEP    one step, with all that it needs; may be given several times
#   bash Tests/check.sh --list         prints the steps, and what each checks
#
#   --no-install    fails when a Debian package is missing, instead of installing it
#
# The steps are rows of Tests/check/steps.txt, each a script of its name beside it.
set -euo pipefail
cd "$(dirname "$0")/.."
# Another folder of steps, for the canary of the step format.
checks=${KIIPUSH_CHECKS:-Tests/check}

fail() { printf 'check.sh: %s\n' "$*" >&2; exit 1; }
refuse() { printf 'check.sh: %s\n' "$*" >&2; exit 64; }

# MARK: the steps

# The rows of the table: name, level, packages, and the words of what it checks.
rows() { awk '!/^#/ && NF' "$checks/steps.txt"; }

# steps_of LEVEL: the names of a level, and of those below it.
steps_of() {
    rows | awk -v level="$1" 'BEGIN { n["commit"] = 1; n["all"] = n["beside"] = 2; n["long"] = 3 } n[$2] <= n[level] { print $1 }'
}

level_of() { rows | awk -v name="$1" '$1 == name { print $2 }'; }

what_of() { rows | awk -v name="$1" '$1 == name { $1 = $2 = $3 = ""; sub(/^ +/, ""); print }'; }

list() {
    printf '%-14s %-7s %s\n' STEP LEVEL "WHAT IT CHECKS"
    rows | while read -r name level _ what; do printf '%-14s %-7s %s\n' "$name" "$level" "$what"; done
}

# MARK: what is asked for

level=commit only=() installs=yes
while [ $# -gt 0 ]; do
    case "$1" in
        --all) [ "$level" = long ] || level=all ;;
        --long)
            level=long
            export KIIPUSH_LONG=1
            ;;
        --only)
            [ $# -gt 1 ] || refuse "--only takes a step; there are $(steps_of long | paste -sd ' ')"
            shift
            steps_of long | grep -qxF -- "$1" ||
                refuse "there is no step '$1'; there are $(steps_of long | paste -sd ' ')"
            only+=("$1")
            ;;
        --only=*)
            set -- --only "${1#--only=}" "${@:2}"
            continue
            ;;
        --list) list; exit ;;
        --no-install) installs="" ;;
        --help) awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' Tests/check.sh; exit ;;
        *) refuse "there is no option '$1'; see --help" ;;
    esac
    shift
done
if [ ${#only[@]} -gt 0 ]; then steps=("${only[@]}"); else mapfile -t steps < <(steps_of "$level"); fi

# MARK: what the steps need

# has PACKAGE: whether what a step needs of a Debian package is there.
has() {
    case "$1" in
        binutils) command -v strip ;;
        dpkg-dev) command -v dpkg-shlibdeps ;;
        libc-bin) command -v ldd ;;
        libcurl4-openssl-dev) ls /usr/include/*/curl/curl.h ;;
        libmosquitto-dev) ls /usr/include/mosquitto.h ;;
        libsqlite3-dev) ls /usr/include/sqlite3.h ;;
        mosquitto) ls /usr/sbin/mosquitto ;;
        mosquitto-clients) command -v mosquitto_pub ;;
        nghttp2-server) ls /usr/sbin/nghttpd ;;
        python3-jsonschema) python3 -c 'import jsonschema' ;;
        prometheus) command -v promtool || ls .build/prometheus/usr/bin/promtool ;;
        systemd) command -v systemd-analyze ;;
        *) command -v "$1" ;;
    esac >/dev/null 2>&1
}

# Debian's package of Prometheus is unpacked and not installed: it would start a server that listens on all addresses.
unpack_prometheus() {
    rm -rf .build/prometheus && mkdir -p .build/prometheus
    apt-cache show prometheus >/dev/null 2>&1 || $root apt-get update -qq
    (cd .build/prometheus && apt-get download -qq prometheus && dpkg-deb -x prometheus_*.deb .)
}

# Installs what is missing, and says so before it does.
provide() {
    local packages missing=() unpacked="" root=""
    packages=$(rows | awk -v chosen=" ${steps[*]} " 'index(chosen, " " $1 " ") && $3 != "-" { print $3 }' | tr ',' '\n' | sort -u)
    for package in $packages; do
        if has "$package"; then continue; fi
        if [ "$package" = prometheus ]; then unpacked=yes; else missing+=("$package"); fi
    done
    [ "$(id -u)" -eq 0 ] || root=sudo
    if [ ${#missing[@]} -gt 0 ]; then
        local install="$root apt-get install -y ${missing[*]}"
        [ -n "$installs" ] || fail "Debian packages are missing; install them with:${root:+ }$install"
        [ -z "$root" ] || command -v sudo >/dev/null || fail "Debian packages are missing, and there is no sudo; as root: apt-get install -y ${missing[*]}"
        printf 'check.sh: Debian packages are missing, and are installed now: %s\n' "${missing[*]}"
        $root apt-get update -qq
        $root apt-get install -y -qq "${missing[@]}"
    fi
    if [ -n "$unpacked" ]; then
        [ -n "$installs" ] || fail "promtool is missing; install it with: $root apt-get install -y prometheus (it starts a server)"
        echo "check.sh: promtool is missing; Debian's package prometheus is unpacked into .build/prometheus now, not installed"
        unpack_prometheus || fail "promtool is missing; install the Debian package prometheus"
    fi
}

# MARK: running them

command -v swift >/dev/null || fail "no Swift toolchain on PATH; install Swift 6.3 from swift.org"
provide
swift --version 2>&1 | head -n 1

# A file with the times of the steps that were run, and the other lane's output and process group.
times=$(mktemp) beside_output=$(mktemp) beside_group=""
end() {
    [ -z "$beside_group" ] || kill -- "-$beside_group" 2>/dev/null || : # it has ended by itself
    rm -f "$times" "$beside_output"
}
trap end EXIT

report() {
    printf '\n%-14s %8s\n' step seconds
    cat "$times"
    printf '%-14s %8s\n' together "$SECONDS"
}

# run STEP...: runs steps one after the other, up to the first that fails.
run() {
    local step began status
    for step in "$@"; do
        printf '\n== %s: %s\n' "$step" "$(what_of "$step")"
        began=$SECONDS status=0
        # A process of its own: in a function that is called in a condition, bash would go on behind what fails.
        bash -O inherit_errexit -euo pipefail "$checks/$step.sh" || status=$?
        printf '%-14s %8d%s\n' "$step" $((SECONDS - began)) "$([ $status -eq 0 ] || echo '  failed')" >>"$times"
        printf '== %s: %s s\n' "$step" $((SECONDS - began))
        [ $status -eq 0 ] || {
            printf "\ncheck.sh: step '%s' failed; alone it runs with: bash Tests/check.sh --only %s\n" "$step" "$step" >&2
            return "$status"
        }
    done
}

# In braces, so that bash has read all of this script before it runs a step: it may be edited meanwhile.
{
    SECONDS=0 status=0
    mapfile -t beside < <(for step in "${steps[@]}"; do [ "$(level_of "$step")" != beside ] || echo "$step"; done)
    mapfile -t first < <(for step in "${steps[@]}"; do [ "$(level_of "$step")" = beside ] || echo "$step"; done)
    if [ ${#first[@]} -gt 0 ] && [ ${#beside[@]} -gt 0 ]; then
        printf '\n== beside the others, at a lower priority, and shown at the end: %s\n' "${beside[*]}"
        set -m # a process group of its own, which can be ended whole
        (renice -n 10 -p $BASHPID >/dev/null && run "${beside[@]}") >"$beside_output" 2>&1 &
        set +m
        beside_group=$!
        run "${first[@]}" || status=$?
        if [ $status -eq 0 ]; then
            wait "$beside_group" || status=$?
            beside_group=""
            cat "$beside_output"
        fi
    else
        run "${steps[@]}" || status=$?
    fi
    report
    [ $status -eq 0 ] && printf '\n== all is well\n'
    exit "$status"
}
