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
# PyTorch's own index carries builds without CUDA, which save several GB on Linux. It is asked
# once whether it answers, because pip waits long, and for every package, on one that does not.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
# JAX on the CPU everywhere, the kernel of this environment before any other of the same name,
# and no word from kernels about a debugger.
export JAX_PLATFORMS ?= cpu
export JUPYTER_PREFER_ENV_PATH := 1
export PYDEVD_DISABLE_FILE_VALIDATION := 1

SHAPE := _config.yml _toc.yml $(wildcard chapters/pages.toml reference/references.bib) \
	$(shell find _ext _static locale -type f -not -name '*.pyc' -not -name '*.mo' 2>/dev/null)
BUILD_FLAGS := -W -n --keep-going
# What is shown of all that Sphinx says: how many of the pages are read, and how many written.
HOW_FAR = stage='(reading|writing) [a-z]+\.\.\. .*\[ *([0-9]+)%'; was=100; while read -r line; do \
	[[ $$line =~ $$stage ]] || continue; now=$${BASH_REMATCH[2]}; \
	[ $$now -gt $$was ] || printf 'make: %s pages' $${BASH_REMATCH[1]}; \
	[ $$((now / 10)) = $$((was / 10)) ] || printf ' %s%%' $$now; \
	[ $$now != 100 ] || echo; was=$$now; done
# What is shown of all that pip says: downloads of 50 MB or more, and how much it installs.
OF_PIP = while read -r word one two rest; do case "$$word $$two $$rest" in \
	'Downloading ('[5-9][0-9].*' MB)' | 'Downloading ('[0-9][0-9][0-9]*' MB)') \
		echo "make: downloading $$(basename "$$one") $$two $$rest";; \
	'Installing packages:'*) echo "make: installing" $$(wc -w <<< "$$rest") "packages";; esac; done
# Runs a program in an environment of its own.
ALONE := $(CURDIR)/$(BIN)/uv run --quiet --isolated --no-project --python $(CURDIR)/$(BIN)/python
# One file is one worker's: a notebook's cells share a kernel.
RUN := pytest -n $(JOBS) --maxprocesses 8 --dist loadfile
PYTEST := $(BIN)/python -m $(RUN)
UNIT := src/persample tests/library

.PHONY: help book unit test check lab serve pdf slides exercises paper release \
	notebooks lint portable mutate packages models conformance frameworks \
	bench private-peers repository constraints clean

help:  ## list the targets
	@echo "Per-Sample Gradients: make TARGET, where TARGET is"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# A change of the book's shape (settings, contents, style) rebuilds every page. So does a build
# that failed: Sphinx keeps a page it warned about and would stay silent the next time.
book: $(VENV)/.reader _build/.shape  ## build the book, warnings being errors, and open it
	@set -o pipefail; { $(BIN)/jupyter-book build . $(BUILD_FLAGS) && \
		$(BIN)/python _ext/book_translation.py; } | { $(HOW_FAR); } || { \
		rm -rf _build/.doctrees* $(HTML); echo "make: the book has errors, named above" >&2; exit 1; }
	@echo "The book is at $(CURDIR)/$(HTML)/index.html"
	@if [ "$(OPEN)" = yes ] && [ -t 1 ] && [ -z "$$CI" ] \
		&& { [ -n "$$DISPLAY$$WAYLAND_DISPLAY" ] || [ "$$(uname -s)" = Darwin ]; }; then \
		$(BIN)/python -m webbrowser -t "file://$(CURDIR)/$(HTML)/index.html" >/dev/null || true; fi

_build/.shape: $(SHAPE)
	@rm -rf _build/.doctrees* $(HTML) && mkdir -p _build && touch $@

unit: $(VENV)/.dev  ## test the library
	$(PYTEST) -m "not slow and not site" $(UNIT) $(TEST_ARGS)

test: $(VENV)/.dev  ## the same, every notebook run and compared, and the quick tests of the book
	$(PYTEST) --nbval -m "not slow and not site" $(TEST_ARGS)

# In the order of the files, as what takes longest, every page in a browser, are few tests.
# Within the sample, every library runs at its oldest, on one thread.
check: $(VENV)/.dev  ## the built pages, in a browser too; slow tests; half the notebooks on an older machine
	@$(MAKE) --no-print-directory book OPEN=no
	$(PYTEST) --no-loadscope-reorder -m "slow or site" $(TEST_ARGS)
	$(BIN)/python scripts/portable.py --workers $(JOBS) --half --only oldest

lab: $(VENV)/.reader  ## open the chapters in JupyterLab (in a container: IP=0.0.0.0)
	$(BIN)/jupyter lab --notebook-dir . --ServerApp.default_url=/lab/tree/chapters --ip $(IP) \
		$(if $(filter 0,$(shell id -u)),--allow-root) $(LAB_ARGS)

serve: book  ## serve the book at http://localhost:8000 (PORT=...)
	@echo "The book is at http://localhost:$(PORT), until Ctrl-C"
	@$(BIN)/python -m http.server $(PORT) --bind localhost --directory $(HTML)

pdf: $(VENV)/.dev book  ## print the whole book into one PDF, with contents
	@$(BIN)/python scripts/pdf.py

slides: $(VENV)/.dev  ## make the core chapters slides, in _build/slides
	@$(BIN)/python scripts/teaching.py slides

exercises: $(VENV)/.dev  ## write their exercises without solutions, and the wheel, to _build/exercises
	@$(BIN)/python scripts/teaching.py exercises

# The machine's pandoc, or that in a wheel; the PDF is what a browser prints.
PANDOC = $(shell command -v pandoc || echo '$(ALONE) --with pypandoc-binary python -c "import pypandoc, \
	subprocess, sys; sys.exit(subprocess.call([pypandoc.get_pandoc_path(), *sys.argv[1:]]))"')
paper: $(VENV)/.dev  ## print the paper about the book, by pandoc, to _build/paper.pdf
	@mkdir -p _build && cd reference/paper && $(PANDOC) paper.md --standalone --citeproc --mathml \
		--embed-resources --css paper.css --fail-if-warnings -o ../../_build/paper.html
	@cd scripts && ../$(BIN)/python -c 'import browser; \
		chromium = browser.browser(); page = chromium.__enter__().new_page(); \
		page.goto((browser.ROOT / "_build/paper.html").as_uri()); \
		page.pdf(path="../_build/paper.pdf", prefer_css_page_size=True); \
		chromium.__exit__(None, None, None)' && echo "The paper is at $(CURDIR)/_build/paper.pdf"

release: $(VENV)/.dev book  ## build and try what a release publishes, in _build/release (TAG=v1.2.3)
	@rm -rf _build/release && $(BIN)/uv build --quiet --out-dir _build/release .
	@$(ALONE) --with twine twine check --strict _build/release/*.whl _build/release/*.tar.gz
	@$(BIN)/python -m zipfile -c _build/release/per-sample-gradients-site.zip $(HTML)
	@$(BIN)/python scripts/release.py _build/release $(TAG)

notebooks: $(VENV)/.dev  ## execute every notebook in place and normalise it (ONLY=05_td0 for one)
	$(BIN)/python scripts/execute_notebooks.py $(if $(ONLY),--only $(ONLY))

lint: $(VENV)/.dev  ## check the code's style and format
	$(BIN)/ruff check . && $(BIN)/ruff format --check .

portable: $(VENV)/.dev  ## compare every notebook under simulated machines (ONLY=Haswell for one)
	$(BIN)/python scripts/portable.py --workers $(JOBS) $(if $(ONLY),--only $(ONLY))

mutate: $(VENV)/.dev  ## alter the library, and count what the tests notice
	$(BIN)/python scripts/mutate.py

# Wheels alone; the tools in the versions of tests/requirements.txt. What one package says of
# another's future is not ours to mend, least of all in old versions.
packages: $(VENV)/.dev  ## test the library with the oldest and newest packages that it allows
	@mkdir -p _build && grep -hE '^(pytest|hypothesis|array-api-strict|nbval|pillow|threadpoolctl)' \
		requirements.txt tests/requirements.txt > _build/tools.txt
	@$(ask_index); for which in lowest-direct highest; do \
		echo "make: the $$which versions (minutes the first time)" && \
		$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)-$$which && \
		$(BIN)/uv pip install --quiet --python $(VENV)-$$which/bin/python --only-binary :all: \
			--resolution $$which $${cpu:+--torch-backend cpu} --all-extras \
			-r pyproject.toml -r _build/tools.txt && \
		PYTHONPATH=src $(VENV)-$$which/bin/python -m $(RUN) -m "not slow and not site" \
			-W default::DeprecationWarning -W default::FutureWarning $(UNIT) $(TEST_ARGS) \
			|| exit 1; done

models: $(VENV)-models/.made  ## per-sample gradients of real models, as they ship
	$(<D)/bin/python scripts/models.py $(if $(ONLY),--only "$(ONLY)") $(if $(SAVE),--save)

conformance: $(VENV)-conformance/.made  ## per-sample gradients of five libraries, right or wrong (ONLY=LSTM)
	OMP_NUM_THREADS=1 $(<D)/bin/python -m conformance \
		$(if $(ONLY),--only "$(ONLY)") $(if $(SAVE),--save)

frameworks: $(VENV)/.dev  ## run the same line in TensorFlow, MindSpore and the others (ONLY=mlx)
	$(BIN)/python scripts/frameworks.py $(if $(ONLY),--only $(ONLY))

bench: $(VENV)/.dev $(VENV)-bench/.made  ## measure what the speed claims rest on (minutes)
	for what in engine td0_ladder graph_costs; do $(BIN)/python benchmarks/$$what.py || exit 1; done
	for what in floor steps libraries rows whole_models transformer_steps; do $(VENV)-bench/bin/python benchmarks/$$what.py || exit 1; done

private-peers: $(VENV)-private/.made  ## ask maintained libraries for epsilon and for a clipped sum
	$(<D)/bin/python benchmarks/private_peers.py --save
	$(<D)/bin/python benchmarks/private_opacus.py --save

repository: $(VENV)/.dev  ## tell the book its address (URL=https://github.com/owner/name)
	@$(BIN)/python scripts/repository.py "$(URL)"

constraints: $(VENV)/.dev  ## pin anew everything the requirements bring along
	$(BIN)/uv pip compile requirements.txt tests/requirements.txt --universal --python-version 3.11 \
		--upgrade --no-emit-package persample --no-header --no-annotate --quiet -o .ci/constraints.txt

clean:  ## remove what was built (the environment stays: rm -r .venv)
	rm -rf _build .pytest_cache .ruff_cache .hypothesis

# The environment. `.reader` is what the book and the notebooks need, `.dev` is everything.
$(VENV)/.reader: requirements.txt .ci/constraints.txt pyproject.toml | $(BIN)/python
	@$(call install,$(BIN),-r requirements.txt -c .ci/constraints.txt) && touch $@

$(VENV)/.dev: tests/requirements.txt $(VENV)/.reader
	@$(call install,$(BIN),-r tests/requirements.txt -c .ci/constraints.txt) && touch $@

$(BIN)/python:
	@if [ -z "$(PYTHON)" ]; then \
		echo "make: this needs Python 3.11 or newer, and none was found." >&2; \
		echo "      Install one, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3" >&2; exit 1; fi
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "make: $(PYTHON) is $$("$(PYTHON)" --version 2>&1); this needs Python 3.11 or newer." >&2; exit 1; }
	@"$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); \
		echo "make: $(PYTHON) could not make $(VENV). On Debian and Ubuntu its venv module is" >&2; \
		echo "      a package of its own: sudo apt-get install python3-venv" >&2; exit 1; }

# The libraries that the book is compared with, in environments of their own.
$(VENV)-bench/.made: benchmarks/requirements.txt
$(VENV)-private/.made: benchmarks/requirements-private.txt
$(VENV)-conformance/.made: conformance/requirements.txt
$(VENV)-models/.made: benchmarks/requirements-models.txt benchmarks/requirements-models-alone.txt
$(VENV)-%/.made: | $(BIN)/python
	@[ -d $(@D) ] || "$(PYTHON)" -m venv $(@D)
	@$(call install,$(@D)/bin,-r $<)
	@$(if $(word 2,$^),$(call install,$(@D)/bin,--no-deps -r $(word 2,$^)))
	@touch $@

# Only Linux has CUDA in its default build of PyTorch.
define ask_index
cpu=; if [ "$$(uname -s)" = Linux ] && [ -n "$(TORCH_INDEX)" ]; then \
	$(BIN)/python -c 'import sys, urllib.request as u; u.urlopen(sys.argv[1], timeout=5)' \
		"$(TORCH_INDEX)/torch/" 2>/dev/null && cpu=yes \
		|| echo "make: PyTorch's index of CPU builds does not answer; the build is the one found."; fi
endef

# install(where python is, what).
define install
set -o pipefail; echo "make: pip install $(2) (minutes the first time)"; $(ask_index); \
{ { $(1)/python -m pip install --disable-pip-version-check \
	$${cpu:+--extra-index-url $(TORCH_INDEX)} $(2) 2>&1 >&3 \
	| sed '/^WARNING: /d' >&2; } 3>&1; } | { $(OF_PIP); }
endef
