# Every target does its own set-up: a bare clone with Python 3.11 or later and pip is enough.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: help setup demo test lint benchmark clean

help:
	@echo "make demo       compare four objectives on handwritten digits; writes demo/report.html"
	@echo "make test       the checks and the tests, as the continuous integration runs them"
	@echo "make benchmark  time and memory of the objectives against their peers"
	@echo "make clean      remove the environment and what the demo wrote"

setup: $(VENV)/ready

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

demo: setup
	$(BIN)/tammes compare simclr dcl hcl hcl-ot --data digits --report demo/report.html

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --doctest-modules src tests

benchmark: setup
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev,benchmarks]"
	$(BIN)/python benchmarks/cpu.py

clean:
	rm -rf $(VENV) demo
