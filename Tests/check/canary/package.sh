echo "is never run"
