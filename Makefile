# `make` alone lists the targets. Everything runs in .venv, which is made on
# first use and again when the pins change.
.DEFAULT_GOAL := help
.PHONY: help book test lab serve refresh bench lint lock clean test-torch

PYTHON ?= python3
BIN := .venv/bin
CHAPTERS ?=
LOCKED := --quiet --universal --python-version 3.11 --no-annotate --no-header

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 14

.venv/ready: requirements.txt requirements-test.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-test.txt
	touch $@

book: .venv/ready  ## set up everything and build the site into _build/html
	$(BIN)/jupyter-book build . -W -n --keep-going --quiet

test: .venv/ready  ## set up everything and run every check
	$(BIN)/ruff check .
	$(BIN)/python -m pytest --durations=10 --doctest-modules helpers tests
	$(BIN)/python -m pytest --nbval book index.ipynb

refresh: .venv/ready  ## execute the chapters and store outputs (CHAPTERS=book/01-...ipynb for some)
	$(BIN)/python tools/refresh.py $(CHAPTERS)

bench: .venv/ready  ## measure speed, memory and page weight, as ratios in one run
	for script in bench/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

lab: .venv/ready  ## open the book in JupyterLab
	$(BIN)/jupyter trust index.ipynb book/*.ipynb  # or stored plots show as text
	JUPYTER_CONFIG_PATH=$(CURDIR)/tools/jupyter $(BIN)/jupyter lab index.ipynb

serve: book  ## build the site and open it at http://localhost:8000
	(sleep 1; $(BIN)/python -m webbrowser http://localhost:8000) &
	$(BIN)/python -m http.server --directory _build/html 8000

lint: .venv/ready  ## check the style of code and chapters
	$(BIN)/ruff check .

lock:  ## resolve requirements*.in into pinned requirements*.txt (needs uv)
	grep -h == requirements.txt requirements-test.txt | tee .lock > .lock-test  # kept where they fit
	uv pip compile $(LOCKED) requirements.in -o .lock
	uv pip compile $(LOCKED) requirements-test.in -o .lock-test
	{ echo "# Made by \`make lock\` from requirements.in; what Binder, the README and CI install."; \
	  cat .lock; echo "-e ."; } > requirements.txt
	{ echo "# Made by \`make lock\` from requirements-test.in: what only the checks need."; \
	  echo "-r requirements.txt"; grep -vxFf .lock .lock-test; } > requirements-test.txt
	rm .lock .lock-test

test-torch: .venv/ready  ## check the PyTorch solution, where PyTorch is installed
	$(BIN)/python -m pytest -o addopts= tests/with_torch

clean:  ## delete what the other targets made
	rm -rf _build .venv .pytest_cache .ruff_cache *.egg-info
