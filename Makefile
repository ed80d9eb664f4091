# The first line of a target's comment is its help: `make help`.
PYTHON ?= python3
BIN := .venv/bin
RESOLVED := -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command 'make lock'
ONLY_OF_SAM_VALIDATE_LINT := cfn-lint mpmath networkx sympy

# What Python compiled is kept, also where a container's image says otherwise: the demo and the tests
# start it hundreds of times.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-long test-table check release fmt lock clean everything for-demo

help:  ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: for-demo  ## Send requests twice, interrupt some, and show that each was acted on once
	@$(BIN)/actonce demo

test: everything  ## Run the tests, but for the long ones
	@$(BIN)/pytest

test-long: everything  ## Run the long tests: many seeds, whole matrices
	@$(BIN)/pytest -m long

test-table: everything  ## Walk the whole conformance table, and compare its page (six minutes of a core)
	@$(BIN)/pytest -m table

check: everything  ## Run every static check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	SAM_CLI_TELEMETRY=0 $(BIN)/sam validate --lint --region us-east-1
	$(BIN)/cfn-lint --regions us-east-1 -- templates/alarms.yaml templates/records.yaml templates/audit.yaml examples/notifications/template.yaml examples/pipeline/roles.yaml examples/lease/template.yaml examples/gift_shop*/template.yaml 2>/dev/null  # misses what actonce init puts beside them
	$(BIN)/pytest -q -n 0 tests/templates/test_state_machine_definition.py tests/templates/test_templates.py

release: everything  ## Build the release into dist/, and try it in empty environments (docs/releasing.md)
	@git diff --quiet HEAD || { echo "make release: commit first; what is released is what is committed" >&2; exit 1; }
	rm -rf dist && $(BIN)/python -m hatchling build -d dist
	@version=$$(ls dist/*.whl | cut -d- -f2); \
	sed -n "/^## \[$$version\]/,/^## \[/{/^## /!p;}" CHANGELOG.md > dist/NOTES.md; \
	grep -q . dist/NOTES.md || { echo "make release: CHANGELOG.md has nothing under ## [$$version]" >&2; exit 1; }
	ACTONCE_DIST=$(CURDIR)/dist $(BIN)/pytest -q -m long tests/repository/test_wheel.py
	cd dist && sha256sum *.whl *.tar.gz > SHA256SUMS

fmt: everything  ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix-only .

lock:  ## Resolve the dependencies anew into the two lock files
	$(PYTHON) -m venv .venv-lock && .venv-lock/bin/pip install -q 'uv>=0.13,<0.14'
	.venv-lock/bin/uv pip compile $(RESOLVED) --upgrade --extra dev pyproject.toml -o requirements/dev.lock
	.venv-lock/bin/uv pip compile $(RESOLVED) --upgrade --extra demo -c requirements/dev.lock $(ONLY_OF_SAM_VALIDATE_LINT:%=--no-emit-package %) pyproject.toml -o requirements/demo.lock
	rm -rf .venv-lock

clean:  ## Stop the embedded AWS and remove everything that can be made again
	if [ -x $(BIN)/actonce ]; then $(BIN)/actonce down; fi
	rm -rf dist .venv .actonce .aws-sam .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

for-demo:
	@$(PYTHON) requirements/install.py demo

everything:  ## Install what tests, benchmarks and backfills need (the tests do it by themselves)
	@$(PYTHON) requirements/install.py everything
