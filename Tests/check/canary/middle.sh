echo "before the failure"
false
echo "behind the failure"
