# What the Makefile of every part begins with.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
# TARGET= is the bench's, by the environment. The Makefiles of gems have another TARGET, which the command line would set.
MAKEOVERRIDES := $(filter-out TARGET=%,$(MAKEOVERRIDES))

ROOT := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))..)
export ONEWRITE_REPORTS ?= $(ROOT)/build/reports

# A suite of tests begins with $(SUITE) and leaves $(REPORT), a JUnit file. It runs in random order: SEED=N repeats one.
# TEST=id runs one test, file or class alone.
ifndef SEED
SEED := $(strip $(shell od -An -N2 -tu2 /dev/urandom))
endif
export SEED
REPORT = $(ONEWRITE_REPORTS)/$(subst /,-,$(patsubst .%,%,$(patsubst $(ROOT)/%,%,$(CURDIR))))-$@.xml
SUITE := env
# Seconds for one test: pytest-timeout fails the test that takes longer, with the stack of each thread.
export PYTEST_TIMEOUT ?= 100
# Options of pytest: a failed test runs again, and the summary at the end names it. A recipe gives its choice of tests by
# `set --`; TEST replaces it.
PYTEST_REPORT = -o junit_family=xunit1 --junitxml="$(REPORT)"
PYTEST_SUITE = $(PYTEST_REPORT) --reruns 2 -rR --randomly-seed=$(SEED) "$${TEST:-$$@}"

.PHONY: help
help: ## what there is to run
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-18s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
