#!/usr/bin/env bash
# Swift with the toolchain's own Foundation.
set -euo pipefail
cd "$(dirname "$0")"
. ../need.sh

command -v swiftc >/dev/null || unavailable "swiftc is not on PATH"
swiftc -O -whole-module-optimization -static-stdlib -swift-version 6 ./*.swift -o "$1/foundation" >&2
printf 'parser\tjson-decoder\tFoundation JSONDecoder\t%s\tdecoder\n' "$1/foundation"
printf 'parser\tjson-serialization\tFoundation JSONSerialization\t%s\tserialization\n' "$1/foundation"
printf 'receiver\tfoundation\tSwift by hand, Foundation\t%s\treceive\n' "$1/foundation"
