# Everything a person does with a checkout. `make help` lists it; each line calls one program.

PYTHON ?= python3
# Once there is a game, it goes on with the Python it was made with, unless you name another.
PLAY_PYTHON = $(if $(filter undefined file,$(origin PYTHON)),$(or $(wildcard .venv/bin/python),$(PYTHON)),$(PYTHON))
PLAY = $(PLAY_PYTHON) -m server.play
SUITE = $(PYTHON) .ci/suite.py

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: a2a-tck help play stop restart status logs worker test test-all proof core check mutants format lint types floors cover docs bench browser endpoints wheel pins clean

help:  ## list what can be made
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

play:  ## install what is needed and open the game (TELNET_PORT=, WEB_PORT=, BIND=, DATABASE_URL=)
	@$(PLAY) play

stop:  ## stop the game and its local model
	@$(PLAY) stop

restart:  ## stop and start everything; accounts and world stay
	@$(PLAY) restart

status:  ## say what runs, since when, and where
	@$(PLAY) status

logs:  ## show the game's logs as they grow; Ctrl-C ends it
	@$(PLAY) logs

worker:  ## do embeddings and nights beside the game, where workers are set (docs/scale.md)
	@$(PLAY) worker

test:  ## check and test everything on one Python (PYTHON=python3.12)
	@$(SUITE) all

test-all:  ## on every supported Python of this machine, with servers once for each Evennia
	@$(SUITE) everywhere

proof:  ## everything on every Python, and thoroughly once: for a night
	@$(SUITE) proof

core:  ## test the lowest four rooms only, in a quarter of a minute
	@$(SUITE) core

check:  ## everything but the tests: lint, types, floors, tables
	@$(SUITE) lint types floors tables

mutants:  ## take each guard of safety out once; a test has to miss it
	@$(SUITE) mutants

format:  ## rewrite the code in the house style
	@$(SUITE) format

lint:  ## look for mistakes of style and for likely bugs
	@$(SUITE) lint

types:  ## check the types
	@$(SUITE) types

floors:  ## check that every import goes to a lower floor
	@$(SUITE) floors

cover:  ## check that every branch of the lowest four rooms is tested
	@$(SUITE) cover

docs:  ## renew the tables that are made from the code
	@$(SUITE) docs

bench:  ## measure, and compare with others
	@$(SUITE) bench

endpoints:  ## get what tests/endpoints asks of others: endpoints of models, a reader of cards
	@bash .ci/endpoints.sh

a2a-tck:  ## run the compatibility kit of A2A against a game (A2A_TCK=its folder)
	@A2A_TCK=$(A2A_TCK) A2A_TCK_PYTHON=$(A2A_TCK_PYTHON) $(PYTHON) -m tests.a2a_kit

browser:  ## get what the browser tests need: Chromium and the webclient's libraries
	@bash .ci/browser.sh

wheel:  ## build what pip installs in a game, into dist/
	@$(SUITE) wheel

pins:  ## work requirements.txt out anew, on every supported Python
	@$(PYTHON) .ci/pins.py

clean:  ## remove what tests and tools leave behind; the game and its database stay
	rm -rf .venvs build dist .coverage htmlcov *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
