# All targets of a checkout; `make help` lists them. Each target calls one program.

PYTHON ?= python3
# An existing game keeps the Python it was made with, unless you name another.
PLAY_PYTHON = $(if $(filter undefined file,$(origin PYTHON)),$(or $(wildcard .venv/bin/python),$(PYTHON)),$(PYTHON))
PLAY = $(PLAY_PYTHON) -m server.play
SUITE = $(PYTHON) .ci/suite.py

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: a2a-tck help play stop restart status logs worker test test-all proof core check mutants format lint types floors cover docs bench browser endpoints wheel pins clean

help:  ## list all targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

play:  ## install everything and start the game (TELNET_PORT=, WEB_PORT=, BIND=, DATABASE_URL=)
	@$(PLAY) play

stop:  ## stop the game and its local model
	@$(PLAY) stop

restart:  ## stop and start everything; accounts and world stay
	@$(PLAY) restart

status:  ## show what runs, since when, and where
	@$(PLAY) status

logs:  ## follow the game's logs; Ctrl-C ends it
	@$(PLAY) logs

worker:  ## run a worker for embeddings and nights, if workers are set (docs/scale.md)
	@$(PLAY) worker

test:  ## check and test everything on one Python (PYTHON=python3.12)
	@$(SUITE) all

test-all:  ## the same on every supported Python, servers once for each Evennia
	@$(SUITE) everywhere

proof:  ## everything on every Python, and thoroughly once: runs for hours
	@$(SUITE) proof

core:  ## test the lowest four rooms only, in a quarter of a minute
	@$(SUITE) core

check:  ## lint, types, floors, tables: everything but the tests
	@$(SUITE) lint types floors tables

mutants:  ## remove each guard of safety once; a test has to fail
	@$(SUITE) mutants

format:  ## format the code in the house style
	@$(SUITE) format

lint:  ## check style and likely bugs
	@$(SUITE) lint

types:  ## check the types
	@$(SUITE) types

floors:  ## check that every import goes to a lower floor
	@$(SUITE) floors

cover:  ## check that every branch of the lowest four rooms is tested
	@$(SUITE) cover

docs:  ## renew the tables in the docs that are generated from the code
	@$(SUITE) docs

bench:  ## run the benchmarks
	@$(SUITE) bench

endpoints:  ## install what tests/endpoints needs: model endpoints, a reader of cards
	@bash .ci/endpoints.sh

a2a-tck:  ## run the compatibility kit of A2A against a game (A2A_TCK=its folder)
	@A2A_TCK=$(A2A_TCK) A2A_TCK_PYTHON=$(A2A_TCK_PYTHON) $(PYTHON) -m tests.a2a_kit

browser:  ## install what the browser tests need: Chromium and the webclient's libraries
	@bash .ci/browser.sh

wheel:  ## build the wheel into dist/
	@$(SUITE) wheel

pins:  ## renew requirements.txt, on every supported Python
	@$(PYTHON) .ci/pins.py

clean:  ## remove files of tests and tools; the game and its database stay
	rm -rf .venvs build dist .coverage htmlcov *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
