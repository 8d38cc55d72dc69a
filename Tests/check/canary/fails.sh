false | true
echo "behind the failure"
