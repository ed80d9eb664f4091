# The first line of a target's comment is its help: `make help`.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test check fmt lock clean

help:  ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

demo: $(READY)  ## Send requests twice, interrupt some, and show that each was acted on once
	$(BIN)/actonce demo

test: $(READY)  ## Run every test
	$(BIN)/pytest

check: $(READY)  ## Run every static check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	SAM_CLI_TELEMETRY=0 $(BIN)/sam validate --lint --region us-east-1
	$(BIN)/pytest -q tests/test_state_machine_definition.py tests/test_template.py

fmt: $(READY)  ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix-only .

lock:  ## Resolve the dependencies anew into requirements.lock
	$(PYTHON) -m venv .venv-lock && .venv-lock/bin/pip install -q 'uv>=0.9'
	.venv-lock/bin/uv pip compile -q --universal --python-version 3.11 --upgrade --generate-hashes \
	  --no-emit-index-url --extra dev --custom-compile-command 'make lock' pyproject.toml -o requirements.lock
	rm -rf .venv-lock

clean:  ## Stop the embedded AWS and remove everything that can be made again
	if [ -x $(BIN)/actonce ]; then $(BIN)/actonce down; fi
	rm -rf .venv .actonce .aws-sam .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
