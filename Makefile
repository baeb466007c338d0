# SPDX-License-Identifier: GPL-2.0-only
# make demo    installs what is missing, builds, and compares three schedulers on two workloads
# make test    installs what is missing and runs everything CI runs
# make bench   runs the benchmarks
# make clean   removes what the others made

CARGO ?= cargo
export SCHEDLAB_REQUIRE_BROWSER ?= 1

.PHONY: demo test check perfetto release bench golden clean

demo:
	scripts/setup.sh demo
	$(CARGO) build --release --package schedlab
	scripts/demo.sh

# The suite comes last: the last lines say how it went.
test: check perfetto release
	$(CARGO) test --workspace

check:
	scripts/setup.sh test
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

# Perfetto's own Python bindings decode what we write.
perfetto: check
	tests/perfetto/run.sh

# Release builds print the trace hashes debug builds do; "test" has the other half.
release: check
	$(CARGO) test --release --package schedlab --test determinism

bench:
	scripts/setup.sh demo
	$(CARGO) bench --package schedlab-bench

# Trace hashes change when a scheduler, the engine or a machine does, and only then.
golden:
	SCHEDLAB_UPDATE_GOLDEN=1 $(CARGO) test --package schedlab --test determinism

clean:
	$(CARGO) clean
	rm -rf out
