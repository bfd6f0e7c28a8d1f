# `make demo` sets up, runs a complete study and says where its report is; `make check` runs the quick
# checks, `make test` all of them.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
TESTED_WITH := cbor2 ipykernel nbclient pytest pytest-benchmark
QUICK := $(BIN)/python -m pytest --quiet -m "not slow and not validity" --hypothesis-profile=quick

.PHONY: demo check test test-lowest test-newest wheel-test release lint types contracts quick-harness quick-analyses docs format bench speed growth coverage replications conformance fuzz planted mutants kills large-log sizes clean

demo: $(VENV)/installed
	$(BIN)/harness run
	rm -rf study-demo-export
	$(BIN)/harness export study-demo --output study-demo-export

# Two at a time.
check: $(VENV)/installed
	@$(MAKE) --no-print-directory --jobs=2 lint types quick-harness quick-analyses contracts

test: lint types contracts
	$(BIN)/python -m pytest -m "not validity"

# All tests with the lowest versions that pyproject.toml allows.
test-lowest: .venv-lowest/installed
	.venv-lowest/bin/python -m pytest -m "not validity" --ignore=tests/import_contracts.py

# All tests with the newest versions that pyproject.toml allows, on the Python that PYTHON names. The
# environment is made anew. PyPI's torch brings 5 GB of CUDA: the README says how to choose its CPU build.
test-newest:
	$(PYTHON) -m venv --clear .venv-newest
	.venv-newest/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[recommenders,check,tune,online,cluster]' $(TESTED_WITH)
	.venv-newest/bin/python -m pytest -m "not validity" --ignore=tests/import_contracts.py

# The wheel, installed and used where nothing of this folder is found: two minutes.
wheel-test:
	rm -rf .venv-wheel
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python -m pip install --quiet --disable-pip-version-check build
	.venv-wheel/bin/python -m build --outdir .venv-wheel/dist
	.venv-wheel/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt "$$(ls $(CURDIR)/.venv-wheel/dist/*.whl)[recommenders]"
	mkdir .venv-wheel/empty
	cd .venv-wheel/empty && ../bin/harness --version && ../bin/harness run --output study

# Version and date in the changelog, a commit and an annotated tag; a dirty tree is refused.
release:
	@test -n "$(VERSION)" || { echo "Name the version: make release VERSION=0.29.0"; exit 2; }
	@$(PYTHON) -m tests.release "$(VERSION)"

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/installed
	$(BIN)/mypy

contracts: $(VENV)/installed
	$(BIN)/lint-imports

quick-harness: $(VENV)/installed
	$(QUICK) tests/harness tests/recommenders tests/test_readme.py harness recommenders

quick-analyses: $(VENV)/installed
	$(QUICK) tests/analyses tests/qrels tests/runs tests/fuzzing analyses qrels runs

docs: $(VENV)/documented
	$(BIN)/python -m sphinx -W --keep-going --fresh-env --quiet docs docs/build/html
	@echo "The documentation is at docs/build/html/index.html."

format: $(VENV)/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/installed
	$(BIN)/python -m pytest tests/benchmarks --benchmark-only -s

# The tables of the page on performance, made in an empty FOLDER, which gets 4 GB: an hour and a half of a
# machine that does nothing else. benchmarks.json keeps what pytest-benchmark measured.
speed: $(VENV)/installed
	$(BIN)/python -m tests.benchmarks.machine > docs/machine.txt
	$(BIN)/python -m tests.benchmarks.waits "$(FOLDER)/waits" > docs/waits.csv
	$(BIN)/python -m pytest tests/benchmarks --quiet --benchmark-only --benchmark-json="$(FOLDER)/benchmarks.json"
	$(BIN)/python -m tests.benchmarks.table "$(FOLDER)/benchmarks.json" > docs/benchmarks.csv
	$(BIN)/python -m tests.benchmarks.metric_speed > docs/metric-speed.csv

# What studies of 1 and 10 million ratings cost, in a FOLDER that is kept: half an hour, and 4 GB of memory.
growth: $(VENV)/installed
	@$(BIN)/python -m tests.benchmarks.growth "$(FOLDER)"

# How often tests err and intervals hold, in simulated populations: at most 40 minutes of a processor.
# With WHOLE=1 docs/coverage.csv is made, or what it lacks: hours.
coverage: $(VENV)/installed
	$(BIN)/python -m pytest --quiet -m validity tests
	$(BIN)/python -m tests.benchmarks.coverage $(if $(WHOLE),whole,part)

# The studies of papers, run in FOLDER, and the tables of the page on replications, beside the printed
# numbers in PRINT. Rows of studies that STUDIES does not name stay as they are.
STUDIES ?= recsys2018 kdd2020 aaai2023 thesis2021
replications: $(VENV)/installed
	for study in $(filter-out thesis2021,$(STUDIES)); do $(BIN)/harness run "studies/$$study.toml" --output "$(FOLDER)/study-$$study" || exit 1; done
	$(if $(filter thesis2021,$(STUDIES)),$(BIN)/python -m tests.benchmarks.thesis_worlds "$(FOLDER)")
	$(BIN)/python -m tests.benchmarks.replications "$(FOLDER)" "$(PRINT)"

fuzz: $(VENV)/installed
	$(BIN)/python -m tests.fuzzing --lines 1000000 --tables 5000 --seed 1

# A fault that no test sees is a finding, and the exit code 1.
planted: $(VENV)/installed
	$(BIN)/python -m tests.planted

# Faults drawn at random: SAMPLE of them by SEED, each against the tests that mirror its module.
mutants: $(VENV)/mutable
	$(BIN)/python -m tests.planted.mutants --sample "$(SAMPLE)" --seed "$(SEED)"

kills: $(VENV)/installed
	$(BIN)/python -m tests.harness.study.kills --kills 50 --seed 1

# FOLDER gets a simulated log of ROWS interactions: 1.1 GB and a minute for 100,000,000.
large-log: $(VENV)/installed
	$(BIN)/python -m tests.benchmarks.large_log "$(FOLDER)" "$(ROWS)"

# Nothing is downloaded: TREC_EVAL is the path of a trec_eval, 9 or 10, that you have built.
conformance: $(VENV)/installed
	@test -x "$(TREC_EVAL)" || { echo "Name a trec_eval that you have built: make conformance TREC_EVAL=path"; exit 2; }
	$(BIN)/python -m tests.fuzzing.conformance --trec-eval "$(TREC_EVAL)" --cases 1000 --seed 1

$(VENV)/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed; name one with: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[recommenders,check,tune,online,cluster,dev]'
	@touch $@

.venv-lowest/installed: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints-lowest.txt --editable '.[recommenders,check,tune,online]' $(TESTED_WITH)
	@touch $@

$(VENV)/documented: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	@touch $@

$(VENV)/mutable: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[mutants]'
	@touch $@

# Lines and lines of code of every package.
sizes:
	@$(PYTHON) -m tests.sizes

clean:
	rm -rf $(VENV) .venv-lowest .venv-newest .venv-wheel docs/build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
