#!/usr/bin/env bash
# Rust with Debian's serde_json, offline; the machine's own cargo where it has one.
set -euo pipefail
cd "$(dirname "$0")"
. ../need.sh

need cargo cargo rustc
registry=/usr/share/cargo/registry
need "$(echo $registry/serde_json-1*)" librust-serde-json-dev librust-serde-dev
need "$(echo $registry/serde_derive-1*)" librust-serde-derive-dev
# Built from a copy: cargo writes a lock file, which is Debian's versions and not ours.
mkdir -p "$1/rust"
cp -r Cargo.toml src "$1/rust"
cargo build --quiet --release --offline --manifest-path "$1/rust/Cargo.toml" \
    --config 'source.crates-io.replace-with="debian"' --config "source.debian.directory=\"$registry\"" >&2
printf 'version\t%s with %s\n' "$(rustc --version | cut -d ' ' -f 1-2)" "$(basename $registry/serde_json-1* | tr - ' ')"
printf 'parser\tserde-json\tserde_json, borrowed\t%s\tparse\n' "$1/rust/target/release/rust-peer"
printf 'receiver\trust\tRust by hand\t%s\treceive\n' "$1/rust/target/release/rust-peer"
printf 'receiver\trust-shared\tRust by hand, of KiiPush'"'"'s contract\t%s\tshare\n' "$1/rust/target/release/rust-peer"
