# Every target does its own set-up: a bare clone with Python 3.11 or later and pip is enough.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest --numprocesses 2 --dist worksteal
EQUAL_BITS := equal_bits and not slow and not processes
# The kernels that a processor without AVX-512 runs.
OLDER := ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2

# Trainings of the demo at a time, one for each processor.
JOBS ?= $(shell getconf _NPROCESSORS_ONLN)

# Bytes of the largest wheel that is built.
LARGEST := 2000000

# What every part leans on, with the versions of other packages that `lowest` and `newest` install.
CORE := tests/test_*.py tests/reduce tests/coupling tests/contrast tests/data tests/encoders tests/training

# What runs in the libraries of the extras `hosts` and `onnx`.
HOSTED := tests/integrations tests/encoders/test_encoders_transformers.py tests/training/test_training_transformers.py \
	tests/cli/test_cli_export.py tests/cli/test_cli_transformers.py

.PHONY: help setup demo docs test test-hosts lint attack lowest lowest-hosts newest sbom recipe package benchmark clean

help:
	@echo "make demo       compare objectives on ten digits and on 400 glyphs; writes demo/report.html and demo/glyphs.html"
	@echo "make docs       build the site into docs/_build/html, and run its examples"
	@echo "make test       the checks and the tests, as the continuous integration runs them"
	@echo "make test-hosts the losses for lightly and open_clip, within them, in a separate environment"
	@echo "make attack     an hour of random objectives, kills and damaged files"
	@echo "make lowest     the tests of the core with the oldest versions of other packages that are allowed"
	@echo "make lowest-hosts  likewise the tests of the extras hosts and onnx"
	@echo "make newest     likewise with the newest; PYTHON=python3.13 chooses a Python for both"
	@echo "make sbom       write the software bill of materials of constraints.txt to sbom.json"
	@echo "make recipe     render the recipe of conda-forge with the tool that builds it"
	@echo "make package    build the wheel and the sdist, check both, and try the wheel where nothing else is"
	@echo "make benchmark  time and memory of the objectives against their peers"
	@echo "make clean      remove the environment and what the demo wrote"

setup: $(VENV)/ready

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

demo: setup
	$(BIN)/tammes compare simclr dcl hcl hcl-ot --data digits --seeds 3 --epochs 20 --jobs $(JOBS) \
		--report demo/report.html schedule:constant encoder:convnet --encoder.width 16
	$(BIN)/tammes compare simclr hcl --data glyphs --class-prior 0.0025 --seeds 3 --epochs 10 --batch-size 128 \
		--jobs $(JOBS) --learning-rate 0.0005 --report demo/glyphs.html schedule:constant \
		encoder:convnet --encoder.width 16

# Strict: a warning, a link that leads nowhere or an example that fails ends it.
docs: $(VENV)-docs/ready
	rm -rf docs/_build docs/gallery
	OMP_NUM_THREADS=1 $(VENV)-docs/bin/python -m sphinx --builder html --fail-on-warning --keep-going --quiet docs docs/_build/html

$(VENV)-docs/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)-docs
	$(VENV)-docs/bin/python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	touch $@

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	OMP_NUM_THREADS=1 $(PYTEST) --cov --cov-report=term:skip-covered --doctest-modules src tests
	# What promises equal bits keeps the promise with other kernels and more threads.
	OMP_NUM_THREADS=1 $(OLDER) $(PYTEST) -m "$(EQUAL_BITS)" $$(grep -rl --include "test_*.py" equal_bits tests)
	OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive $(OLDER) $(PYTEST) -m "$(EQUAL_BITS)" $$(grep -rl --include "test_*.py" equal_bits tests)

# About an hour on two cores: other numbers of cases, and a seed, by the same variables.
attack: export TAMMES_ATTACK_OBJECTIVES ?= 24000
attack: export TAMMES_ATTACK_KILLS ?= 220
attack: export TAMMES_ATTACK_FILES ?= 24000
attack: export TAMMES_ATTACK_FIGURES ?= $(CURDIR)/attack.jsonl
attack: setup
	rm -f $(TAMMES_ATTACK_FIGURES)
	OMP_NUM_THREADS=1 timeout 90m $(PYTEST) --timeout 5400 tests/attack
	cat $(TAMMES_ATTACK_FIGURES)

# Warnings of other packages are errors with the versions of constraints.txt alone.
lowest:
	$(PYTHON) -m venv $(VENV)-lowest
	$(PYTHON) .ci/lowest.py > $(VENV)-lowest/constraints.txt
	$(VENV)-lowest/bin/python -m pip install --quiet --constraint $(VENV)-lowest/constraints.txt --editable ".[test]"
	OMP_NUM_THREADS=1 $(VENV)-lowest/bin/python -m pytest --numprocesses 2 -W default $(CORE)

# Apart from `lowest`: transformers takes none of the oldest tokenizers that the extra `text` allows.
lowest-hosts:
	$(PYTHON) -m venv $(VENV)-lowest-hosts
	$(PYTHON) .ci/lowest.py hosts onnx images > $(VENV)-lowest-hosts/constraints.txt
	$(VENV)-lowest-hosts/bin/python -m pip install --quiet --constraint $(VENV)-lowest-hosts/constraints.txt \
		--editable ".[test,hosts,onnx]"
	OMP_NUM_THREADS=1 $(VENV)-lowest-hosts/bin/python -m pytest --numprocesses 2 -W default $(HOSTED)

newest:
	$(PYTHON) -m venv $(VENV)-newest
	$(VENV)-newest/bin/python -m pip install --quiet --upgrade --editable ".[test]"
	OMP_NUM_THREADS=1 $(VENV)-newest/bin/python -m pytest --numprocesses 2 -W default $(CORE)

# Libraries that need torchvision, which cannot be imported beside the torch of constraints.txt.
test-hosts:
	$(PYTHON) -m venv $(VENV)-hosts
	$(VENV)-hosts/bin/python -m pip install --quiet --editable . beartype hypothesis lightly open_clip_torch pytest pytest-timeout
	OMP_NUM_THREADS=1 $(VENV)-hosts/bin/python -m pytest --override-ini addopts= -W default tests/hosts

sbom:
	$(PYTHON) -m venv $(VENV)-sbom
	$(VENV)-sbom/bin/python -m pip install --quiet --constraint constraints.txt cyclonedx-bom==7.5.0
	$(VENV)-sbom/bin/cyclonedx-py requirements constraints.txt --pyproject pyproject.toml \
		--output-format JSON --output-reproducible --output-file sbom.json

recipe:
	$(PYTHON) -m venv $(VENV)-recipe
	$(VENV)-recipe/bin/python -m pip install --quiet --constraint constraints.txt py-rattler-build==0.73.0
	$(VENV)-recipe/bin/python .ci/recipe.py conda/recipe.yaml

# Ends with the wheel in an environment of its own, tried from an empty folder.
package:
	rm -rf dist $(VENV)-package $(VENV)-installed
	$(PYTHON) -m venv $(VENV)-package
	$(VENV)-package/bin/python -m pip install --quiet --constraint constraints.txt build==1.6.1 twine==7.0.0
	PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(VENV)-package/bin/python -m build --outdir dist
	$(VENV)-package/bin/twine check --strict dist/*
	.ci/size.sh $(LARGEST) dist/*.whl
	$(PYTHON) -m venv $(VENV)-installed
	$(VENV)-installed/bin/python -m pip install --quiet --constraint constraints.txt dist/*.whl
	.ci/installed.sh $(VENV)-installed/bin/python
	ls -l dist

benchmark: setup
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev,benchmarks]"
	$(BIN)/python benchmarks/cpu.py

clean:
	rm -rf $(VENV) $(VENV)-docs $(VENV)-hosts $(VENV)-lowest $(VENV)-lowest-hosts $(VENV)-newest $(VENV)-sbom \
		$(VENV)-recipe $(VENV)-package $(VENV)-installed dist demo docs/_build docs/gallery docs/measured
