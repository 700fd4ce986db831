# Retable. `make reproduce` and `make test` each do everything they need, set-up included.
#   make reproduce [PROFILE=smoke|quick|paper] [DEVICE=auto|cpu|cuda] [EXPERIMENTS='quantiles/*'] [OUT=dir]
#   make test                everything CI runs
#   make smoke               all experiments, tiny, two minutes after the build
#   make oracle              random cases against plain answers, a minute each (SECONDS_EACH=60, ORACLE=treeshap_tests)
#   make gpu-check FAMILY=x  test a family's CUDA methods on this machine's GPU, then run its experiments `beyond_*`; FAMILY=python: the package
#   make build [ONLY=family] build/retable, with one family alone where ONLY names it
#   make all-cards           build-all-cards/retable, with machine code for every card from compute capability 7.5 on
#   make tsan                parallel host code under ThreadSanitizer
#   make arm                 unit tests compiled for 64-bit Arm, under qemu-user
#   make python              build/python-venv: the package with its tests' packages, tested
#   make docs                figures of pages and notes from results/recorded, docs/configuration.md, docs/site, docs/report.png
#   make docs-html           build/docs-html: the public C++ headers (Doxygen)
#   make site                docs/site: the recorded runs as static pages, to open or to publish
#   make report | compare A=dir B=dir | clean

PROFILE ?= quick
DEVICE ?= auto
EXPERIMENTS ?= *
OUT ?= results/latest
FAMILY ?= quantiles
ONLY ?=
BUILD ?= build
JOBS ?= $(shell nproc)
RETABLE := $(BUILD)/retable

# What was compiled from the same sources in another folder (a clone, a copy) is not compiled again.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1

.PHONY: reproduce smoke test unit build setup report compare gpu-check all-cards arm fuzz tsan oracle python docs docs-html site clean help

help:
	@sed -n '2,16p' Makefile | sed 's/^# *//'

# The families that a build must hold at least; none: all. What it has, it keeps, so that nothing is compiled for
# families that nobody asks for; `any`: what it has will do. ONLY says exactly which.
empty :=
asked := $(sort $(foreach id,$(EXPERIMENTS),$(firstword $(subst /, ,$(id)))))
reproduce: FAMILIES = $(if $(filter-out $(notdir $(wildcard algorithms/*)),$(asked)),,$(asked))
report compare site: FAMILIES = any
gpu-check: FAMILIES = $(if $(wildcard algorithms/$(FAMILY)),$(FAMILY),any)
NEEDED = NEEDED='$(subst $(empty) $(empty),;,$(strip $(or $(ONLY),$(FAMILIES))))'

reproduce: build
	@$(RETABLE) run $(foreach id,$(EXPERIMENTS),'$(id)') --profile $(PROFILE) --device $(DEVICE) --out $(OUT) --report

smoke:
	@$(MAKE) --no-print-directory reproduce PROFILE=smoke OUT=$(if $(filter file,$(origin OUT)),results/smoke,$(OUT))

test:
	@tools/setup.sh test
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/test.sh

unit: build
	@JOBS=$(JOBS) tools/build.sh $(BUILD) "" && cd $(BUILD) && ctest -j $(JOBS) --output-on-failure

build: setup
	@$(NEEDED) JOBS=$(JOBS) tools/build.sh $(BUILD) retable $(if $(ONLY),-DRETABLE_ONLY='$(ONLY)')

setup:
	@$(NEEDED) tools/setup.sh

report: build
	@$(RETABLE) report --out $(OUT)

compare: build
	@$(RETABLE) compare $(A) $(B)

# The programs whose CUDA tests gpu-check runs, where the build has them.
GPU_TESTS := $(if $(filter harness,$(FAMILY)),harness_tests base_tests,$(FAMILY)_tests baselines_$(FAMILY)_tests experiments_$(FAMILY)_tests $(if $(filter treeshap,$(FAMILY)),app_shap_tests))
ifeq ($(FAMILY),python)
gpu-check: setup
	@tools/python_environment.sh $(BUILD)/python-environment && \
	  RETABLE_CUDA=ON JOBS=$(JOBS) tools/build.sh $(BUILD) _retable -DRETABLE_PYTHON=ON \
	    -DPython_EXECUTABLE=$(abspath $(BUILD)/python-environment/bin/python) && \
	  PYTHON=$(BUILD)/python-environment/bin/python tools/gpu_python.sh $(BUILD)/python
else
gpu-check: build
	@programs=$$(for p in $(GPU_TESTS); do ninja -C $(BUILD) -t query $$p >/dev/null 2>&1 && echo $$p; done); \
	  [ -n "$$programs" ] || { echo "no tests of FAMILY=$(FAMILY): name a folder of algorithms/, or harness" >&2; exit 1; }; \
	  cmake --build $(BUILD) -j $(JOBS) --target $$programs && \
	  for p in $$programs; do $(BUILD)/$$p --gtest_filter='Cuda*:*/Cuda*' || exit 1; done
ifneq ($(FAMILY),harness)
	@$(RETABLE) run '$(FAMILY)/beyond*' --device cuda --out $(OUT)/gpu-check
endif
endif

all-cards: setup
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/all_cards.sh

arm: setup
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/arm.sh

fuzz:
	@tools/setup.sh test
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/fuzz.sh

tsan:
	@tools/setup.sh
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/tsan.sh

oracle: setup
	@JOBS=$(JOBS) tools/build.sh $(BUILD) "" -DRETABLE_ONLY=
	@BUILD=$(BUILD) SECONDS_EACH=$(or $(SECONDS_EACH),60) ORACLE='$(ORACLE)' tools/oracle.sh

python:
	@tools/setup.sh test
	@python3 -m venv $(BUILD)/python-venv && $(BUILD)/python-venv/bin/pip install --quiet '.[test]' && \
	  $(BUILD)/python-venv/bin/python -m pytest -q python/tests

docs-html:
	@tools/setup.sh docs
	@BUILD=$(BUILD) tools/docs_html.sh

docs: build
	@tools/docs.py --program $(RETABLE)
	@for name in $(notdir $(wildcard results/recorded/*)); do $(RETABLE) check --recorded $$name --rewrite > /dev/null || exit 1; done

site: build
	@recorded=$$($(RETABLE) record --tables) && \
	  /usr/bin/python3 plots/report.py --site docs/site --recorded "$$recorded" --out $(BUILD)/site --quiet && echo docs/site/index.html

clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-fuzz $(BUILD)-tsan $(BUILD)-all-cards $(BUILD)-arm results/latest results/smoke
