source "$(dirname "$0")/common.sh"

if [ ! -e Tests/folders.py ]; then
    echo "there is no Tests/folders.py here"
    exit
fi
python3 Tests/folders.py Sources
