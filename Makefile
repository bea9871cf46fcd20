# `make` alone lists the targets.

SHELL = /bin/bash
CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/bloomline
CORE = -p bloomline -p bloomline-cli
# RocksDB takes half an hour to compile: in one profile only, in a folder that outlives this clone, with libclang
# installed first where it is missing.
ENGINE_TARGET ?= $(CACHE)/target
ENGINE = env="$$(engines/rocksdb/ci/libclang.sh)" && eval "$$env" && CARGO_TARGET_DIR="$(ENGINE_TARGET)"
ROCKSDB = --release --locked -p bloomline-rocksdb
# The command with its feature for RocksDB's files.
SST = --release --locked -p bloomline-cli --features rocksdb
HOST = $$(rustc -vV | sed -n 's/^host: //p')
SIDE_BY_SIDE = --profile side-by-side --locked -p bloomline-side-by-side

.PHONY: help demo test test-core test-rocksdb stress soak scale loom lint lint-core lint-rocksdb bench bench-side-by-side \
	bench-rocksdb asan asan-core asan-rocksdb miri deny

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' Makefile

demo: ## build a table from a real word list, look up present and absent keys, with the filter and without
	cargo build --release --locked -p bloomline-cli
	cargo run --release --locked -q -p bloomline-cli -- demo

test: test-core test-rocksdb ## every test

test-core: ## the tests of the library and the command, for which Rust is enough
	cargo test --locked $(CORE)

test-rocksdb: ## the tests of the RocksDB plugin and of `sst`; the first time they compile RocksDB
	$(ENGINE) cargo test $(ROCKSDB)
	$(ENGINE) cargo test $(SST) --test cli -- sst help

stress: ## 60 million adds from more threads than cores
	BLOOMLINE_STRESS_KEYS=15000000 cargo test --release --locked --test concurrent no_add_is_lost -- --nocapture

soak: ## a quarter of an hour of random work on RocksDB against a model, or BLOOMLINE_SOAK_SECONDS of it
	$(ENGINE) cargo run $(ROCKSDB) --example soak

scale: ## filters past 2^32 bits and 4 GiB, a table past 2^32 bytes; takes 12 GiB of memory, 6 of disk
	cargo test --release --locked --test scale -- --ignored --nocapture --test-threads=1

loom: ## models of the concurrent filters, every order of their steps tried
	RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=target/loom cargo test --release --locked --test loom

asan: asan-core asan-rocksdb ## every test under the address sanitizer; needs nightly Rust

# One test is about the signal that the sanitizer would catch. The command's flipped bits, a process for each, are
# left to the library's.
asan-core:
	RUSTFLAGS=-Zsanitizer=address ASAN_OPTIONS=handle_sigbus=0 CARGO_TARGET_DIR=target/asan \
	cargo +nightly test --locked --target $(HOST) $(CORE) --tests -- --skip every_bit::

asan-rocksdb:
	$(ENGINE) cargo build $(ROCKSDB)
	$(ENGINE) engines/rocksdb/ci/asan.sh

# Locks of parking_lot keep pointers in numbers.
miri: ## every kernel, buffer and thread on a handful of keys, each access watched; needs nightly Rust with Miri
	RUSTFLAGS="-Ctarget-feature=+avx2,+bmi1,+bmi2,+popcnt" MIRIFLAGS=-Zmiri-permissive-provenance \
	CARGO_TARGET_DIR=target/miri cargo +nightly miri test --locked --test small_tour

deny: ## licences, duplicates and sources of all dependencies; needs cargo-deny
	cargo deny --locked check licenses bans sources

lint: lint-core lint-rocksdb ## formatting, clippy and documentation, warnings denied

lint-core:
	cargo fmt --all --check
	cargo clippy --locked $(CORE) --all-targets -- -D warnings
	cargo clippy --locked -p bloomline-side-by-side --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked -p bloomline --no-deps

lint-rocksdb:
	$(ENGINE) cargo clippy $(ROCKSDB) --all-targets -- -D warnings
	$(ENGINE) cargo clippy $(SST) --all-targets -- -D warnings
	$(ENGINE) RUSTDOCFLAGS="-D warnings" cargo doc $(ROCKSDB) --no-deps

bench: ## the Criterion benches, then every filter side by side
	cargo bench --locked $(CORE)
	$(MAKE) bench-side-by-side

bench-side-by-side: ## Bloomline, other crates and the limit of the memory, in one run
	cargo run $(SIDE_BY_SIDE)

bench-rocksdb: ## the plugin and RocksDB's own filters, as the crate compiles them and with -C target-cpu=native
	$(ENGINE) cargo run $(ROCKSDB) --example bench-rocksdb
	$(ENGINE)-native RUSTFLAGS="-Ctarget-cpu=native" cargo run $(ROCKSDB) --example bench-rocksdb
