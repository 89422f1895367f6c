# make test   everything that must hold before a commit: style, types, tests, coverage
# make demo   a whole night in a minute, without the real CLI
# make clean  away with all that these made
#
# Both set themselves up: python3 (3.11 or newer) with its venv module, make and git are enough.

PYTHON ?= python3
JOBS ?= auto
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-input
SOURCES := pyproject.toml $(shell find harness rules nightly systemd -type f -not -name '*.pyc')

export PIP_ROOT_USER_ACTION := ignore

.PHONY: help test check demo fix clean
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

help:
	@sed -n "s/^# make /make /p" Makefile

test: $(VENV)/.ready-for-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict
	rm -f .coverage .coverage.*
	$(BIN)/coverage run -m pytest -q -n $(JOBS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --fail-under=95

# The quick half of `test`: no coverage, and it stops at the first failure.
check: $(VENV)/.ready-for-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict
	$(BIN)/python -m pytest -q -x -n $(JOBS)

demo: $(VENV)/.ready
	$(BIN)/harness demo

fix: $(VENV)/.ready-for-tests
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "error: python3 is missing or older than 3.11: $$($(PYTHON) --version 2>&1)" >&2; \
	  echo "hint: install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3.11" >&2; \
	  exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "error: the virtual environment $(VENV) cannot be made" >&2; \
	  echo "hint: Debian and Ubuntu keep the venv module in the package python3-venv" >&2; \
	  rm -rf $(VENV); exit 1; }

# An editable install serves the demo as well; a plain one would hide later changes from the tests.
$(VENV)/.ready-for-tests: $(BIN)/python pyproject.toml
	@echo "setting up $(VENV) …" >&2
	@$(INSTALL) --editable '.[test]'
	@touch $@

$(VENV)/.ready: $(BIN)/python $(SOURCES)
	@echo "setting up $(VENV) …" >&2
	@test -e $(VENV)/.ready-for-tests || $(INSTALL) .
	@touch $@
