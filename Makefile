# SPDX-License-Identifier: GPL-2.0-only
# make demo    installs what is missing, builds, and compares schedulers on two workloads and on a recording
# make test    installs what is missing and runs everything CI runs
# make check   formats and lints (all that is needed is a compiler)
# make test-vm runs the long tests, too: in a real kernel, and the native host under Miri
# make fuzz    fuzzes the readers of recordings, SECONDS=120 each
# make bench   runs the benchmarks
# make results does the papers' experiments again: out/book, docs/results.md
# make regions judges every claim over what its paper does not state (docs/regions.md; hours)
# make fidelity compares the simulator with a real kernel (docs/fidelity.md)
# make whatif records workloads in a real kernel, predicts them under other schedulers, and runs them there (docs/whatif.md)
# make overhead measures what each scheduler costs in a real kernel, for docs/overhead.md
# make wheel   builds the Python package into out/wheel, installs it into out/venv and runs its tests
# make packages builds a Debian package and an archive into out/packages, and uses each in a bare Debian (as root)
# make slurm   runs the Slurm array of examples/cluster on a real slurmctld and slurmd
# make site    writes the playground and the documentation into out/site (docs/playground.md); COMPILER=yes: with the compiler for the page
# make site-test runs the site's tests in a headless browser: hashes, links, keyboard, accessibility
# make deny    licences, sources, duplicates and known faults of all dependencies, by cargo-deny
# make mutants changes policies in one place each and counts what the checks and "schedlab check" find; SAMPLE=200 of the changes
# make clean   removes what the others made

CARGO ?= cargo
export SCHEDLAB_REQUIRE_BROWSER ?= 1

# Tests that had to be skipped leave a line here.
export SCHEDLAB_SKIPPED := $(CURDIR)/out/skipped

.PHONY: demo test built suites vm-short test-vm miri skipped check perfetto release bench golden results regions fidelity whatif overhead fuzz wheel clean scx deny mutants packages slurm site site-test

demo:
	scripts/setup.sh demo
	$(CARGO) build --release --package schedlab
	scripts/demo.sh

test: release perfetto vm-short suites
	@$(MAKE) --no-print-directory skipped

# All test programs; with "make --jobs=2" beside those of the release build.
TESTS = --workspace --tests
built: check
	scripts/setup.sh test
	@mkdir -p out && rm -f $(SCHEDLAB_SKIPPED)
	$(CARGO) test --no-run $(TESTS) --test vm

suites: built
	$(CARGO) test $(TESTS)

# With "make --jobs=2" beside the suites, whose last tests would leave a CPU idle otherwise.
vm-short: built
	$(CARGO) test --workspace --test vm -- $(SHORT_VM)

# A real kernel in short: it boots, runs a command, ends at a signal, takes a policy of each family; CPUs share out tasks;
# a prediction is compared with the truth.
# "make test-vm" has the rest.
SHORT_VM = a_command_runs_in_a_real_kernel an_interrupt_ends_the_machine one_policy_of_each_family_schedules \
	times_agree_between_cpus_that_balance what_if_of_tasks_that_communicate

test-vm:
	scripts/setup.sh test
	scripts/setup.sh servers
	@mkdir -p out && rm -f $(SCHEDLAB_SKIPPED)
	@$(MAKE) --no-print-directory miri
	$(CARGO) test --package schedlab --test vm -- --include-ignored
	@$(MAKE) --no-print-directory skipped

# The native host without C, under Miri (rustup toolchain install nightly --component miri).
miri:
	@if rustup run nightly cargo miri --version >/dev/null 2>&1; then \
		MIRIFLAGS=-Zmiri-permissive-provenance CARGO_TARGET_DIR=$${CARGO_TARGET_DIR:-target}/miri \
			rustup run nightly cargo miri test --package schedlab-policy --lib; \
	else \
		mkdir -p out; echo "miri: there is no nightly toolchain with Miri" >> $(SCHEDLAB_SKIPPED); \
	fi

skipped:
	@if [ -s $(SCHEDLAB_SKIPPED) ]; then \
		echo "WARNING: $$(grep -c . $(SCHEDLAB_SKIPPED)) tests were SKIPPED:"; cat $(SCHEDLAB_SKIPPED); \
	fi

# The experiments are modules of a generated file, and the benchmarks are outside the workspace: cargo fmt does not see them.
check:
	scripts/setup.sh check
	$(CARGO) fmt --all --check
	rustfmt --check --edition 2021 experiments/*.rs experiments/*/*.rs bench/src/lib.rs bench/benches/*.rs
	$(CARGO) clippy --workspace --lib --bins --tests --test vm -- -D warnings

# Perfetto's own Python bindings decode what we write.
perfetto: built
	tests/perfetto/run.sh

# Release builds compute the trace hashes test builds do; "test" has the other half.
release: check
	$(CARGO) test --profile release-test --package schedlab-sim --test golden

bench:
	scripts/setup.sh bench
	$(CARGO) bench --manifest-path bench/Cargo.toml --target-dir $${CARGO_TARGET_DIR:-target}
	$(CARGO) build --release --package schedlab
	-scripts/scx-schedulers.sh scx_simple scx_bpfland
	SCHEDLAB=$${CARGO_TARGET_DIR:-target}/release/schedlab scripts/scx-speed.py

overhead:
	scripts/setup.sh test
	$(CARGO) build --release --package schedlab
	scripts/overhead.sh

SECONDS ?= 120
# Maturin and what the tests use beside the wheel come from PyPI.
WHEEL_TESTS = pandas pyarrow polars duckdb matplotlib tqdm distributed nbclient ipykernel
wheel:
	python3 -m venv out/venv
	out/venv/bin/pip install --quiet 'maturin>=1.8,<2' $(WHEEL_TESTS)
	cd python && PATH="$(CURDIR)/out/venv/bin:$$PATH" maturin build --release --out $(CURDIR)/out/wheel
	out/venv/bin/pip install --quiet --force-reinstall --no-deps out/wheel/schedlab-*.whl
	out/venv/bin/python -m unittest discover --start-directory python/tests --verbose

packages:
	scripts/setup.sh test
	scripts/packages.sh

slurm:
	$(CARGO) build --release --package schedlab
	scripts/slurm.sh

SAMPLE ?= 200
mutants:
	$(CARGO) build --release --package schedlab
	scripts/mutants.py --sample $(SAMPLE) --schedlab $${CARGO_TARGET_DIR:-target}/release/schedlab

# The engine and the policies for WebAssembly, the page, and the pages of text.
site:
	scripts/setup.sh site
	SITE_COMPILER=$(COMPILER) site/build.sh out/site

# Puppeteer and axe come from the npm registry; SCHEDLAB names the program whose hashes the page's are compared with.
site-test: site
	$(CARGO) build --release --package schedlab
	scripts/setup.sh site-test
	mkdir -p out/site-test && cp site/test/* out/site-test/
	npm ci --prefix out/site-test --no-audit --no-fund
	SCHEDLAB=$${CARGO_TARGET_DIR:-target}/release/schedlab node out/site-test/site.mjs out/site

fuzz:
	scripts/fuzz.sh $(SECONDS)

# Trace hashes change when a scheduler, the engine or a machine does, and only then.
golden:
	SCHEDLAB_UPDATE_GOLDEN=1 $(CARGO) test --package schedlab-sim --test golden

# The papers' results: the book in out/book, and the page in docs. Tests compare the page with the program, and here
# with a quick look at everything.
results:
	$(CARGO) build --release --package schedlab
	$${CARGO_TARGET_DIR:-target}/release/schedlab reproduce all --report out/book
	cp out/book/results.md docs/results.md
	$(CARGO) test --release --package schedlab-reproduce --test suite results -- --include-ignored

regions:
	$(CARGO) build --release --package schedlab
	$${CARGO_TARGET_DIR:-target}/release/schedlab reproduce all --region 50 --report out/regions
	cp out/regions/regions.md docs/regions.md

# Each workload under each policy in both worlds: a quarter of an hour on two CPUs with nothing else to do.
fidelity:
	scripts/setup.sh test
	$(CARGO) build --release --package schedlab
	$${CARGO_TARGET_DIR:-target}/release/schedlab dev fidelity --write docs/fidelity.md
	$${CARGO_TARGET_DIR:-target}/release/schedlab dev fidelity --groups 8 --duration 10s --write docs/fidelity.md

# Eight workloads under seven schedulers in a virtual machine, one after the other: an hour.
whatif:
	scripts/setup.sh test
	scripts/setup.sh whatif
	$(CARGO) build --release --package schedlab
	$${CARGO_TARGET_DIR:-target}/release/schedlab dev whatif --keep out/whatif --write docs/whatif.md

# Ten published sched_ext schedulers, got through package managers, beside EEVDF and CFS.
scx:
	scripts/setup.sh test
	scripts/scx-schedulers.sh scx_simple scx_qmap scx_central scx_flatcg scx_bpfland scx_flash scx_tickless scx_p2dq scx_lavd scx_cake scx_rusty
	$(CARGO) build --release --package schedlab
	SCHEDLAB=$${CARGO_TARGET_DIR:-target}/release/schedlab scripts/scx-table.py --write docs/scx.md

# The list of known faults is fetched from the network; SCHEDLAB_OFFLINE=1 leaves it out.
deny:
	@command -v cargo-deny >/dev/null || $(CARGO) install --locked cargo-deny
	$(CARGO) deny $(if $(SCHEDLAB_OFFLINE),--offline) check $(if $(SCHEDLAB_OFFLINE),licenses bans sources)

clean:
	$(CARGO) clean
	rm -rf out bench/Cargo.lock fuzz/target fuzz/corpus fuzz/artifacts fuzz/Cargo.lock
