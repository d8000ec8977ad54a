# make app    run the lab on http://localhost:8501
# make test   lint, types and every test, with a browser found or installed
# make bench  time it on this machine: computing, starting, answering a key, a class

PYTHON ?= python3
BIN := .venv/bin
RESULTS := benchmarks/results

.PHONY: app test bench browser

app: .venv/app
	$(BIN)/streamlit run streamlit_app.py

test: .venv/test browser
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest

bench: .venv/bench browser
	$(BIN)/python -m benchmarks.compute_training --write $(RESULTS)/training.md $(RESULTS)/training.csv
	$(BIN)/python -m benchmarks.compute_attention --write $(RESULTS)/attention.md $(RESULTS)/attention.csv
	$(BIN)/python -m benchmarks.cold_start --write $(RESULTS)/cold_start.md $(RESULTS)/cold_start.csv
	$(BIN)/python -m benchmarks.interaction --write $(RESULTS)/interaction.md $(RESULTS)/interaction.csv
	$(BIN)/python -m benchmarks.load --write $(RESULTS)/load.md $(RESULTS)/load.csv

browser: .venv/test
	sh tests/e2e/find_browser.sh $(BIN)/python

.venv/bin/python:
	$(PYTHON) -m venv .venv

# A file for each set of packages, so that they are installed again only when their list changes.
.venv/app: requirements.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --requirement requirements.txt
	touch $@

.venv/test: requirements.txt requirements-dev.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --requirement requirements-dev.txt
	touch $@

.venv/bench: requirements.txt requirements-bench.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --requirement requirements-bench.txt
	touch $@
