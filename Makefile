# onewrite: one HTTP request, one write. `make help` lists what there is.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEOVERRIDES := $(filter-out TARGET=%,$(MAKEOVERRIDES)) # as in .ci/part.mk

ADAPTERS := python ruby node java
PARTS := spec $(ADAPTERS) bench cli docs
# Of the demo: LANGUAGES=python,node for some.
LANGUAGES ?= python,ruby,node,java
# Steps at a time: more than cores, for most of them wait most of their time.
JOBS ?= 3
# The longest first.
TESTED := spec python cli node java bench ruby docs
# Alone, for they compare times.
ALONE := test-judge test-timed-bench test-timed-cli test-gate
STEPS = $(MAKE) --no-print-directory -s -k --output-sync=target

.PHONY: help setup demo test check nightly lint judge compliance bench bench-gate docs-site package version version-check \
  clean python3 lint-root check-judge driver-bench $(ADAPTERS:%=driver-%) $(ALONE) \
  $(foreach to,setup test check lint nightly,$(PARTS:%=$(to)-%))

help: ## what there is to run
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  make -C PART …      the same inside one part: $(PARTS)"

python3:
	@command -v python3 >/dev/null || { echo "onewrite needs python3: sudo apt-get install -y python3 python3-venv" >&2; exit 1; }

setup: python3 ## install what is missing (Debian packages, virtual environments, npm, Maven); quick when nothing is
	@$(STEPS) -j$(JOBS) setup-java setup-python setup-ruby $(PARTS:%=setup-%)

$(PARTS:%=setup-%): setup-%:
	@.ci/step $@ $(MAKE) --no-print-directory -s -C $* setup
# These use the virtual environment of spec/, and docs/ what Java built.
setup-bench setup-docs: | setup-spec
setup-docs: | setup-java setup-node setup-bench

demo: python3 ## see the stall behind a real HAProxy, and its end, in four languages (LANGUAGES=python,node for some)
	@found=$$(.ci/demo-packages $(LANGUAGES)); { read -r languages; read -r node; } <<<"$$found"; export NODE=$$node ONEWRITE_NODE=$$node; \
	  $(STEPS) -j$(JOBS) $$(printf 'driver-%s ' $${languages//,/ }) driver-bench; \
	  $(MAKE) --no-print-directory -C bench demo LANGUAGES=$$languages

driver-bench:
	@.ci/step $@ $(MAKE) --no-print-directory -s -C bench harness-ready
$(ADAPTERS:%=driver-%): driver-%:
	@.ci/step $@ $(MAKE) --no-print-directory -s -C $* driver

test: setup ## the tests of all parts, the judge, the demo's gate; one summary at the end
	@rm -rf build/reports build/steps
	@export SEED=$${SEED:-$$((RANDOM))}; echo "random order: SEED=$$SEED"; \
	  $(STEPS) -j$(JOBS) $(TESTED:%=test-%) || true; \
	  $(STEPS) -j1 $(ALONE) || true; \
	  .ci/summary $(TESTED:%=test-%) $(ALONE)

# Tests that compare times run when nothing else does.
test-bench test-cli: test-%:
	@.ci/step $@ $(MAKE) --no-print-directory -s -C $* test-counted
test-timed-bench test-timed-cli: test-timed-%:
	@.ci/step $@ $(MAKE) --no-print-directory -s -C $* test-timed
test-judge:
	@.ci/step $@ $(MAKE) --no-print-directory -s -C spec judge-brief
test-gate:
	@.ci/step $@ $(MAKE) --no-print-directory -s -C bench gate
$(filter-out test-bench test-cli,$(TESTED:%=test-%)): test-%:
	@.ci/step $@ $(MAKE) --no-print-directory -s -C $* test

CHECKED := $(ADAPTERS:%=check-%) check-judge
check: setup ## a quick look, under two minutes: unit tests of the adapters, 100 of the judge's cases
	@rm -rf build/reports build/steps
	@$(STEPS) -j4 $(CHECKED) || true; .ci/summary $(CHECKED)

check-judge: | check-java
	@.ci/step $@ $(MAKE) --no-print-directory -s -C spec judge-short
$(ADAPTERS:%=check-%): check-%:
	@.ci/step $@ $(MAKE) --no-print-directory -s -C $* quick

nightly: setup ## make test in full, then what takes longer: other versions, suites of others, fuzz, the site
	@export WHOLE=1 STEP_LIMIT_S=14400; status=0; $(MAKE) --no-print-directory test || status=1; \
	  $(STEPS) -j1 $(PARTS:%=nightly-%) || status=1; exit $$status

$(PARTS:%=nightly-%): nightly-%:
	@.ci/step $@ $(MAKE) --no-print-directory -s -C $* nightly

lint: setup ## formatters and linters of all parts; warnings are errors
	@rm -rf build/steps; $(STEPS) -j2 lint-root $(PARTS:%=lint-%)

lint-root: ## lint of what belongs to no part: scripts, workflows, versions
	@.ci/step $@ .ci/lint
$(PARTS:%=lint-%): lint-%:
	@.ci/step $@ $(MAKE) --no-print-directory -s -C $* lint

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

package: setup ## build the packages and the command line tool, install each from the built file, send one POST in one segment
	@.ci/package

version: ## write VERSION into the packages
	@.ci/version-check --write

version-check: ## the packages carry the version in VERSION
	@.ci/version-check

clean: ## remove what builds and tests left behind (set-ups stay)
	@for part in $(PARTS); do $(MAKE) --no-print-directory -C $$part clean; done
	@rm -rf build
