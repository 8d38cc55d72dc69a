#!/usr/bin/env bash
# aiogram's dispatcher, from PyPI, in a virtual environment of its own.
set -euo pipefail
cd "$(dirname "$0")"
. ../need.sh

need python3 python3
folder=$1/aiogram
python=$folder/venv/bin/python
if ! "$python" -c 'import aiogram' 2>/dev/null; then
    rm -rf "$folder"
    python3 -c 'import ensurepip' 2>/dev/null || need /usr/share/doc/python3-venv python3-venv
    python3 -m venv "$folder/venv" >&2 || unavailable "python3 -m venv fails; install the Debian package python3-venv"
    "$python" -m pip install --quiet --disable-pip-version-check -r requirements.txt >&2 ||
        unavailable "PyPI does not give aiogram: pip install -r $PWD/requirements.txt says why"
fi
cp ./*.py ../python/receiver.py "$folder"
printf 'version\taiogram %s\n' "$("$python" -c 'import aiogram; print(aiogram.__version__)')"
printf 'receiver\taiogram\taiogram, dispatcher\t%s\t%s\treceive\n' "$python" "$folder/main.py"
