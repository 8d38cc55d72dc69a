source "$(dirname "$0")/common.sh"

bash Tests/docs.sh --build
python3 Tests/documentation.py .build/documentation/all.doccarchive
