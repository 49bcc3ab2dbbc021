# `make help` lists what there is. Every target may be run again at any time; nothing is done twice.
TARGET := $(or $(CARGO_TARGET_DIR),target)
ASSAY := $(TARGET)/release/assay
# Links to the programs in target/, for whoever builds somewhere else.
linked = if [ "$(TARGET)" != target ]; then mkdir -p target/$(1) && \
  ln -sf $(abspath $(TARGET))/$(1)/assay $(abspath $(TARGET))/$(1)/assay-lane target/$(1)/; fi

.PHONY: help setup build dist demo test test-long fuzz bench fmt clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /\1\t/' | expand -t 11

setup: ## system packages, MuJoCo, the Python runtime for policies
	@tools/setup

build: setup ## the release programs, at target/release/assay and target/release/assay-lane
	cargo build --release --locked -p assay -p assay-lane
	@$(call linked,release)

dist: setup ## the programs as they are distributed, at target/dist: smaller and faster, and slow to build
	cargo build --profile dist --locked -p assay -p assay-lane
	@$(call linked,dist)

demo: build ## verify an example policy on tabletop_reach; the report goes to out/demo
	$(ASSAY) verify examples/policies/tabletop_reach/reference --scenario tabletop_reach --seed 0 --out out/demo

test: ## the whole suite, a line per stage with its time
	@tools/test

test-long: ## kills at random, hours of load, fuzzing: about six hours
	@tools/test-long

fuzz: setup ## fuzz whatever reads strangers' bytes, 10 minutes a target
	@tools/fuzz

bench: dist ## the benchmarks, as ratios
	bench/run

fmt: ## format the Rust sources
	cargo fmt --all

clean: ## remove what was built; vendor/ stays
	cargo clean
	rm -rf out
