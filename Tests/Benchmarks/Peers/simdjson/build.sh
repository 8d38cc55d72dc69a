#!/usr/bin/env bash
# simdjson from Debian, built with g++; at run time it picks what this processor can.
set -euo pipefail
cd "$(dirname "$0")"
. ../need.sh

need g++ g++
need /usr/include/simdjson.h libsimdjson-dev
g++ -std=c++17 -O3 -DNDEBUG main.cpp -o "$1/simdjson" -lsimdjson
version=$(sed -n 's/^#define SIMDJSON_VERSION "*\([0-9.]*\)"*$/\1/p' /usr/include/simdjson.h | head -n 1)
printf 'version\tsimdjson %s\n' "$version"
printf 'parser\tsimdjson-dom\tsimdjson, DOM\t%s\tdom\n' "$1/simdjson"
printf 'parser\tsimdjson-on-demand\tsimdjson, on-demand\t%s\ton-demand\n' "$1/simdjson"
