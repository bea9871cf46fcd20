#!/bin/sh
# Runs the fuzz target of this package.
#
#   engines/rocksdb/ci/fuzz.sh [argument of libFuzzer…]
#
# Needs a nightly Rust, cargo-fuzz, and the RocksDB of the release build, which it links (see built.sh).
set -eu
cd "$(dirname "$0")/../../.."

target=${CARGO_TARGET_DIR:-$PWD/target}
built="$(engines/rocksdb/ci/built.sh)"
eval "$built"
cd engines/rocksdb/fuzz
exec cargo +nightly fuzz run --fuzz-dir . --target-dir "$target/fuzz" rocksdb_reader -- "$@"
