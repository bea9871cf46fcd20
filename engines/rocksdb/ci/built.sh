#!/bin/sh
# Says where the RocksDB of the release build is, for builds that are to link it instead of compiling it again.
#
#   built="$(engines/rocksdb/ci/built.sh)" && eval "$built"
#
# Prints shell assignments, which also have the shim compiled with the address sanitizer. RocksDB itself is not
# instrumented; its allocations still go through the sanitizer's allocator, so that a filter block that is read after
# RocksDB has freed it, or past its end by the shim or by Rust, is found.
set -eu
cd "$(dirname "$0")/../../.."

target=${CARGO_TARGET_DIR:-target}
library=$(ls -t "$target"/release/build/librocksdb-sys-*/out/librocksdb.a 2>/dev/null | head -n 1)
if [ -z "$library" ]; then
    echo "RocksDB is not built yet: cargo build --release -p bloomline-rocksdb" >&2
    exit 1
fi
version=$(sed -n '/^name = "librocksdb-sys"$/{n;s/.*+\(.*\)"/\1/p;}' Cargo.lock)

cat <<END
export ROCKSDB_LIB_DIR='$(cd "$(dirname "$library")" && pwd)' ROCKSDB_STATIC=1
export BLOOMLINE_ROCKSDB_LIB_VERSION='$version'
export BLOOMLINE_SHIM_SANITIZER=address
END
