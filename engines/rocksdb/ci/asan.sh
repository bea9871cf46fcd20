#!/bin/sh
# Runs this package's tests with the address sanitizer in the Rust code and the shim.
#
#   engines/rocksdb/ci/asan.sh [test filter…]
#
# Needs a nightly Rust with its sanitizers, and the RocksDB of the release build, which it links (see built.sh).
set -eu
cd "$(dirname "$0")/../../.."

target=${CARGO_TARGET_DIR:-target}
host=$(rustc -vV | sed -n 's/^host: //p')
built="$(engines/rocksdb/ci/built.sh)"
eval "$built"
export RUSTFLAGS="-Zsanitizer=address ${RUSTFLAGS:-}"
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_stack_use_after_return=1:strict_string_checks=1}"
exec cargo +nightly test --release -p bloomline-rocksdb --lib --test suite --no-fail-fast --target "$host" \
    --target-dir "$target/asan" -- "$@"
