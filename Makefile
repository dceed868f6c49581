# make demo: the first sweep. make test: everything that CI checks. make help: the rest.

PYTHON ?= python3
VENV ?= .venv
# The CPU build of PyTorch. If your package index does not have it, TORCH_INDEX has.
TORCH ?= torch==2.13.0+cpu
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
BIN := $(VENV)/bin
# Three workers, also on larger machines: on two cores, a third of them waits, and some tests time out without CPU time.
PYTEST := $(BIN)/pytest -n 3
# Collecting all tests takes longer than running the few marked ones: pass only their files.
ALONE = $(shell grep --recursive --files-with-matches --include='test_*.py' 'mark\.alone' tests)
# The folder of the environments of the frameworks. All clones share it.
HPCBENCH_ENVS ?= $(HOME)/.cache/hpcbench/environments
# Tests start hpcbench thousands of times: keep its bytecode, as for users.
unexport PYTHONDONTWRITEBYTECODE
LONG_ENVIRONMENTS := horovod-mxnet horovod-tensorflow
ENVIRONMENTS := $(filter-out $(LONG_ENVIRONMENTS),$(sort $(basename $(notdir $(wildcard configs/environments/*.yaml)))))
# The tests that need only what .dev installs.
WITHOUT_NEEDS := $(patsubst %,not % and,slurm torch framework system browser pip hostile alone) not soak
# Two at a time: pip installs with one core. horovod-pytorch, which takes longest, is first by name. The output goes
# through cat, because a terminal cannot show two progress bars.
BUILD := xargs -n 1 -P 2 $(BIN)/hpcbench env build --no-check 2>&1 | cat

.PHONY: help demo test test-all test-slurms checks soak audit environments environments-all lint house unit integration cluster \
  cluster-down docs site transcripts clean \
  bench bench-scale bench-sampling bench-operators bench-comparing bench-interference \
  bench-threads bench-tuning bench-predict bench-predict-here
.DEFAULT_GOAL := help

help:
	@echo "make demo          install, run a first sweep on this machine, print its table (minutes the first time)"
	@echo "make test          install what the tests need, start a real Slurm, run all checks and tests, stop it"
	@echo "make test-all      also Horovod for MXNet and for TensorFlow, whose builds are long, all slow tests, and test-slurms"
	@echo "make test-slurms   tests on four Slurm releases, from Debian's suites (half an hour); update the table of"
	@echo "                   docs/reference/slurm-versions.md"
	@echo "make soak          rare events: hpcbench killed 200 times, simulated verifications and comparisons (a quarter of"
	@echo "                   an hour); sentences of 50,000 random tables (three hours); 10,000 cases on 64 virtual nodes (an"
	@echo "                   hour or two)"
	@echo "make environments  build the environments that make test needs, under HPCBENCH_ENVS"
	@echo "make unit          only the tests that run in the process of pytest (two to three minutes)"
	@echo "make integration   only the tests that start hpcbench or its node code, or draw figures (no Slurm, no framework)"
	@echo "make lint          ruff, mypy, bandit, import-linter, generated docs, word list"
	@echo "make house         structure metrics of hpcbench/ and their limits: sizes, complexity, docstrings, import chains"
	@echo "make audit         pip-audit: known vulnerabilities of the installed packages, if its database is reachable"
	@echo "make cluster       start a small real Slurm on this machine; make cluster-down stops it"
	@echo "make bench         performance of hpcbench itself, and all of the following; run nothing else at the same time"
	@echo "make bench-scale         500 cases on 64 virtual nodes, compared with SbatchMan (ten minutes)"
	@echo "make bench-sampling      medians compared with torch.utils.benchmark (three minutes)"
	@echo "make bench-operators     operators compared with whole networks, torch's medians and loops (seven minutes)"
	@echo "make bench-comparing     error rates of verdicts and CIs (simulated, three minutes)"
	@echo "make bench-threads       per-layer threads on simulated nodes of 64 cores (half a minute)"
	@echo "make bench-interference  detection of interference, and false alarms (half an hour)"
	@echo "make bench-tuning        quality of tune: simulated machines, and ten networks on this one (four hours)"
	@echo "make bench-predict DATA=DIR  accuracy of the predictor on DIR, with each device and network family left out (an hour)"
	@echo "make bench-predict-here  networks, sizes and threads on this machine, predicted from a profile (35 minutes)"
	@echo "make docs          write the generated parts of docs/ and the JSON schemas"
	@echo "make site          build the documentation site in site/; a broken link is an error (seconds)"
	@echo "make transcripts   run the commands of README and tutorials, and write their output there (on an idle machine)"
	@echo "make clean         remove the virtual environment and caches"

demo: $(VENV)/.torch
	@# Status 1 means that a case cannot run here, e.g. on a machine with one core; the table shows it.
	$(BIN)/hpcbench sweep configs/experiments/quickstart.yaml --local || [ $$? = 1 ]
	$(BIN)/hpcbench report latest --csv results/quickstart.csv || [ $$? = 1 ]
	@echo "The command is $(BIN)/hpcbench; to have it in this shell: . $(BIN)/activate"

environments environments-all test test-all: export HPCBENCH_ENVS := $(HPCBENCH_ENVS)

test: $(VENV)/.dev $(VENV)/.torch checks environments
	$(PYTEST) -m "not long and not soak and not alone"
	$(BIN)/pytest -m "alone and not long" $(ALONE)

test-all: $(VENV)/.dev $(VENV)/.torch checks environments-all
	$(PYTEST) -m "not soak and not alone"
	$(BIN)/pytest -m alone $(ALONE)
	$(MAKE) test-slurms

test-slurms: $(VENV)/.dev $(VENV)/.torch
	$(BIN)/python tools/slurm_versions.py
	$(BIN)/python tools/reference.py

# The audit waits for a network while mypy computes.
checks: $(VENV)/.dev $(VENV)/.site
	$(MAKE) --jobs=2 --output-sync=target lint audit site

# Rare events: hundreds of kills, and thousands of cases.
soak: $(VENV)/.dev
	$(BIN)/pytest -m soak -rA
	$(BIN)/python benchmarks/scale.py --cases 10000

# --no-check, because the tests train with each environment. Outside CI, tests of an environment that cannot be built
# are skipped with the reason.
environments: $(VENV)/.installed
	tools/compiler $(BIN)/python
	bash -o pipefail -c 'echo $(ENVIRONMENTS) | $(BUILD)' || [ "$$CI" != true ]

environments-all: environments
	bash -o pipefail -c 'echo $(LONG_ENVIRONMENTS) | $(BUILD)' || [ "$$CI" != true ]

# These tests never wait: one worker per core, and ten examples of each property.
unit: $(VENV)/.dev
	$(BIN)/pytest -n auto --maxprocesses 4 --hypothesis-profile quick -m "not integration and $(WITHOUT_NEEDS)"

integration: $(VENV)/.dev
	$(PYTEST) -m "integration and $(WITHOUT_NEEDS)"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive hpcbench configs benchmarks tools tools/audit
	$(BIN)/lint-imports
	$(BIN)/python tools/reference.py --check
	$(BIN)/python tools/words.py

# Standard library only: it needs no virtual environment, and is not part of lint.
house:
	$(PYTHON) tools/house.py

audit: $(VENV)/.dev
	$(BIN)/python tools/audit

cluster:
	tools/cluster up
	@echo "Next, in a workspace: hpcbench env build pytorch && hpcbench sweep quickstart --site local-slurm"
	@echo "Stop it: make cluster-down"

cluster-down:
	tools/cluster down

bench: $(VENV)/.dev $(VENV)/.torch
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/history.py
	$(BIN)/python benchmarks/probe.py
	$(MAKE) bench-scale bench-sampling bench-operators bench-comparing bench-interference bench-threads bench-tuning

bench-scale: $(VENV)/.dev
	$(BIN)/python benchmarks/scale.py

bench-sampling: $(VENV)/.dev $(VENV)/.torch
	$(BIN)/python benchmarks/sampling.py

bench-operators: $(VENV)/.dev $(VENV)/.torch environments
	$(BIN)/python benchmarks/operators.py

bench-interference: $(VENV)/.dev $(VENV)/.torch
	$(BIN)/python benchmarks/interference.py

bench-tuning: $(VENV)/.dev $(VENV)/.torch
	$(BIN)/python benchmarks/tuning.py --real

bench-threads: $(VENV)/.dev
	$(BIN)/python benchmarks/simulated_node.py

bench-comparing: $(VENV)/.dev
	$(BIN)/python benchmarks/comparing.py
	$(BIN)/python benchmarks/changepoints.py
	$(BIN)/python benchmarks/intervals.py
	$(BIN)/python benchmarks/stopping.py

# The measurements are not shipped: docs/reference/predictor-data.md describes their formats.
bench-predict: $(VENV)/.dev
	@[ -n "$(DATA)" ] || { echo "name a folder of measurements: make bench-predict DATA=DIR"; exit 2; }
	$(BIN)/python benchmarks/predict.py "$(DATA)"

bench-predict-here: $(VENV)/.dev environments
	HPCBENCH_ENVS="$(HPCBENCH_ENVS)" $(BIN)/python benchmarks/predict_here.py

docs: $(VENV)/.dev
	$(BIN)/python tools/reference.py

# Not --quiet, with which --strict finds nothing. The variable silences an announcement of the theme's authors.
site: $(VENV)/.site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

transcripts: $(VENV)/.torch $(VENV)/.dev
	$(BIN)/python tools/transcripts.py

clean:
	rm -rf $(VENV) site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

$(VENV)/.installed: pyproject.toml
	@echo "making $(VENV) and installing hpcbench"
	tools/venv $(PYTHON) $(VENV)
	$(BIN)/pip install --quiet --editable '.[report]'
	touch $@

$(VENV)/.dev: $(VENV)/.installed
	@echo "installing what the tests and checks need"
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@

$(VENV)/.site: $(VENV)/.installed
	@echo "installing what builds the documentation site"
	$(BIN)/pip install --quiet --editable '.[site]'
	touch $@

$(VENV)/.torch: $(VENV)/.installed
	@echo "installing $(TORCH), about 190 MB"
	$(BIN)/pip install --quiet '$(TORCH)' numpy 2>/dev/null || \
	  $(BIN)/pip install '$(TORCH)' numpy --extra-index-url $(TORCH_INDEX)
	touch $@
