# Every target installs what it needs. `make help` lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: consistency damaged help demo install test golden lint dist lab lab-netboot lab-guest lab-pairs bench fuzz fuzz-seeds windows wasm exports wheel test-wheel test-python book catalog samples reference clean viewer site pictures

TARGET_DIR := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)
export PATH := $(PATH):$(TARGET_DIR)/tools/bin

RECORDING ?= samples/slow-boot.etl
REFERENCE ?= ../shared/reference
SCENARIOS ?=
BOOTS ?=
# .ci/run sets it to `test`, which is built already.
DEMO_PROFILE ?= dev
FUZZ_SECONDS ?= 600
FUZZ_TARGETS := $(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs)))

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

demo: ## show where the time went in a sample boot (RECORDING=FILE for another)
	@tools/setup rust
	cargo run --quiet --profile $(DEMO_PROFILE) --package onoff -- boot $(RECORDING)

test: ## run all tests
	@tools/setup rust
	@tools/test

PYTHON := $(TARGET_DIR)/python
FRESH := $(TARGET_DIR)/python-fresh
PYTEST := $(FRESH)/bin/python -m pytest --quiet --rootdir python -c python/pyproject.toml

wheel: ## build the Python package from its source distribution
	@tools/setup rust
	@tools/setup python
	rm -rf $(TARGET_DIR)/wheels $(TARGET_DIR)/python-source $(FRESH)
	$(PYTHON)/bin/maturin sdist --manifest-path python/Cargo.toml --out $(TARGET_DIR)/wheels
	mkdir $(TARGET_DIR)/python-source
	tar -xmzf $(TARGET_DIR)/wheels/onoff_perf-*.tar.gz --strip-components=1 -C $(TARGET_DIR)/python-source
	cd $(TARGET_DIR)/python-source && $(PYTHON)/bin/maturin build --profile dev --target-dir $(TARGET_DIR) --out $(TARGET_DIR)/wheels
	$(PYTHON)/bin/python -m venv --clear $(FRESH)
	$(FRESH)/bin/pip install --quiet --disable-pip-version-check --find-links $(TARGET_DIR)/wheels --only-binary onoff-perf --requirement python/requirements.txt 'onoff-perf[sql,fleet]'

test-wheel:
	cd python && $(FRESH)/bin/mypy && $(FRESH)/bin/pyright --pythonpath $(FRESH)/bin/python
	# The tests of Spark mostly wait, so the others run beside them.
	$(PYTEST) python/tests/test_spark*.py >$(TARGET_DIR)/spark-tests.txt 2>&1 & spark=$$!; \
	$(PYTEST) --ignore-glob '*/test_spark*.py' python/tests; \
	wait $$spark || { cat $(TARGET_DIR)/spark-tests.txt; exit 1; }; \
	cat $(TARGET_DIR)/spark-tests.txt
	$(PYTEST) --doctest-modules --pyargs onoff

test-python: wheel test-wheel ## build the Python package from its source distribution, and test it in a new environment

golden: ## update the expected row counts of the real samples (review the diff)
	@tools/setup rust
	ONOFF_WRITE_GOLDEN=1 cargo test --quiet --locked --package onoff-sources golden

lint: ## check layout, format, clippy, documentation, generated pages, spelling and wording
	@tools/setup rust
	@tools/setup wasm
	@tools/setup mdbook
	@tools/setup deny
	@tools/setup scripts
	@tools/setup prose
	@tools/setup viewer-code
	@tools/lint

dist: ## build the release program, with its debug information in a separate file
	@tools/setup rust
	cargo build --profile dist --locked --package onoff
	cd $(TARGET_DIR)/dist && objcopy --only-keep-debug onoff onoff.debug && objcopy --strip-all --add-gnu-debuglink=onoff.debug onoff

PREFIX ?= $(HOME)/.local

install: ## install the program, shell completions and manual pages under PREFIX (~/.local)
	@tools/setup rust
	cargo build --profile release --locked --package onoff
	install -D -m 755 $(TARGET_DIR)/release/onoff $(DESTDIR)$(PREFIX)/bin/onoff
	install -d $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
	    $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	$(TARGET_DIR)/release/onoff manual $(DESTDIR)$(PREFIX)/share/man/man1
	$(TARGET_DIR)/release/onoff completions bash -o $(DESTDIR)$(PREFIX)/share/bash-completion/completions/onoff
	$(TARGET_DIR)/release/onoff completions zsh -o $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_onoff
	$(TARGET_DIR)/release/onoff completions fish -o $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/onoff.fish

lab: lab-netboot lab-guest ## record machines under QEMU and check onoff's reports (Debian, as root; 30 minutes)

lab-netboot: ## record network boots under QEMU and check onoff's reports (BOOTS="windows twice" for two; Debian, as root)
	@tools/setup rust
	@tools/setup lab
	cargo build --profile test --locked --package onoff
	folder=$$(mktemp -d) && lab/netboot/check.py $(TARGET_DIR)/debug/onoff "$$folder" $(BOOTS) && rm -r "$$folder"

lab-guest: ## record boots, shutdowns and sleeps of a guest and check onoff's reports (SCENARIOS=quick for two)
	@tools/setup rust
	@tools/setup lab
	cargo build --profile test --locked --package onoff
	lab/guest/check.py $(TARGET_DIR)/debug/onoff $(TARGET_DIR)/lab $(SCENARIOS)

PAIRS := $(TARGET_DIR)/lab-pairs

lab-pairs: ## record boots of a guest with and without a cause, and compare onoff's predictions with them (VARIANTS="plain sleep" RUNS=5)
	@tools/setup rust
	@tools/setup lab
	cargo build --profile test --locked --package onoff
	lab/pairs/record.py $(TARGET_DIR)/lab $(PAIRS) $(VARIANTS) --runs $(or $(RUNS),5)
	lab/pairs/table.py $(TARGET_DIR)/debug/onoff $(PAIRS)

bench: ## compare with cat and public readers (BENCH_SIZE=1GiB)
	@tools/setup rust
	@tools/setup readers
	$(TARGET_DIR)/readers/bin/python crates/support/bench/compare.py $(if $(BENCH_SIZE),--size $(BENCH_SIZE))
	$(TARGET_DIR)/readers/bin/python crates/support/bench/captures.py
	$(TARGET_DIR)/readers/bin/python crates/support/bench/traces.py
	$(TARGET_DIR)/readers/bin/python crates/support/bench/large_linux.py $(if $(BENCH_SIZE),--size $(BENCH_SIZE))

fuzz-seeds:
	@tools/setup rust
	python3 fuzz/seeds.py
	for target in $(FUZZ_TARGETS); do \
	    cargo run --quiet --locked --package onoff-etl --example fuzz_seeds -- fuzz/corpus/$$target; \
	done

fuzz: fuzz-seeds ## fuzz each reader for FUZZ_SECONDS (600)
	@tools/setup rust
	@tools/setup fuzz
	for target in $(FUZZ_TARGETS); do \
	    RUSTC_BOOTSTRAP=1 cargo fuzz run --fuzz-dir fuzz --target-dir $(TARGET_DIR)/fuzz $$target -- \
	        -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=2048 -timeout=20 -max_len=262144 -print_final_stats=1; \
	done

damaged: ## run an optimized build on damaged recordings, all commands in all formats (RUNS=40000)
	@tools/setup rust
	cargo build --profile quick --locked --package onoff
	tools/damaged_inputs.py $(TARGET_DIR)/quick/onoff samples ../shared/samples --runs $(or $(RUNS),40000) --keep $(TARGET_DIR)/damaged

windows: ## build for Windows and compare its output under Wine
	@tools/setup rust
	@tools/setup windows
	@tools/setup wine
	cargo build --profile test --locked --package onoff
	cargo build --locked --package onoff --target x86_64-pc-windows-gnu
	tools/compare-under-wine $(TARGET_DIR)/debug/onoff $(TARGET_DIR)/x86_64-pc-windows-gnu/debug/onoff.exe $(RECORDING)
	tools/record-under-wine $(TARGET_DIR)/x86_64-pc-windows-gnu/debug/onoff.exe samples/slow-boot.etl
	mkdir -p $(TARGET_DIR)/tmp/event-logs
	cargo run --quiet --locked --package onoff-testkit --example write_event_logs -- $(TARGET_DIR)/tmp/event-logs
	tools/logs-under-wine $(TARGET_DIR)/debug/onoff $(TARGET_DIR)/x86_64-pc-windows-gnu/debug/onoff.exe samples/slow-boot.etl \
	    $(TARGET_DIR)/tmp/event-logs

wasm: ## build the library for WebAssembly and compare its output under Node with the program's
	@tools/setup rust
	@tools/setup wasm
	@tools/setup node
	cargo build --profile test --locked --package onoff
	cargo build --locked --package onoff-wasm --target wasm32-unknown-unknown
	node tools/check-wasm.mjs $(TARGET_DIR)/wasm32-unknown-unknown/debug/onoff_wasm.wasm $(TARGET_DIR)/debug/onoff $(RECORDING)

site: ## build the page that opens recordings by itself, without the program (target/page)
	@tools/setup rust
	@tools/setup wasm
	@tools/setup node
	cargo build --profile site --locked --package onoff-wasm --no-default-features --target wasm32-unknown-unknown
	node tools/make-site.mjs crates/output/page/built/index.html $(TARGET_DIR)/wasm32-unknown-unknown/site/onoff_wasm.wasm $(TARGET_DIR)/page

viewer: ## build the page of 'onoff view', copy it into the program, and test it in real browsers
	@tools/setup rust
	@tools/setup wasm
	@tools/setup viewer
	cd viewer && npx tsc --noEmit && npx vite build
	cmp --silent viewer/dist/index.html crates/output/page/built/index.html || { \
	    [ -z "$${CI:-}" ] || { echo "crates/output/page/built/index.html is out of date: run 'make viewer' and commit it"; exit 1; }; \
	    cp viewer/dist/index.html crates/output/page/built/index.html; }
	cargo build --profile test --locked --package onoff
	cargo build --profile test --locked --package onoff-simulator --example make_trace
	cargo build --profile test --locked --package onoff-testkit --example write_event_logs
	# Unoptimized, as for 'make wasm'.
	cargo build --locked --package onoff-wasm --target wasm32-unknown-unknown
	ONOFF_ANY_SIZE=1 node tools/make-site.mjs crates/output/page/built/index.html \
	    $(TARGET_DIR)/wasm32-unknown-unknown/debug/onoff_wasm.wasm $(TARGET_DIR)/site-test
	cd viewer && ONOFF=$(TARGET_DIR)/debug/onoff MAKE_TRACE=$(TARGET_DIR)/debug/examples/make_trace \
	    WRITE_EVENT_LOGS=$(TARGET_DIR)/debug/examples/write_event_logs SITE=$(TARGET_DIR)/site-test npx vitest run

pictures: ## update the pictures of the README and the book in a real browser
	@tools/setup rust
	@tools/setup viewer
	cargo build --profile test --locked --package onoff
	cargo build --profile test --locked --package onoff-simulator --example make_trace
	cd viewer && ONOFF_WRITE_PICTURES=1 ONOFF=$(TARGET_DIR)/debug/onoff MAKE_TRACE=$(TARGET_DIR)/debug/examples/make_trace npx vitest run tests/pictures.test.ts tests/look.test.ts

exports: ## check JSON output against onoff's schema, and Perfetto traces against Perfetto's
	@tools/setup rust
	@tools/setup schemas
	cargo build --profile test --locked --package onoff
	$(TARGET_DIR)/schemas/bin/python tools/check-documents.py $(TARGET_DIR)/debug/onoff samples/*.etl samples/linux-boot.tar.xz
	cargo run --profile test --quiet --locked --package onoff-simulator --example make_trace -- crates/support/simulator/scenarios/slow-sleep.toml $(TARGET_DIR)/exported-sleep.etl
	for recording in $(RECORDING) $(TARGET_DIR)/exported-sleep.etl samples/linux-boot.tar.xz; do \
	    $(TARGET_DIR)/debug/onoff export $$recording --format perfetto -o $(TARGET_DIR)/exported.perfetto-trace; \
	    $(TARGET_DIR)/schemas/bin/python tools/check-perfetto.py $(TARGET_DIR)/exported.perfetto-trace; \
	done

MACHINES := $(TARGET_DIR)/machines

consistency: ## run all commands on all samples and simulated machines, and fail if two disagree
	@tools/setup rust
	cargo build --profile test --locked --package onoff
	cargo build --profile test --locked --package onoff-simulator --example make_trace
	rm -rf $(MACHINES) && mkdir -p $(MACHINES)
	for scenario in $$(ls crates/support/simulator/scenarios/*.toml crates/support/simulator/scenarios/second/*.toml | grep -v /benchmark.toml); do \
	    $(TARGET_DIR)/debug/examples/make_trace $$scenario $(MACHINES)/$$(basename $$scenario .toml).etl; \
	done
	tools/check_consistency.py $(TARGET_DIR)/debug/onoff $(MACHINES) $(shell find samples $(wildcard ../shared/samples) -type f \
	    -name '*.etl' -o -name '*.etl.xz' -o -name '*.pcap' -o -name '*.pcap.xz' -o -path '*linux*.tar.xz' | sort)

book: ## build the book as HTML
	@tools/setup mdbook
	mdbook build docs --dest-dir $(TARGET_DIR)/book
	@echo "$(TARGET_DIR)/book/index.html"

catalog: ## update the embedded event schemas from REFERENCE
	@tools/setup rust
	cargo run --package onoff-etw --example catalog -- $(REFERENCE)

samples: ## update the simulated sample recordings
	@tools/setup rust
	for name in slow-boot slow-shutdown slow-sleep; do \
	    cargo run --package onoff-simulator --example make_trace -- $$name samples/$$name.etl; \
	done
	ONOFF_WRITE_SAMPLES=1 cargo test --quiet --package onoff sample_ || true
	ONOFF_WRITE_SAMPLES=1 cargo test --quiet --package onoff-simulator installations
	xz --force -9e samples/write-filter/*.etl samples/runs/*/*.etl

reference: ## update the generated pages: JSON names, findings, tables, the README's output
	@tools/setup rust
	python3 tools/json_reference.py
	python3 tools/findings_page.py
	ONOFF_WRITE_REFERENCE=1 cargo test --quiet --locked --package onoff --test integration python_interface
	python3 tools/python_types.py
	python3 tools/python_licenses.py
	ONOFF_WRITE_REFERENCE=1 cargo test --quiet --locked --package onoff-trace --package onoff-sections --package onoff-xperf reference_page
	cargo run --quiet --package onoff -- record --plan windows --out $(TARGET_DIR)/windows > /dev/null
	cp $(TARGET_DIR)/windows/onoff.wprp windows/
	cargo run --quiet --package onoff -- boot samples/slow-boot.etl | python3 tools/readme_output.py

clean: ## remove build output
	cargo clean
