# Two commands for a newcomer: `make demo` and `make test`. Each sets up .venv by itself.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

# The tests start hundreds of processes: each starts faster when compiled modules are kept.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all check bench lint clean screenshots notebooks docs docs-output

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "Reticent needs Python 3.11 or newer"'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: $(STAMP)
	$(BIN)/reticent demo --output demo-output

# The pictures of docs/how-to/workbench.md; needs chromium.
screenshots: $(STAMP)
	$(BIN)/python -m benchmarks.screenshots docs/images

# The tutorials of docs/ as notebooks in examples/tutorials/.
notebooks: $(STAMP)
	$(BIN)/python -m docs.tools.notebooks

# The site, in docs/_build/html: warnings and broken links are errors, nothing is fetched.
docs: $(STAMP)
	$(BIN)/python -c 'import sphinx, myst_parser, pydata_sphinx_theme' 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	$(BIN)/python -m sphinx -q -E -W --keep-going docs docs/_build/html

# Console blocks of README and docs, rewritten with what their commands print.
docs-output: $(STAMP)
	$(MEMORY) POLARS_MAX_THREADS=1 $(BIN)/python -m docs.tools.console

# Tests save thousands of small releases and ledgers and wait until each has reached the disk: in memory, if there is room, they do not wait.
ROOM   := $(shell df -k --output=avail /dev/shm 2>/dev/null | tail -n 1)
MEMORY := $(shell [ "$(ROOM)" -gt 4000000 ] 2>/dev/null && [ -w /dev/shm ] && echo TMPDIR=/dev/shm)

# Two workers with a thread each: more threads on tables of a few rows only wait for one another. `test-all` leaves polars its threads.
test: $(STAMP)
	$(MEMORY) POLARS_MAX_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadgroup --no-loadscope-reorder

test-all: $(STAMP)
	$(MEMORY) $(BIN)/python -m pytest -n 2 --dist loadgroup --no-loadscope-reorder -m '' --hypothesis-profile=random

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check: lint test

bench: $(STAMP)
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) demo-output docs/_build
