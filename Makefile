# Nothing is needed but make and Python 3.11 or later: every target first sets up .venv where it is absent or out of date.
# PYTHON is read when .venv is made, EFFORT by verify, JOBS by the test targets.

PYTHON ?= python3
EFFORT ?= default
JOBS ?= 2

BIN := .venv/bin
READY := .venv/.ready
SITE_READY := .venv/.ready-site
BENCHMARKS := $(patsubst benchmarks/%.py,%,$(filter-out benchmarks/_%,$(wildcard benchmarks/*.py)))
CHECK_ENV := build/check-env

# One thread per process: steady times, and the same results on any number of workers.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1
# A virtual environment that happens to be active must not leak into this one.
unexport PYTHONHOME PYTHONPATH

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup verify proofs proofs-check test test-slow test-all lint types format docs site bench smoke wheel wheel-check ci clean

help:  ## Say what the targets do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "  PYTHON=python3.12 chooses the interpreter for a new .venv; EFFORT=quick|default|thorough; JOBS=test workers"

setup: $(READY)  ## Make .venv, or bring it up to date

# The stamp is written last, so that a set-up that was broken off is taken up again. The build backend comes first and builds
# without isolation: then constraints.txt pins it too. The version file is a prerequisite because an editable install records it.
$(READY): pyproject.toml constraints.txt collapse_theory/_version.py
	@test -x $(BIN)/pip || "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "PYTHON=$(PYTHON) is not Python 3.11 or later; name one that is: make PYTHON=/path/to/python3" >&2; exit 1; }
	test -x $(BIN)/pip || "$(PYTHON)" -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt hatchling
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		--no-build-isolation --editable '.[data,sweep,dev]'
	@touch $(READY)

verify: $(READY)  ## Examine every claim; write results/ledger.json and the page beside it
	$(BIN)/collapse-theory verify --effort $(EFFORT)

proofs: $(READY)  ## Build the Rocq proofs (needs coqc) and say what they prove
	$(BIN)/python -m proofs.rocq

proofs-check: $(READY)  ## Check the compiled proofs again with coqchk, and all numbers; takes minutes
	$(BIN)/python -m proofs.rocq --check --compare 20

test: $(READY)  ## Run the fast tests
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup

test-slow: $(READY)  ## Run the slow tests
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -m slow

test-all: $(READY)  ## Run all tests
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -m ""

lint: $(READY)  ## Check style, format and generated text
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	@if test -f docs/generate.py; then set -x; $(BIN)/python -m docs.generate --check; fi

types: $(READY)  ## Check types
	$(BIN)/basedpyright

format: $(READY)  ## Format the code and mend what ruff can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(READY)  ## Write the generated text anew
	$(BIN)/python -m docs.generate

# The site's own packages are installed when it is first built: nothing else needs them.
$(SITE_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		--no-build-isolation --editable '.[docs]'
	@touch $(SITE_READY)

site: $(SITE_READY)  ## Build the documentation site into build/site; warnings are errors
	$(BIN)/python -m docs.site

bench: $(READY)  ## Run the side-by-side measurements
	@set -e; for name in $(BENCHMARKS); do (set -x; $(BIN)/python -m benchmarks.$$name); done

wheel: $(READY)  ## Build the source archive and the wheel into dist/
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist

smoke: $(READY)  ## Collapse of unseen symbols in a transformer, and its repair, in about a minute
	$(BIN)/python -m simulations.transformers smoke --out results/smoke --workers 2

# Minutes and gigabytes, so not in CI, where a slow test does the same with borrowed dependencies. The commands run in the new
# environment's folder, where the checkout cannot be imported by accident.
wheel-check: wheel  ## Install the wheel with its dependencies into an empty environment; run it there
	rm -rf $(CHECK_ENV)
	"$(PYTHON)" -m venv $(CHECK_ENV)
	$(CHECK_ENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt dist/*.whl
	cd $(CHECK_ENV) && bin/python -m pip check && bin/collapse-theory --help >/dev/null && \
		bin/collapse-theory verify --effort quick --out results
	rm -rf $(CHECK_ENV)

ci:  ## Do what continuous integration does
	.ci/run

clean:  ## Remove .venv, builds and caches; results/ stays
	rm -rf .venv build dist .hypothesis .pytest_cache .ruff_cache
