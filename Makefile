# `make up` and `make test` need nothing but Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8000
HOST ?= 127.0.0.1
WORKERS ?= 2
ARGS ?=
JOBS ?= 2

.DEFAULT_GOAL := help
.PHONY: help up test chaos bench lint format messages clean

help: ## what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: $(VENV)/.runtime ## start everything with the demo (PORT=8000 HOST=127.0.0.1 WORKERS=2); Ctrl-C stops it
	@exec $(BIN)/python manage.py queueops up --demo --port $(PORT) --host $(HOST) --workers $(WORKERS) $(ARGS)

test: $(VENV)/.development ## run the whole suite (ARGS="tests/monitor -k snapshot"), JOBS=2 files at a time
	@$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)

chaos: $(VENV)/.development ## kill processes 1,000 times under load, and check that nothing is lost
	@CHAOS_KILLS=1000 $(BIN)/python -m pytest -m chaos -o timeout=0 $(ARGS)

bench: $(VENV)/.development ## measure the budgets, side by side with plain RQ
	@$(BIN)/python -m bench $(ARGS)

lint: $(VENV)/.development ## ruff, mypy and the floors
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(VENV)/.development ## format the code
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

messages: $(VENV)/.development ## collect and compile the translations
	@$(BIN)/python manage.py makemessages --locale ja --ignore $(VENV) --no-obsolete
	@$(BIN)/python manage.py compilemessages --locale ja --ignore $(VENV)

clean: ## remove the virtual environment and caches (not .queueops, which holds data)
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "queueops needs Python 3.11 or newer: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) \
		|| { rm -rf $(VENV); echo "no virtual environment: on Debian, apt-get install python3-venv" >&2; exit 1; }

# the stamps are newer than the lists, so that nothing is installed twice
$(VENV)/.runtime: requirements.txt | $(VENV)/bin/python
	@echo "installing requirements.txt into $(VENV)" >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/.development: requirements.txt requirements-dev.txt | $(VENV)/bin/python
	@echo "installing requirements-dev.txt into $(VENV)" >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $(VENV)/.runtime $@
