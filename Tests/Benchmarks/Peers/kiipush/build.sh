#!/usr/bin/env bash
# KiiPush itself, as the others are asked; the target is in the package of Tests.
set -euo pipefail
cd "$(dirname "$0")"

static=(-c release --static-swift-stdlib --package-path ../../.. --scratch-path ../../.build/static)
swift build --quiet "${static[@]}" --product kiipush-peer >&2
program=$(swift build "${static[@]}" --show-bin-path)/kiipush-peer
printf 'parser\tkiipush-decode\tKiiPush, decode and classify\t%s\tdecode\n' "$program"
printf 'receiver\tkiipush\tKiiPush\t%s\treceive\n' "$program"
