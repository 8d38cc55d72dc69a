#!/usr/bin/env bash
# Runs the tests under the address sanitizer and the thread sanitizer; fails on the first report of either.
#
#   bash Tests/sanitize.sh            both
#   bash Tests/sanitize.sh address    one of them; or thread
#
# address: the tests of the modules with `unsafe` code, whatever they read, write and leak in Swift, C and glibc; with
# --long all tests, also of those whose memory the compiler proves. Not covered: memory that the process may use but
# should not (uninitialised), and the tests that measure memory or time, which the sanitizer changes.
#
# thread: the suites whose code is shared between tasks: receiver, service, middleware, stores, metrics, and libcurl's
# loop. Swift's own libraries are not instrumented. Of Synchronization.Mutex the sanitizer sees the lock that is free
# and not the one that is waited for, and so reports races in correct code; Sanitizers/mutex.c tells it of those two
# steps. Nothing is suppressed: before the tests a correct program must pass and two with a planted race must fail, or
# the run means nothing. Not covered: races on ways that no test takes, and those that a lock taken in between puts in
# order by chance each time.
source "$(dirname "$0")/check/common.sh"

case "${1:-both}" in
    both) runs="address thread" ;;
    address | thread) runs=$1 ;;
    *) echo "sanitize.sh: unknown run '$1'; it takes address or thread" >&2; exit 64 ;;
esac

# A sanitizer's own report must end the process at once; Swift's backtracer hangs in it.
export SWIFT_BACKTRACE=enable=no
# What measures memory or time means nothing here. Of the transport over libcurl one test counts connections, and in so
# slow a process the server has given up some before they are used again; those of TLS keep the servers that they start,
# which are Foundation's processes and not ours. A tool without /proc does not start: the sanitizer reads its maps there,
# and needs terabytes of address space.
skip=(--skip MemoryTests --skip HostileInputTests --skip TransportContractTests --skip TLSTests
    --skip 'TransportTests/keepAlive' --skip 'UnusualStartTests/(withoutProcesses|smallAddressSpace)')
# With the thread of libcurl's loop, and SQLite; the tests of MQTT need a broker, and are run by the step "traits".
# A build without debug information takes a fifth less; for the lines of a report, run it without that option.
with=(--traits HTTP,SQLite -debug-info-format none)
shared='Service|Delivery|KiiCloudHTTPTests|Receiver|Middleware|Storage|Metrics|Handlers|InFlight|Outcome|Trace|Deduplicator|Loop|Pace|DeadLetter|OwnBucket|WriteBudget|Echo|Lineage|Identity|Kill|GuardTime|ScopeFilter|SeenStore'

fail() { printf 'sanitize.sh: %s\n' "$*" >&2; exit 1; }

address() {
    # One run each, as in the step "tests".
    local runs=('KiiPushSQLiteTests|KiiCloudHTTPTests' 'KiiPush(System|Agent)Tests' KiiPushToolTests) tests
    # Only these are compiled.
    local -x KIIPUSH_TESTS=KiiPushSQLiteTests,KiiCloudHTTPTests,KiiPushSystemTests,KiiPushAgentTests,KiiPushToolTests,KiiPushTestSupport
    if [ -n "${KIIPUSH_LONG:-}" ]; then
        runs+=('KiiPushTests|KiiPushRules|KiiPushDelivery|KiiPushTesting|KiiPushContracts|KiiCloudTests')
        unset KIIPUSH_TESTS
    fi
    local options=("${with[@]}" --sanitize=address --scratch-path .build/address)
    swift build "${options[@]}" --build-tests
    for tests in "${runs[@]}"; do
        swift test --skip-build "${options[@]}" --parallel "${skip[@]}" --filter "$tests"
    done
}

thread() {
    local folder=.build/thread/mutex
    mkdir -p "$folder"
    local clang
    clang="$(dirname "$(readlink -f "$(type -P swift)")")/clang"
    "$clang" -O1 -fPIC -shared -o "$folder/libmutex.so" Tests/Sanitizers/mutex.c -ldl
    swiftc -g -sanitize=thread -parse-as-library Tests/Sanitizers/Races.swift -o "$folder/races" 2>"$folder/log" \
        || { cat "$folder/log" >&2; fail "the program with the planted races does not build"; }
    export TSAN_OPTIONS=halt_on_error=0
    grep -q '_MutexHandleV9_lockSlowyys6UInt32VF' "$folder/races" \
        || fail "this Swift's Mutex has other parts than Sanitizers/mutex.c knows"
    LD_PRELOAD=$folder/libmutex.so "$folder/races" none >"$folder/log" 2>&1 \
        || { cat "$folder/log" >&2; fail "the thread sanitizer reports a race in a correct program"; }
    for kind in beside bare; do
        ! LD_PRELOAD=$folder/libmutex.so "$folder/races" "$kind" >"$folder/log" 2>&1 \
            && grep -q 'WARNING: ThreadSanitizer' "$folder/log" || fail "the thread sanitizer misses the race '$kind'"
    done
    echo "the thread sanitizer passes a correct program and finds two planted races"

    local -x KIIPUSH_TESTS=KiiPushTests,KiiPushDeliveryTests,KiiPushSQLiteTests,KiiCloudHTTPTests,KiiPushAgentTests,KiiPushContractsTests,KiiPushTestSupport
    swift build "${with[@]}" --build-tests --sanitize=thread --scratch-path .build/thread
    # Only the tests' own process: a preloaded library is nothing for the compiler.
    local bundle
    bundle=$(echo "$(swift build "${with[@]}" --sanitize=thread --scratch-path .build/thread --show-bin-path)"/*.xctest)
    LD_PRELOAD=$folder/libmutex.so "$bundle" --testing-library swift-testing --filter "$shared" "${skip[@]}"
}

for run in $runs; do
    printf '\n== %s sanitizer\n' "$run"
    start=$SECONDS
    "$run"
    echo "$run sanitizer: $((SECONDS - start)) s"
done
