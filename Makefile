# `make demo` shows the product, `make test` checks it; both set up .venv on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test lint types imports tests soak docs bench bench-smoke lock clean
.DEFAULT_GOAL := test

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: hindsight needs Python 3.11 or newer; name one: make PYTHON=python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: requirements/demo.txt pyproject.toml | $(BIN)/python
	$(PIP) install --require-hashes -r requirements/demo.txt
	$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/dev.stamp: requirements/dev.txt pyproject.toml | $(BIN)/python
	$(PIP) install --require-hashes -r requirements/dev.txt
	$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@ $(VENV)/demo.stamp

demo: $(VENV)/demo.stamp          ## ingest sample sessions in a temporary home and recall from them
	$(BIN)/hindsight demo

test: lint types imports tests bench-smoke  ## everything that must pass

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev.stamp
	$(BIN)/mypy

imports: $(VENV)/dev.stamp
	$(BIN)/lint-imports

tests: $(VENV)/dev.stamp
	@# What fails is run once more by itself: daemons, signals and kills share two cores here, and
	@# a failure that stays is a failure.
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "not soak" || \
	  $(BIN)/python -m pytest -q --last-failed --last-failed-no-failures none -m "not soak"

soak: $(VENV)/dev.stamp           ## long fault and soak runs, not part of `make test`
	$(BIN)/python -m pytest -q -m soak

docs: $(VENV)/dev.stamp           ## regenerate man pages, completions and the README's command table
	$(BIN)/python -m hindsight_cli.reference --write

bench-smoke: $(VENV)/dev.stamp    ## fail when recall finds less than the kept figures say
	$(BIN)/python -m benchmarks.smoke

bench: $(VENV)/dev.stamp          ## the figures of benchmarks/README.md
	$(BIN)/python -m benchmarks.retrieval --data ../shared/bench
	$(BIN)/python -m benchmarks.latency

lock:                             ## resolve the dependencies anew (needs uv)
	uv pip compile pyproject.toml --extra models --extra rerank --group dev --universal \
	  --python-version 3.11 --generate-hashes --no-header -q -o requirements/dev.txt
	uv pip compile pyproject.toml --extra models --group build --universal \
	  --python-version 3.11 --generate-hashes --no-header -q -c requirements/dev.txt -o requirements/demo.txt

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
