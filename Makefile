# onewrite: one HTTP request, one write. `make help` lists what there is.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

ADAPTERS := python ruby node java
PARTS := spec $(ADAPTERS) bench cli
# Of the demo: LANGUAGES=python,node for some.
LANGUAGES ?= python,ruby,node,java
export ONEWRITE_REPORTS ?= $(CURDIR)/build/reports

.PHONY: help setup demo test check nightly lint judge compliance bench bench-gate docs-site package version version-check clean lint-root $(PARTS:%=setup-%) $(PARTS:%=lint-%)

help: ## what there is to run
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  make -C PART …      the same inside one part: $(PARTS)"

setup: ## install what is missing (Debian packages, virtual environments, npm, Maven); quick when nothing is
	@.ci/test setup

$(PARTS:%=setup-%): setup-%:
	@$(MAKE) --no-print-directory -C $* setup

demo: ## see the stall behind a real HAProxy, and its end, in four languages (LANGUAGES=python,node for some)
	@.ci/test setup-demo $(LANGUAGES)
	@$(MAKE) --no-print-directory -C bench demo LANGUAGES=$(LANGUAGES)

test: ## everything: lint, tests of all languages, the judge, the demo's gate; one summary at the end
	@.ci/test

check: ## a quick look, under two minutes: unit tests of the adapters, 100 of the judge's cases, lint of what changed
	@.ci/test check

nightly: ## make test with STRICT=1 and WHOLE=1, other versions and suites of others in full, the site, and each file of tests alone
	@.ci/test nightly

lint: setup lint-root $(PARTS:%=lint-%) ## formatters and linters of all parts; warnings are errors
	@$(MAKE) --no-print-directory -C docs lint

lint-root: version-check ## lint of what belongs to no part: scripts, workflows, versions
	@.ci/lint

$(PARTS:%=lint-%): lint-%: setup-%
	@$(MAKE) --no-print-directory -C $* lint

judge: setup ## every case of spec/ against every adapter, in every combination
	@$(MAKE) --no-print-directory -C spec judge

compliance: setup ## regenerate spec/COMPLIANCE.md
	@$(MAKE) --no-print-directory -C spec compliance

bench: setup ## run the bench scenarios (SCENARIO=name for one)
	@$(MAKE) --no-print-directory -C bench bench

bench-gate: setup ## the bench's verdict for CI (bench/bench-gate has its exit status: 0 clean, 1 stall, 2 inconclusive)
	@$(MAKE) --no-print-directory -C bench bench-gate

docs-site: ## build the documentation site into build/site, with the API reference of each language
	@$(MAKE) --no-print-directory -C docs site

package: ## build the packages and the command line tool, install each from the built file, send one POST in one segment
	@.ci/package

version: ## write VERSION into the packages
	@.ci/version-check --write

version-check: ## the packages carry the version in VERSION
	@.ci/version-check

clean: ## remove what builds and tests left behind (set-ups stay)
	@for part in $(PARTS); do $(MAKE) --no-print-directory -C $$part clean; done
	@rm -rf build
