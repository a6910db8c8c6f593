# make run: the example kernels, compiled, run on this machine and checked.   make test: every suite.
# Both work on a fresh Debian 12 machine: what is missing is installed first (scripts/setup.sh).
PYTHON := .venv/bin/python

.PHONY: run test build bench format clean

run: build
	@$(PYTHON) scripts/run_examples.py

test:
	@scripts/setup.sh --tests
	@scripts/build.sh
	@$(PYTHON) scripts/run_tests.py

build:
	@scripts/setup.sh
	@scripts/build.sh

bench: build
	@$(PYTHON) bench/run.py

format:
	@git ls-files '*.h' '*.cpp' | xargs $(or $(CLANG_FORMAT),clang-format) -i

clean:
	@rm -rf build .venv
