# `make book` builds the pages, `make test` runs every check; both set everything up first.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help install notebooks book serve test bench lock clean

help:  ## list what can be made
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST)

install: $(READY)  ## create the virtual environment
$(READY): requirements.txt constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; name one: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

notebooks: $(READY)  ## run the chapters that have changed: book/x.myst.md -> book/x.ipynb
	$(BIN)/python book/_tools/execute.py

book: $(READY)  ## build the pages into _build/html
	@# a failed build forgets what it read, or the next would not warn of it again
	$(BIN)/jupyter-book build . -n -W --keep-going --quiet || { rm -rf _build/.doctrees; exit 1; }
	@echo "The book: file://$(CURDIR)/_build/html/index.html"
	@echo "Over http: $(BIN)/python -m http.server --directory _build/html; while writing: make serve"

serve: $(READY)  ## build, show on localhost, and build again whenever a file is saved
	$(BIN)/python book/_tools/serve.py

test: $(READY)  ## run every check
	$(BIN)/ruff check .
	$(BIN)/python -m pytest
	$(BIN)/python -m pytest --nbval book/

bench: $(READY)  ## measure speed side by side; writes benchmarks/results.json
	$(BIN)/python benchmarks/measure.py

lock: $(READY)  ## write down the versions of everything installed
	$(BIN)/python -m pip freeze --exclude-editable --disable-pip-version-check | sed '/@ file/d; s/+cpu$$//' > constraints.txt

clean:  ## delete what can be made again
	rm -rf _build $(VENV) *.egg-info
