#!/usr/bin/env bash
# CPython as it is; nothing to build.
set -euo pipefail
cd "$(dirname "$0")"
. ../need.sh

need python3 python3
mkdir -p "$1/python"
cp ./*.py "$1/python"
# The interpreter itself: a version manager's shim would start it anew through a shell.
python=$(python3 -c 'import sys; print(sys.executable)')
printf 'version\t%s\n' "$("$python" --version)"
printf 'parser\tpython-json\tPython json.loads\t%s\t%s\tparse\n' "$python" "$1/python/main.py"
printf 'receiver\tpython\tPython by hand\t%s\t%s\treceive\n' "$python" "$1/python/main.py"
