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
# A minute for each target; all of them, or those that are named.
FUZZ_SECONDS ?= 60
FUZZ ?= block container table operations cli
# In memory where there is such a folder: a writer waits for the disk.
FUZZ_TMP = TMPDIR="$$([ -d /dev/shm ] && echo /dev/shm || echo /tmp)"
FUZZ_LIMITS = -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=2048 -max_len=8192 -print_final_stats=1
COMMAND = $(abspath $(or $(CARGO_TARGET_DIR),target))/release/bloomline
CORPUS_TEST = --manifest-path fuzz/Cargo.toml --no-default-features --locked
SIDE_BY_SIDE = --profile side-by-side --locked -p bloomline-side-by-side

.PHONY: help demo test test-core test-corpus test-rocksdb stress soak scale loom asan asan-core asan-rocksdb miri \
	cargo-fuzz fuzz fuzz-rocksdb deny lint lint-core lint-fuzz lint-rocksdb bench bench-path bench-side-by-side bench-rocksdb

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' Makefile

demo: ## build a table from a real word list, look up present and absent keys, with the filter and without
	cargo build --release --locked -p bloomline-cli
	cargo run --release --locked -q -p bloomline-cli -- demo

test: test-core test-corpus test-rocksdb ## every test

test-core: ## the tests of the library and the command, for which Rust is enough
	cargo test --locked $(CORE)

test-corpus: ## the inputs that fuzzing has found worth keeping, on stable Rust
	cargo build --release --locked -p bloomline-cli
	$(FUZZ_TMP) BLOOMLINE_COMMAND="$(COMMAND)" cargo test $(CORPUS_TEST)

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

# One test is about the signal that the sanitizer would catch, one about memory that no machine has. The command's
# flipped bits, a process for each, are left to the library's.
asan-core:
	RUSTFLAGS=-Zsanitizer=address ASAN_OPTIONS=handle_sigbus=0:allocator_may_return_null=1 \
	CARGO_TARGET_DIR=target/asan cargo +nightly test --locked --target $(HOST) $(CORE) --tests -- --skip every_bit::

asan-rocksdb:
	$(ENGINE) cargo build $(ROCKSDB)
	$(ENGINE) engines/rocksdb/ci/asan.sh

# Locks of parking_lot keep pointers in numbers.
miri: ## every kernel, buffer and thread on a handful of keys, each access watched; needs nightly Rust with Miri
	RUSTFLAGS="-Ctarget-feature=+avx2,+bmi1,+bmi2,+popcnt" MIRIFLAGS=-Zmiri-permissive-provenance \
	CARGO_TARGET_DIR=target/miri cargo +nightly miri test --locked --test small_tour

cargo-fuzz:
	cargo fuzz --version 2>/dev/null || cargo install cargo-fuzz --locked

fuzz: cargo-fuzz ## every fuzz target for FUZZ_SECONDS (60), or those that FUZZ names; needs nightly Rust
	cargo build --release --locked -p bloomline-cli
	for target in $(FUZZ); do \
		$(FUZZ_TMP) BLOOMLINE_COMMAND="$(COMMAND)" cargo +nightly fuzz run $$target -- $(FUZZ_LIMITS) || exit 1; \
	done

fuzz-rocksdb: cargo-fuzz ## the fuzz target of the RocksDB plugin, under the address sanitizer; needs nightly Rust
	$(ENGINE) cargo build $(ROCKSDB)
	$(ENGINE) $(FUZZ_TMP) engines/rocksdb/ci/fuzz.sh $(FUZZ_LIMITS)

deny: ## licences, duplicates and sources of all dependencies; needs cargo-deny
	cargo deny --locked check licenses bans sources

lint: lint-core lint-fuzz lint-rocksdb ## formatting, clippy and documentation, warnings denied

lint-core:
	cargo fmt --all --check
	cargo clippy --locked $(CORE) --all-targets -- -D warnings
	cargo clippy --locked -p bloomline-side-by-side --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked -p bloomline --no-deps

lint-fuzz:
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo fmt --manifest-path engines/rocksdb/fuzz/Cargo.toml --check
	cargo clippy $(CORPUS_TEST) --all-targets -- -D warnings

lint-rocksdb:
	$(ENGINE) cargo clippy $(ROCKSDB) --all-targets -- -D warnings
	$(ENGINE) cargo clippy $(SST) --all-targets -- -D warnings
	$(ENGINE) RUSTDOCFLAGS="-D warnings" cargo doc $(ROCKSDB) --no-deps

bench: ## the Criterion benches, then every filter side by side
	cargo bench --locked $(CORE)
	$(MAKE) bench-side-by-side

bench-path: ## one lookup in a table: time and, with valgrind, instructions by function
	cargo bench --locked --bench path

bench-side-by-side: ## Bloomline, other crates and the limit of the memory, by default and with -C target-cpu=native
	cargo run $(SIDE_BY_SIDE)
	CARGO_TARGET_DIR=target/native RUSTFLAGS="-Ctarget-cpu=native" \
		cargo run $(SIDE_BY_SIDE) -- --out benches/results/native

bench-rocksdb: ## the plugin and RocksDB's own filters, as the crate compiles them and with -C target-cpu=native
	$(ENGINE) cargo run $(ROCKSDB) --example bench-rocksdb
	$(ENGINE)-native RUSTFLAGS="-Ctarget-cpu=native" cargo run $(ROCKSDB) --example bench-rocksdb
