work() {
    false
    echo "behind the failure"
}
work
echo "behind the failure"
