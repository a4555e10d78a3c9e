# The first target that needs it makes .venv, once; a changed pyproject.toml brings it up to date.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup tour test peers slow orders arm lint bench lab lab-table web web-tools browser docs clean

setup: .venv/.ready

.venv/.ready: pyproject.toml setup.py $(wildcard src/handloom/core/native/*.h src/handloom/core/native/*.cpp)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "handloom needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 2; }
	@echo "Setting up .venv (a few minutes the first time) ..."
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[learn,view,board,discover,prove,cluster,share,dev]'
	@touch $@

tour: setup        ## what handloom can do
	$(BIN)/handloom tour

test: setup        ## everything but what takes minutes, and the ten slowest tests
	$(BIN)/python -m pytest -n auto --durations=10

peers: .venv-peers/.ready  ## exported models in TransformerLens, which has an environment of its own
	.venv-peers/bin/python -m pytest --noconftest -c /dev/null --rootdir tests/peers -p no:cacheprovider -q tests/peers

.venv-peers/.ready: pyproject.toml
	@echo "Setting up .venv-peers (a few minutes the first time) ..."
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check 'transformer-lens>=4,<5' 'transformers>=5' pytest --editable '.[learn]'
	@touch $@

slow: setup        ## what takes minutes
	$(BIN)/python -m pytest -m slow --durations=10

orders: setup      ## the tests as other processors would run them: under several orders of summation
	$(BIN)/python tests/orders.py -n auto

arm:               ## the C++ tests on ARM, in an emulator; needs qemu-user and g++-aarch64-linux-gnu
	@command -v qemu-aarch64 aarch64-linux-gnu-g++ > /dev/null || \
		{ echo "make arm needs qemu-aarch64 and aarch64-linux-gnu-g++ (Debian: qemu-user, g++-aarch64-linux-gnu)"; exit 2; }
	@mkdir -p build
	aarch64-linux-gnu-g++ -std=c++17 -O3 -static -pthread -Isrc/handloom/core/native tests/native/test_engine.cpp -o build/arm
	qemu-aarch64 build/arm

lint: setup
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

bench: setup       ## ratios, side by side in one run
	$(BIN)/python benchmarks/decode.py
	$(BIN)/python benchmarks/native.py --only speed
	$(BIN)/python benchmarks/discover.py
	$(BIN)/python benchmarks/read.py
	@if command -v node > /dev/null; then node benchmarks/page.mjs; else echo "no Node: the page's engine is not measured"; fi
	@echo "and, with a checkout of makemore: $(BIN)/python benchmarks/learn.py makemore/makemore.py"
	@echo "                             and: $(BIN)/python benchmarks/native.py makemore/makemore.py"

lab: setup         ## every experiment of the lab in full, up to two hours, and the page
	$(BIN)/handloom lab --all --full
	$(MAKE) lab-table

lab-table: setup   ## docs/lab.md, from the records in docs/lab
	$(BIN)/python -m handloom.lab.table

web: web-tools     ## what runs in pages, from web/; needs Node, and for a changed kernel.c clang-14 and lld-14
	cd web && npm run check
	@if command -v clang-14 > /dev/null; then cd web && node build.mjs --kernel; else echo "no clang-14: kernel.wasm.js stays"; fi
	cd web && npm run build

web-tools: web/node_modules/.ready

web/node_modules/.ready: web/package-lock.json
	cd web && npm ci --no-audit --no-fund
	@touch $@

browser:           ## Chromium and its driver, for the tests of pages; on Debian, as root
	@command -v chromium chromedriver > /dev/null || { apt-get update -qq && apt-get install -y -qq chromium chromium-driver; }

docs: setup        ## the pictures, the tables of records, and docs/ as a site that works offline: open site/index.html
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/records_page.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf .venv .venv-peers site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info tour.html
