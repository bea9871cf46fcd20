#!/bin/sh
# Makes sure that bindgen finds libclang, installing it where it is missing.
#
#   env="$(engines/rocksdb/ci/libclang.sh)" && eval "$env" && cargo build --release -p bloomline-rocksdb
#
# librocksdb-sys makes its bindings with bindgen, which loads libclang when it runs. In this order: the library that
# bindgen finds by itself or by LIBCLANG_PATH; the system's package, where this user may install it; the `libclang`
# wheel of PyPI, unpacked into a folder of its own (no Python environment is changed). Prints shell assignments for
# the wheel and nothing otherwise: a change of these variables would compile RocksDB again. Messages go to stderr.
set -eu

holds_libclang() {
    [ -n "$1" ] && ls "$1"/libclang.so "$1"/libclang.so.* "$1"/libclang-*.so* "$1"/libclang.dylib 2>/dev/null |
        grep -q .
}

# The folders where bindgen looks (clang-sys, build/common.rs).
bindgen_finds_it() {
    for folder in "${LIBCLANG_PATH:-}" \
        "$(command -v llvm-config >/dev/null 2>&1 && llvm-config --libdir)" \
        /usr/local/llvm*/lib* /usr/local/lib*/*/* /usr/local/lib*/* /usr/local/lib* /usr/lib*/*/* /usr/lib*/* /usr/lib* \
        /usr/local/opt/llvm*/lib /Library/Developer/CommandLineTools/usr/lib \
        /Applications/Xcode.app/Contents/Developer/Toolchains/XcodeDefault.xctoolchain/usr/lib; do
        if holds_libclang "$folder"; then
            return 0
        fi
    done
    return 1
}

install_package() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || return 1
    echo "libclang: installing the system's package" >&2
    { apt-get update && apt-get install -y --no-install-recommends libclang-dev; } >&2
}

unpack_wheel() {
    command -v python3 >/dev/null 2>&1 || return 1
    wheel=${XDG_CACHE_HOME:-$HOME/.cache}/bloomline/libclang
    if ! holds_libclang "$wheel/clang/native"; then
        echo "libclang: unpacking the wheel into $wheel" >&2
        mkdir -p "$wheel"
        python=python3
        # A pip of its own where the system's Python has none.
        if ! python3 -m pip --version >/dev/null 2>&1; then
            python3 -m venv "$wheel/venv" >&2 || return 1
            python=$wheel/venv/bin/python3
        fi
        "$python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$wheel" \
            'libclang==18.1.1' >&2 || return 1
    fi
    # The wheel is without Clang's own headers (stddef.h and the like): the C compiler's do.
    echo "export LIBCLANG_PATH='$wheel/clang/native'"
    echo "export BINDGEN_EXTRA_CLANG_ARGS='-isystem $("${CC:-cc}" -print-file-name=include)'"
}

if bindgen_finds_it || { install_package && bindgen_finds_it; } || unpack_wheel; then
    exit 0
fi
echo "libclang: not found, and neither apt-get (as root) nor python3 with pip could install it;" \
    "set LIBCLANG_PATH to the folder of libclang.so" >&2
exit 1
