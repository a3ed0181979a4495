# Everything there is to run. `make` alone lists it.
#
# Each target sets up its own environment first: .venv, from the hash-locked requirements.lock. It is made anew
# only when requirements.lock or pyproject.toml change. The lock is complete, so pip resolves nothing (--no-deps): else
# it prefers a newer release to the one pinned where a package is asked for with an extra, and stops for want of a hash.

.DEFAULT_GOAL := help
.PHONY: help setup demo test quick soak bench simulated corpus lint types format lock clean distclean
.DELETE_ON_ERROR:

PYTHON ?= python3
UV     ?= uv
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
PEERS  := $(VENV)/.peers
SAMPLE := data_samples/seed_night

# A file's tests share what they set up, so a file stays with one process; more processes than this want more memory
# than many machines have.
SPREAD := --numprocesses auto --maxprocesses 4 --dist loadfile

COMPILED := --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header

# Nothing that runs here phones home, and Prefect keeps its database inside the checkout.
export DO_NOT_TRACK := 1
export PREFECT_SERVER_ANALYTICS_ENABLED := false
export PREFECT_HOME ?= $(CURDIR)/.prefect

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1	\2/p' Makefile | expand -t 19

setup: $(READY) ## the environment in .venv, and nothing else

demo: $(READY) ## a postmortem of the sample incident, into demo/
	@$(BIN)/tracemortem postmortem $(SAMPLE) --out demo
	@printf '\nOpen it in a browser: %s\n' '$(CURDIR)/demo/report.html'

test: lint types ## lint, types, and every test but the soak ones
	$(BIN)/python -m pytest $(SPREAD) -m 'not soak'

quick: lint types ## lint, types and the fast tests, in under two minutes
	$(BIN)/python -m pytest $(SPREAD) -m 'not slow and not soak'

soak: lint types ## every test, with the full figures
	$(BIN)/python -m pytest $(SPREAD)

bench: $(READY) $(PEERS) ## wall time, CPU time and memory of what is slow, beside other tools
	$(BIN)/python tests/bench/every.py $(SAMPLE) $(wildcard ../shared/incidents/seed_incident)

corpus: $(READY) ## what becomes of every real file in ../shared/corpus, into docs/corpus.md
	$(BIN)/python tests/corpus/judged.py ../shared/corpus docs/corpus.md

simulated: $(READY) ## simulated incidents of every kind, ten seeds each, diagnosed and scored: an hour
	PYTHONPATH=tests $(BIN)/python -m simulated.run --processes 2

lint: $(READY) ## ruff and sqlfluff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/sqlfluff lint --processes 0 sql

types: $(READY) ## mypy, strict
	$(BIN)/mypy

format: $(READY) ## what ruff and sqlfluff can mend by themselves
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/sqlfluff fix sql

lock: ## both locks anew, from pyproject.toml (needs uv)
	$(UV) pip compile pyproject.toml --group dev $(COMPILED) -o requirements.lock
	$(UV) pip compile --group bench -c requirements.lock $(COMPILED) -o requirements-bench.lock

clean: ## what runs leave behind
	rm -rf demo out dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .prefect

distclean: clean ## and the environment
	rm -rf $(VENV)

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "tracemortem needs Python 3.11 or newer, and '$(PYTHON)' is not that: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo 'Setting up $(VENV): a few minutes the first time'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

# What `make bench` compares with, beside the rest: the product never imports it.
$(PEERS): $(READY) requirements-bench.lock
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements-bench.lock
	@touch $@
