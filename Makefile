# libtensor's build. `make help` lists the targets.

VERSION := 0.1.0
SONAME := libtensor.so.0
PREFIX ?= /usr/local

LIB := build/libtensor.so
DIRECT := build/libtensor_direct.so
VENV := build/venv
PYTHON := $(VENV)/bin/python
OPENBLAS := build/openblas/libscipy_openblas64_.so
ADDON := bindings/node/build/libtensor.node
CUDA := build/cuda

export LIBTENSOR_OPENBLAS ?= $(CURDIR)/$(OPENBLAS)
# Tests, vet and the library are compiled alike, so that go's cache serves each what another has compiled. The library comes
# first: go keeps the headers of the exports, without which it compiles a package anew, only when it builds a shared library.
export GOFLAGS ?= -trimpath -buildmode=pie
# go asks for debug information that the link throws away, a quarter of the time that the kernels take.
export CGO_CFLAGS ?= -O2 -g0
export CGO_CXXFLAGS ?= -O2 -g0
# Where gorgonia.org/cu finds cuda.h, and -lcuda, which stands for a driver that is opened when it is called (cuda/driver).
export CPATH := $(CURDIR)/cuda/include$(if $(CPATH),:$(CPATH))
export LIBRARY_PATH := $(CURDIR)/$(CUDA)/lib$(if $(LIBRARY_PATH),:$(LIBRARY_PATH))

.PHONY: help demo digits fits test test-go test-c test-python test-node test-cuda test-docs test-digits test-install laws soak sanitize bench lint generate cuda-kernels install clean tools setup lib

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

demo: setup $(ADDON) ## Do all set-up and run one real job from Python, C and Node
	@PYTHON=$(PYTHON) LIB=$(LIB) examples/photo/run
	@PYTHON=$(PYTHON) examples/spectrogram/run

digits: setup $(ADDON) ## Teach a small network to read digits, from Python, C and Node (needs scikit-learn, which it installs)
	@PYTHON=$(PYTHON) LIB=$(LIB) examples/digits/run

test: tools test-go test-c test-install test-python test-node test-cuda test-docs test-digits laws ## Do all set-up and run every suite

setup: tools $(LIB) $(VENV)/installed ## Build the library and a virtual environment with the package

tools:
	@.ci/check_tools

# ------------------------------------------------------------------------------------------------------------- building

lib: $(LIB) $(DIRECT) ## Build the shared libraries

# go decides what is out of date, so that the rule always runs.
$(LIB): FORCE $(OPENBLAS) $(CUDA)/lib/libcuda.a
	@echo "building $@"
	@go build -buildmode=c-shared -o $@ \
	  -ldflags '-s -w -extldflags "-Wl,-soname,$(SONAME) -Wl,--version-script=$(CURDIR)/capi/tensor.map"' ./capi
	@rm -f build/libtensor.h
	@ln -sf libtensor.so build/$(SONAME)
	@ln -sf openblas/$(notdir $(OPENBLAS)) build/$(notdir $(OPENBLAS))

# Python's calls past ctypes. It takes its symbols from the interpreter that loads it.
$(DIRECT): $(wildcard bindings/python/direct/*) capi/value.h capi/lists.h include/tensor.h
	@mkdir -p $(@D)
	@$(CC) -std=c11 -O2 -fPIC -fno-plt -shared -fvisibility=hidden -Wall -Wextra -Werror $(CFLAGS) -o $@ $(filter %.c,$^)

$(VENV)/ready: .ci/requirements.txt
	@echo "setting up $(VENV)"
	@python3 -m venv $(VENV)
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check -r .ci/requirements.txt
	@touch $@

# The OpenBLAS that is bundled comes as a wheel; its licence goes along.
$(OPENBLAS): $(VENV)/ready
	@mkdir -p $(@D)
	@$(PYTHON) -c "import scipy_openblas64 as b, shutil; shutil.copy(b.get_lib_dir() + '/$(notdir $@)', '$@')"
	@cp $(VENV)/lib/python3*/site-packages/scipy_openblas64-*.dist-info/licenses/LICENSE.txt $(@D)/LICENSE.txt
	@touch $@

$(CUDA)/lib/libcuda.a: cuda/driver/trampolines.c cuda/driver/driver.h cuda/driver/functions.h cuda/include/cuda.h
	@mkdir -p $(@D)
	@$(CC) -std=gnu11 -O2 -fPIC -Wall -Wextra -Werror -c -o $(@D)/trampolines.o $<
	@rm -f $@ && ar rcs $@ $(@D)/trampolines.o

# A driver for tests, whose device is simulated (docs/cuda.md).
$(CUDA)/sim/libcuda.so.1: FORCE $(VENV)/ready
	@$(PYTHON) cuda/kernels/generate.py simulator $(@D)
	@$(MAKE) --no-print-directory -f cuda/sim/Makefile OUT=$(@D)

PYTHON_SOURCES := $(shell find bindings/python -name '*.py' -not -path '*/tests/*' -o -name '*.pyi' -o -name pyproject.toml)
$(VENV)/installed: $(VENV)/ready $(LIB) $(DIRECT) $(PYTHON_SOURCES)
	@echo "installing the Python package"
	@rm -rf bindings/python/build  # where pip keeps files that the package no longer has
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall ./bindings/python
	@touch $@

$(ADDON): $(LIB) bindings/node/node_modules/.package-lock.json $(wildcard bindings/node/src/*)
	@echo "building the Node addon"
	@$(MAKE) --no-print-directory -C bindings/node

bindings/node/node_modules/.package-lock.json: bindings/node/package-lock.json
	@echo "installing the Node packages"
	@cd bindings/node && npm ci --silent --no-audit --no-fund

generate: ## Write all generated files from the operator entries and the kernel sources
	@go run ./engine/schema/generate

fits: $(VENV)/ready ## Write the tables of special functions anew, engine/kernel/src/gen_fits.h (needs mpmath, which it installs; minutes)
	@$(PYTHON) -m pip install -q mpmath
	@$(PYTHON) engine/kernel/accuracy/fits.py

cuda-kernels: $(VENV)/ready ## Compile the kernels of the CUDA backend anew (needs NVRTC, which it installs; minutes)
	@$(PYTHON) -m pip install -q --disable-pip-version-check nvidia-cuda-nvrtc-cu12==12.4.127
	@$(PYTHON) cuda/kernels/generate.py ptx

install: $(LIB) ## Install header, library, CMake package and pkg-config file below PREFIX
	install -d $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/lib/cmake/tensor
	install -m 644 include/tensor.h $(DESTDIR)$(PREFIX)/include/
	install -m 755 $(LIB) $(DESTDIR)$(PREFIX)/lib/libtensor.so.$(VERSION)
	ln -sf libtensor.so.$(VERSION) $(DESTDIR)$(PREFIX)/lib/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(PREFIX)/lib/libtensor.so
	install -m 755 $(OPENBLAS) $(DESTDIR)$(PREFIX)/lib/
	install -m 644 cmake/tensor-config.cmake $(DESTDIR)$(PREFIX)/lib/cmake/tensor/
	sed 's/@VERSION@/$(VERSION)/' cmake/tensor-config-version.cmake.in > $(DESTDIR)$(PREFIX)/lib/cmake/tensor/tensor-config-version.cmake
	sed 's/@VERSION@/$(VERSION)/' cmake/tensor.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/tensor.pc

# -------------------------------------------------------------------------------------------------------------- testing

test-go: tools $(LIB) ## Go's suites, in every CPU tier that the machine has
	go vet ./...
	go test ./...
	LIBTENSOR_CPU=baseline go test -count=1 ./engine/ops/... ./engine/kernel/...
	LIBTENSOR_CPU=avx2 go test -count=1 ./engine/ops/... ./engine/kernel/...

test-c: setup ## C programs, plain and under AddressSanitizer, and every operator beside Python
	capi/test/run
	$(PYTHON) capi/test/operators.py build/operators

test-install: tools $(LIB) ## Consumers of an installed prefix: cc, pkg-config, CMake
	capi/test/install

test-python: setup ## The Python package's suite, with the reference cases
	cd bindings/python && ../../$(PYTHON) -m pytest -q tests
	PYTHON=$(PYTHON) LIB=$(LIB) bindings/python/direct/sanitize

test-node: setup $(ADDON) ## The Node addon's suite, with every operator beside Python
	$(PYTHON) capi/test/operators.py build/operators
	cd bindings/node && npm test --silent

test-cuda: setup $(CUDA)/sim/libcuda.so.1 ## The CUDA backend, on a simulated device
	LD_LIBRARY_PATH=$(CURDIR)/$(CUDA)/sim $(PYTHON) -m pytest -q cuda/tests
	LD_LIBRARY_PATH=$(CURDIR)/$(CUDA)/sim $(PYTHON) capi/test/laws --rounds 12 --only devices
	LD_LIBRARY_PATH=$(CURDIR)/$(CUDA)/sim $(PYTHON) capi/test/laws --rounds 2 --device cuda $(addprefix --only ,views outputs refusals allocations storages gradients)

test-digits: setup $(ADDON) ## A small network learns digits from Python, C and Node, the same to the last bit
	PYTHON=$(PYTHON) LIB=$(LIB) examples/digits/run short

test-docs: setup ## docs/adding_an_operator.md, followed to the letter in a copy of the tree
	.ci/adding_an_operator.py

laws: setup $(ADDON) ## A sample of the laws that every operator keeps (docs/testing.md); LAWS="--budget 300 --seed 2" gives other arguments
	$(PYTHON) capi/test/laws $(or $(LAWS),--rounds 1 $(addprefix --only ,views outputs refusals allocations pieces places tiers languages storages hostile threads derivatives gradients kinds names quantized dispatch))

soak: setup $(ADDON) ## All of the laws, for hours; LAWS="--only views -v" gives other arguments
	$(PYTHON) capi/test/laws $(or $(LAWS),--rounds 100)

sanitize: setup ## Laws, hostile calls and threads over a library built with ASan and UBSan, in build/sanitized
	PYTHON=$(PYTHON) capi/test/laws/sanitize $(or $(LAWS),$(addprefix --only ,views outputs refusals pieces allocations hostile threads) --rounds 20)

bench: setup ## Timings beside NumPy, and PyTorch where it is installed (never part of a test)
	$(PYTHON) examples/bench/run.py
	$(PYTHON) examples/bench/files.py
	$(PYTHON) examples/bench/small.py
	$(PYTHON) examples/bench/sparse.py

lint: tools $(LIB) $(VENV)/ready bindings/node/node_modules/.package-lock.json ## Formatters and linters of every language
	@.ci/lint

clean: ## Remove everything that was built
	rm -rf build bindings/node/build bindings/node/node_modules bindings/python/build bindings/python/*.egg-info bindings/python/libtensor/lib

FORCE:
