#!/usr/bin/env bash
# Measures KiiPush beside receivers written by hand on the same bytes: builds all, checks that all understand the same,
# and prints a table of medians, spread and ratios.
#
#   bash Tests/Benchmarks/run.sh               some ten minutes, most of them for building
#   bash Tests/Benchmarks/run.sh --rounds 15   more rounds; 7 unless told, and 1 shows whether it works
#   bash Tests/Benchmarks/run.sh --guide       also writes the table into README.md beside it
#
# README.md says what the programs do. Build nothing else meanwhile.
set -euo pipefail
cd "$(dirname "$0")"
folder=$PWD/.build/side-by-side
registry=/usr/share/cargo/registry
mkdir -p "$folder"

say() { printf '%s\n' "$*" >&2; }

if ! compgen -G "$registry/serde_json-1*" >/dev/null || ! command -v cargo >/dev/null; then
    say "run.sh: install the Debian packages cargo, librust-serde-json-dev and librust-serde-derive-dev"
    exit 1
fi

say "building the receiver of KiiPush, with Swift's library inside, as Rust has its own"
package=(-c release --package-path ..)
static=("${package[@]}" --static-swift-stdlib --scratch-path .build/static)
swift build --quiet "${static[@]}" --product kiipush-peer
cp "$(swift build "${static[@]}" --show-bin-path)/kiipush-peer" "$folder"

say "building the receivers by hand"
swiftc -O -whole-module-optimization -static-stdlib -swift-version 6 Peers/foundation/*.swift -o "$folder/foundation"
# From a copy: cargo writes a lock file, with Debian's versions of serde.
cp -r Peers/rust "$folder"
cargo build --quiet --release --offline --manifest-path "$folder/rust/Cargo.toml" \
    --config 'source.crates-io.replace-with="debian"' --config "source.debian.directory=\"$registry\""
cp "$folder/rust/target/release/rust-peer" "$folder"

exec python3 side_by_side.py "$folder" "$@"
