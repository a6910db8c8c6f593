# make fuzz SEED=1 COUNT=200: random programs, compiled for this machine and compared with the reference; KIND=ordered for sequences of effects.
# make run: the example kernels, compiled, run on this machine and checked.   make test: every suite.
# make nightly: an hour and a half of random programs, mutated inputs and fuzz targets.
# All work on a fresh Debian 12 machine: what is missing is installed first (scripts/setup.sh).
PYTHON := .venv/bin/python

.PHONY: run test build bench fuzz nightly format clean

run: build
	@$(PYTHON) scripts/run_examples.py

test:
	@scripts/setup.sh --tests
	@scripts/build.sh
	@$(PYTHON) scripts/run_tests.py

build:
	@scripts/setup.sh
	@scripts/build.sh

bench:
	@scripts/setup.sh --tests
	@scripts/build.sh
	@for benchmark in bench/*_kernels.py; do echo "$$benchmark"; $(PYTHON) $$benchmark || exit 1; done

SEED ?= 1
COUNT ?= 200
KIND ?= values
fuzz:
	@scripts/setup.sh --tests
	@scripts/build.sh
	@INTENT_LIBRARY_DIR=build/lib PYTHONPATH=python:python/tests $(PYTHON) -m generator --kind $(KIND) --seed $(SEED) --count $(COUNT)

# Programs and inputs of another day each time; what fails says how to run it again.
nightly:
	@scripts/setup.sh --fuzz
	@scripts/build.sh
	@$(PYTHON) scripts/run_nightly.py

format:
	@test -x .venv/bin/clang-format || $(PYTHON) -m pip install -qq clang-format==22.1.8
	@find include lib tools unittests \( -name '*.h' -o -name '*.cpp' \) 2>/dev/null | xargs .venv/bin/clang-format -i

clean:
	@rm -rf build .venv
