#!/bin/sh
# Runs this package's tests with the address sanitizer in the Rust code and the shim.
#
#   engines/rocksdb/ci/asan.sh [test filter…]
#
# Needs a nightly Rust with its sanitizers. RocksDB itself is not instrumented and not compiled again: the library of
# the release build is linked, which must exist. Its allocations still go through the sanitizer's allocator, so that
# a filter block that is read after RocksDB has freed it is found.
set -eu
cd "$(dirname "$0")/../../.."

target=${CARGO_TARGET_DIR:-target}
host=$(rustc -vV | sed -n 's/^host: //p')
library=$(ls -t "$target"/release/build/librocksdb-sys-*/out/librocksdb.a 2>/dev/null | head -n 1)
if [ -z "$library" ]; then
    echo "asan: build the package first: cargo build --release -p bloomline-rocksdb" >&2
    exit 1
fi
version=$(sed -n '/^name = "librocksdb-sys"$/{n;s/.*+\(.*\)"/\1/p;}' Cargo.lock)

export ROCKSDB_LIB_DIR="$(cd "$(dirname "$library")" && pwd)" ROCKSDB_STATIC=1
export BLOOMLINE_ROCKSDB_LIB_VERSION="$version"
export BLOOMLINE_SHIM_SANITIZER=address
export RUSTFLAGS="-Zsanitizer=address ${RUSTFLAGS:-}"
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_stack_use_after_return=1:strict_string_checks=1}"
exec cargo +nightly test --release -p bloomline-rocksdb --lib --test suite --no-fail-fast --target "$host" \
    --target-dir "$target/asan" -- "$@"
