# Two commands for a new user: `make demo` and `make test`. Each sets up everything it needs.
SHELL := /bin/sh
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
MINIMUM_JAVA := 17
# Each worker is a process with a Spark of its own; classes and modules stay whole.
PARALLEL := -n auto --maxprocesses 4 --dist loadscope

# Every other method runs the tests marked `portable`, on a server of its own.
METHODS := connect thrift

.PHONY: demo test test-unit test-functional test-conformance test-faults test-methods test-all lint bench check-machine clean

demo: $(READY)
	@"$(BIN)/python" sample_project/scripts/generate_events.py
	@cd sample_project && "../$(BIN)/dbt" build --no-version-check
	@"$(BIN)/python" sample_project/scripts/generate_events.py --late
	@echo "--- late files have landed: the second run merges them ---"
	@cd sample_project && "../$(BIN)/dbt" run --no-version-check
	@echo "--- the month is complete: its parquet folder becomes a Delta table, from the footers ---"
	@cd sample_project && "../$(BIN)/dbt" run-operation convert_to_delta --args '{source: raw.ride_events}' --no-version-check

test: $(READY) lint
	@"$(BIN)/python" -m pytest tests $(PARALLEL)
	@$(MAKE) --no-print-directory test-methods

test-methods: $(READY)
	@"$(BIN)/python" scripts/run_on_methods.py $(METHODS)

test-unit: $(READY)
	@"$(BIN)/python" -m pytest tests/unit

test-functional: $(READY)
	@"$(BIN)/python" -m pytest tests/functional $(PARALLEL)

test-conformance: $(READY)
	@"$(BIN)/python" -m pytest tests/conformance $(PARALLEL)

test-faults: $(READY)
	@"$(BIN)/python" -m pytest tests/faults

test-all: $(READY) lint
	@DELTA_MAINT_TEST_ALL=1 "$(BIN)/python" -m pytest tests $(PARALLEL)
	@DELTA_MAINT_TEST_ALL=1 $(MAKE) --no-print-directory test-methods
	@DELTA_MAINT_TEST_ANSI=1 "$(BIN)/python" -m pytest tests/conformance tests/functional $(PARALLEL)

lint: $(READY)
	@"$(BIN)/ruff" check . && "$(BIN)/ruff" format --check .
	@"$(BIN)/mypy" dbt/adapters/delta_maint

bench: $(READY)
	@for file in benchmarks/bench_*.py; do "$(BIN)/python" "$$file" || exit 1; done

# The environment is made beside its final name's mark: a set-up that stops half-way is made anew.
$(READY): pyproject.toml constraints.txt | check-machine
	@echo "Setting up $(VENV) (once)"
	@rm -rf "$(VENV)"
	@"$(PYTHON)" -m venv "$(VENV)" || { rm -rf "$(VENV)"; exit 1; }
	@"$(BIN)/python" -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]' || { rm -rf "$(VENV)"; exit 1; }
	@touch $(READY)

check-machine:
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || { echo "Python 3.10 or newer is needed: install it, or name one with PYTHON=/path/to/python3." >&2; exit 1; }
	@"$(PYTHON)" scripts/check_java.py $(MINIMUM_JAVA)

clean:
	@rm -rf "$(VENV)" sample_project/.delta_maint sample_project/target sample_project/logs sample_project/data
