# What the Makefile of every part begins with.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

ROOT := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))..)
export ONEWRITE_REPORTS ?= $(ROOT)/build/reports

# A suite of tests begins with $(SUITE) and leaves $(REPORT). It runs in random order: SEED=N repeats one.
# TEST=id runs one test, file or class alone; the id is the one in the report.
ifndef SEED
SEED := $(strip $(shell od -An -N2 -tu2 /dev/urandom))
endif
export SEED
REPORT = $(ONEWRITE_REPORTS)/$(subst /,-,$(patsubst .%,%,$(patsubst $(ROOT)/%,%,$(CURDIR))))-$@.xml
SUITE = $(ROOT)/.ci/suite $(CURDIR) $@ "$(REPORT)"
# Options of pytest. A recipe gives its own choice of tests by `set --`; TEST replaces it.
PYTEST_REPORT = -o junit_family=xunit1 --junitxml="$(REPORT)"
PYTEST_SUITE = $(PYTEST_REPORT) --randomly-seed=$(SEED) "$${TEST:-$$@}"

.PHONY: help
help: ## what there is to run
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-18s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
