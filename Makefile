# `make book` builds the pages, `make test` runs every check; both set everything up first.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.installed
TOOLS  := node_modules/.installed
# With TORCH="torch==2.13.0 ..." another build of torch than pip's own choice.
TORCH  ?=

.DEFAULT_GOAL := help
.PHONY: help install notebooks book serve lab js test test-all mutants bench lock next clean

help:  ## list what can be made
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST)

install: $(READY)  ## create the virtual environment
$(READY): requirements.txt lock.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15) and "Python 3.11 to 3.14 is needed; name one: make PYTHON=python3.12")'
	@echo "Setting up $(VENV): this is done once and takes a few minutes"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r lock.txt
	$(if $(TORCH),$(BIN)/python -m pip install --quiet --disable-pip-version-check $(TORCH))
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

# What the JavaScript is checked and bundled with. npm's commands look for node on the path.
js test: export PATH := $(abspath $(BIN)):$(PATH)
$(TOOLS): $(READY) package-lock.json
	$(BIN)/npm ci
	@touch $@

notebooks: $(READY)  ## run the chapters that have changed: book/source/x.myst.md -> book/x.ipynb
	$(BIN)/python book/_tools/execute.py

book: $(READY)  ## build the pages into _build/html
	$(BIN)/python book/_tools/pages.py
	@echo "Over http: $(BIN)/python -m http.server --directory _build/html; while writing: make serve"

serve: $(READY)  ## build, show on localhost, and build again whenever a file is saved
	$(BIN)/jupyter-book config sphinx .
	PYTHONPATH=book/_tools $(BIN)/sphinx-autobuild . _build/serve -nq -D content_security_policy=0 --port 8000 \
	  --pre-build "$(BIN)/python book/_tools/execute.py --preview" \
	  --ignore "*/_build/*" --re-ignore "\.(ipynb|pyc|part)$$|/conf\.py$$|/\.[^/]+/|egg-info"

lab: $(READY)  ## open the chapters in JupyterLab
	$(BIN)/jupyter lab --LabApp.default_url=/lab/tree/book/0-START-HERE.ipynb

js: $(TOOLS)  ## bundle the live figures: js/src -> lsa/show/live/figures.js
	$(BIN)/npm run build

# One run, so that no core waits for another: nbval's notebooks are shared out with the tests, long groups first.
test test-all: TESTS = tests/browser book/ tests/science tests/book
test-all: TESTS += -m ""
test test-all: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/npm test
	$(BIN)/python -m pytest -n logical --dist loadscope --no-loadscope-reorder --nbval $(TESTS)
test:  ## run every check
test-all:  ## the same, and what the workflow runs by night: more starts, widths and chapters

mutants: $(READY)  ## change lsa a little, again and again: does a test notice? MODULES="theory data" SAMPLE=100
	$(BIN)/python tests/mutants.py $(MODULES) $(if $(SAMPLE),--sample $(SAMPLE))

bench: $(READY)  ## measure speed side by side; writes benchmarks/results.json
	$(BIN)/python benchmarks/measure.py

lock: $(READY)  ## write the versions of all that requirements.txt needs, and the hashes of their files, to lock.txt
	$(BIN)/uv pip compile --quiet requirements.txt --output-file lock.txt

NEXT := _build/next/venv/bin/python
next: $(READY)  ## try the way out of Jupyter Book: pages and notebooks by plain Sphinx, in its newest version
	$(PYTHON) -m venv --clear _build/next/venv
	sed '/^jupyter-book/d; /^# the checks/,/^# lsa itself/d' requirements.txt > _build/next/requirements.txt
	$(NEXT) -m pip install --quiet -r _build/next/requirements.txt "Sphinx>=9" myst-nb sphinx-book-theme sphinx-copybutton \
	  sphinx-togglebutton sphinx-external-toc sphinx-multitoc-numbering
	$(BIN)/jupyter-book config sphinx .
	sed -i.jupyter-book "s/'jupyter_book', //; s/, 'sphinx_jupyterbook_latex'//; /^use_jupyterbook_latex/d" conf.py
	PYTHONPATH=book/_tools $(NEXT) -m sphinx -nqW --keep-going . _build/next/html
	PYTHONPATH=book/_tools $(NEXT) -m sphinx -nqW --keep-going -b notebook . _build/next/notebooks
	for made in _build/next/notebooks/*.ipynb; do cmp "$$made" "book/$${made##*/}" || exit 1; done

clean:  ## delete what can be made again
	rm -rf _build node_modules $(VENV) *.egg-info
