# `make` alone lists the targets.

# RocksDB takes half an hour to compile: its target folder outlives this clone.
ENGINE_TARGET ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/bloomline/target
# Formatting, lints and documentation of the packages that need nothing but Rust and a C compiler.
CORE = -p bloomline -p bloomline-cli

.PHONY: help demo test test-core lint lint-core bench doc

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

demo: ## build a table from a real word list, look up present and absent keys, with the filter and without
	cargo run --release --locked -q -p bloomline-cli -- demo

test: test-core ## every test

test-core: ## the tests of the library and the command
	cargo test --locked $(CORE)

lint: lint-core ## formatting, clippy and documentation, warnings denied

lint-core:
	cargo fmt --all --check
	cargo clippy --locked $(CORE) --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked -p bloomline --no-deps

bench: ## the Criterion benches
	cargo bench --locked $(CORE)

doc: ## the documentation of the library, in a browser
	cargo doc --no-deps -p bloomline --open
