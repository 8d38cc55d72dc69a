source "$(dirname "$0")/common.sh"

tool=$(program kiipush)
python3 Tests/report.py "$tool" .build/report
