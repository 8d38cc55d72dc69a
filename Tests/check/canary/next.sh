echo "behind the failure"
