#!/usr/bin/env bash
# Node as it is; nothing to build.
set -euo pipefail
cd "$(dirname "$0")"
. ../need.sh

need node nodejs
mkdir -p "$1/node"
cp ./*.mjs "$1/node"
main=$1/node/main.mjs
node=$(command -v node)
printf 'version\tNode %s\n' "$(node --version | tr -d v)"
printf 'parser\tnode-parse\tNode JSON.parse, of a string\t%s\t%s\tparse\n' "$node" "$main"
printf 'parser\tnode-parse-bytes\tNode JSON.parse, of bytes\t%s\t%s\tparse-bytes\n' "$node" "$main"
printf 'receiver\tnode\tNode by hand\t%s\t%s\treceive\n' "$node" "$main"
