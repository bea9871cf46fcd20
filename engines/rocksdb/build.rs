//! Compiles the C++ shim against the headers of the RocksDB that `librocksdb-sys` builds.
//!
//! The shim subclasses classes that RocksDB keeps internal, so the headers and the library must be
//! of one version. `librocksdb-sys` compiles both from one folder; a library from elsewhere
//! (`ROCKSDB_LIB_DIR`) is refused unless its version is named and agrees.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The version of an external library, which its owner states to use it with this crate.
const LIB_VERSION: &str = "BLOOMLINE_ROCKSDB_LIB_VERSION";

/// A sanitizer to compile the shim with, as `ci/asan.sh` does.
const SANITIZER: &str = "BLOOMLINE_SHIM_SANITIZER";

fn main() {
    for name in ["ROCKSDB_LIB_DIR", "ROCKSDB_CXX_STD", LIB_VERSION, SANITIZER] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    println!("cargo:rerun-if-changed=shim");

    let root = env::var_os("DEP_ROCKSDB_CARGO_MANIFEST_DIR").map(PathBuf::from);
    let Some(rocksdb) = root.map(|root| root.join("rocksdb")) else {
        panic!("librocksdb-sys did not say where its sources are");
    };
    check_library(&rocksdb);

    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std_flag()
        .define("NDEBUG", None)
        .include(&rocksdb)
        .include(rocksdb.join("include"))
        .flag("-Wall")
        .flag("-Wextra")
        .flag("-Wno-unused-parameter")
        // The shim then refers to no type information of RocksDB's, which is compiled without.
        .flag("-fno-rtti");
    if let Some(cpu) = target_cpu() {
        let name =
            if env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("aarch64") { "mcpu" } else { "march" };
        build.flag_if_supported(format!("-{name}={cpu}"));
    }
    for (name, value) in platform() {
        build.define(name, value);
    }
    if let Ok(sanitizer) = env::var(SANITIZER) {
        build.flag(format!("-fsanitize={sanitizer}")).flag("-fno-omit-frame-pointer").flag("-g");
    }
    for file in ["filter.cc", "install.cc", "inspect.cc"] {
        build.file(Path::new("shim").join(file));
    }
    if env::var_os("CARGO_FEATURE_TESTING").is_some() {
        build.file("shim/testing.cc");
    }
    build.compile("bloomline_rocksdb_shim");
}

/// The standard that RocksDB's headers are compiled with, as `librocksdb-sys` chooses it.
trait StdFlag {
    fn std_flag(&mut self) -> &mut Self;
}

impl StdFlag for cc::Build {
    fn std_flag(&mut self) -> &mut Self {
        let wanted = env::var("ROCKSDB_CXX_STD").unwrap_or_else(|_| "c++20".to_owned());
        let name = wanted.strip_prefix("-std=").unwrap_or(&wanted);
        self.flag(format!("-std={name}"))
    }
}

/// The processor that rustc compiles for, where RUSTFLAGS name one: `librocksdb-sys` compiles RocksDB for the same.
fn target_cpu() -> Option<String> {
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").ok()?;
    let flags: Vec<&str> = flags.split('\x1f').collect();
    let value = |flag: &str| flag.trim_start_matches("-C").strip_prefix("target-cpu=").map(str::to_owned);
    flags.iter().rev().find_map(|flag| value(flag))
}

/// Fails unless the linked library is known to match the headers.
fn check_library(rocksdb: &Path) {
    let Some(folder) = env::var_os("ROCKSDB_LIB_DIR") else {
        return;
    };
    let headers = header_version(rocksdb);
    let stated = env::var(LIB_VERSION).unwrap_or_default();
    assert!(
        stated == headers,
        "ROCKSDB_LIB_DIR={} links a RocksDB of unknown version, and this crate uses internal \
         classes of RocksDB {headers}. Unset it, or state the library's version in {LIB_VERSION} \
         (now: {stated:?}).",
        folder.display(),
    );
}

/// Reads major.minor.patch from RocksDB's version header.
fn header_version(rocksdb: &Path) -> String {
    let path = rocksdb.join("include/rocksdb/version.h");
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    let part = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix("#define ")?.strip_prefix(name))
            .unwrap_or_else(|| panic!("no {name} in {}", path.display()))
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let [major, minor, patch] = ["ROCKSDB_MAJOR", "ROCKSDB_MINOR", "ROCKSDB_PATCH"].map(part);
    format!("{major}.{minor}.{patch}")
}

/// The platform macros under which RocksDB's internal headers compile.
fn platform() -> Vec<(&'static str, Option<&'static str>)> {
    let posix = [("ROCKSDB_PLATFORM_POSIX", None), ("ROCKSDB_LIB_IO_POSIX", None)];
    let os = match env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux") => "OS_LINUX",
        Ok("macos") => "OS_MACOSX",
        other => panic!("bloomline-rocksdb builds for Linux and macOS, not for {other:?}"),
    };
    posix.into_iter().chain([(os, None)]).collect()
}
