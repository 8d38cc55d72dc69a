source "$(dirname "$0")/common.sh"

# Runs check.sh over the steps of the folder canary, of which all but one must fail, each in another way.
canary() { KIIPUSH_CHECKS=Tests/check/canary bash Tests/check.sh "$@" 2>&1; }

# expect STATUS ARGUMENT...: fails unless check.sh ends with this status; keeps what it prints in `output`.
expect() {
    local wanted=$1 status=0
    shift
    output=$(canary "$@") || status=$?
    [ "$status" -eq "$wanted" ] || fail "'check.sh $*' over the canaries ended with $status, not $wanted: $output"
}

expect 0 --only fine
for step in middle pipe substitution function last; do
    expect 1 --only "$step"
    ! grep -q 'behind the failure' <<<"$output" || fail "the step $step went on behind its failure"
    grep -q "step '$step' failed" <<<"$output" || fail "the step $step failed, and nobody says so"
done
# A step that fails ends the run, and those behind it do not start.
expect 1
! grep -q '== pipe' <<<"$output" || fail "check.sh went on behind a step that failed"

expect 64 --only midle
grep -q "did you mean 'middle'" <<<"$output" || fail "a mistyped step gets no hint: $output"
expect 64 --onyl fine
grep -q "did you mean '--only'" <<<"$output" || fail "a mistyped option gets no hint: $output"
expect 64 --only

expect 1 --no-install --only package
grep -q 'apt-get install.*no-such-package' <<<"$output" || fail "--no-install does not say what to install: $output"

# Each step has its script, and each script is a step.
diff <(awk '!/^#/ && NF { print $1 ".sh" }' Tests/check/steps.txt | sort) \
    <(cd Tests/check && ls ./*.sh | sed 's|^./||' | grep -vx common.sh | sort) || fail "steps.txt and Tests/check/*.sh differ"
echo "a step that fails in the middle, in a pipe, in a substitution or in a function fails the run"
