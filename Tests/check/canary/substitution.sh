output=$(false; echo "went on")
echo "behind the failure: $output"
