# `make demo`, `make papers` and `make test` create .venv and install what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo docs papers test suite test-asan test-long bench lint clean

# The Panda picks and places: torques, and a collision that is detected; open out/pick_and_place.html.
demo: $(VENV)/.installed
	$(BIN)/python examples/pick_and_place.py --output out

# The manual: open site/index.html.  Examples and papers run once and are kept in build/; `make clean` forgets them.
docs: $(VENV)/.installed-docs
	$(BIN)/python -m manual

# All five papers, one folder each; open out/000/report.html and so on.
papers: $(VENV)/.installed
	$(BIN)/python -m papers

# The linter and the type checker run beside the tests.
test: $(VENV)/.installed-test
	$(MAKE) --jobs=2 --keep-going lint suite

suite: $(VENV)/.installed-test
	env -u MAKEFLAGS -u MAKELEVEL $(BIN)/python -m pytest -n 2 --dist worksteal

# The tests of the C extension with the address and undefined-behaviour sanitizers of GCC, one to seven minutes.
test-asan: $(VENV)/.installed-test
	cd tests && ../$(BIN)/python -m support.sanitized

# What takes longer than the suite may: results and dates are in docs/testing.md.
test-long: test-asan papers
	$(BIN)/python -m pytest -n 2 --dist worksteal -m long
	$(BIN)/python tests/fuzz/run.py --count 67000
	$(BIN)/python tests/soak.py --minutes 30
	$(BIN)/python tests/urdf_packages.py
	$(BIN)/python tests/mjcf_packages.py
	$(BIN)/python tests/mjcf_exports.py
	$(BIN)/python tests/fitted_durations.py
	$(BIN)/python tests/inverse_kinematics.py
	$(BIN)/python tests/recorded_motions.py
	$(BIN)/python tests/identification.py
	$(BIN)/python tests/other_simulator.py
	$(BIN)/python tests/stiction.py
	$(BIN)/python tests/fitted_durations_of_arms.py
	$(BIN)/python tests/time_optimal.py
	$(BIN)/python tests/lowest_versions.py
	$(BIN)/python tests/viewer_pages.py
	$(MAKE) docs
	$(BIN)/python tests/site_pages.py
	$(BIN)/python tests/exported_loops.py
	$(BIN)/python tests/wire.py
	$(BIN)/python tests/clusters.py
	$(BIN)/python tests/wheels.py

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks --output benchmarks/results

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

SOURCES := pyproject.toml setup.py $(wildcard src/flexjoint/compiler/runtime/*.[ch])

$(VENV)/.installed: $(VENV)/bin/python $(SOURCES)
	$(BIN)/pip install --quiet --editable .
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/pip install --quiet --editable '.[test]'
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/pip install --quiet --editable '.[docs]'
	touch $@

$(VENV)/.installed-bench: $(VENV)/.installed
	$(BIN)/pip install --quiet --editable '.[bench]'
	touch $@

clean:
	rm -rf $(VENV) build out site src/*.egg-info .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -o -name '*.so' -path './src/*' | xargs rm -rf
