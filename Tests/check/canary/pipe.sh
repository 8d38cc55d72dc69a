false | cat
echo "behind the failure"
