# `make help` lists the targets. Each can be run again at any time and repeats no work.
TARGET := $(or $(CARGO_TARGET_DIR),target)
# Links the programs into target/ when CARGO_TARGET_DIR points elsewhere.
linked = if [ "$(TARGET)" != target ]; then mkdir -p target/$(1) && \
  ln -sf $(abspath $(TARGET))/$(1)/assay $(abspath $(TARGET))/$(1)/assay-lane target/$(1)/; fi

.PHONY: help setup build dist programs demo book test test-long fuzz bench fmt clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /\1\t/' | expand -t 11

setup: ## install system packages, MuJoCo, the Python runtime for policies
	@tools/setup

build: setup ## build the optimised programs target/release/assay and target/release/assay-lane
	@echo "build: about 6 minutes the first time on 2 cores"
	cargo build --release --locked -p assay -p assay-lane
	@$(call linked,release)

dist: setup ## build what is given to users, into target/packages: wheel, archive, Debian package, image
	@tools/dist

programs: setup ## build only the programs of these packages, target/dist/assay and target/dist/assay-lane
	@tools/dist programs
	@$(call linked,dist)
	@if [ "$(TARGET)" != target ]; then ln -sfn $(CURDIR)/vendor $(TARGET)/vendor; fi

# The demonstration uses the profile of the tests, which compiles and links in about half the time of a release.
demo: setup ## verify an example policy on tabletop_reach; the report goes to out/demo
	@echo "demo: building assay and its simulator; about 4 minutes the first time on 2 cores, seconds afterwards"
	cargo build --locked -p assay -p assay-lane
	@$(call linked,debug)
	@echo "demo: three episodes, then their logs and videos; about 20 seconds"
	$(TARGET)/debug/assay verify examples/policies/tabletop_reach/reference --scenario tabletop_reach --seed 0 --out out/demo

book: ## build the documentation as a book, target/book/index.html
	@tools/setup --dev
	@tools/check-book --build

test: ## run the whole test suite, one line per stage with its duration
	@tools/test

test-long: ## random kills, hours of load, fuzzing: about six hours
	@tools/test-long

fuzz: setup ## fuzz every parser of untrusted input, 10 minutes each
	@tools/fuzz

bench: programs ## run the benchmarks
	bench/run

fmt: ## format the Rust sources
	cargo fmt --all

clean: ## remove build output; vendor/ stays
	cargo clean
	rm -rf out
