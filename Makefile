# libtensor's build. `make help` lists the targets.

VERSION := 0.1.0
SONAME := libtensor.so.0
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib

# The target architecture of the library: this system, or with ARCH=arm64 arm64, by Debian's cross compiler, in build/arm64.
export ARCH ?=
ifneq ($(filter-out arm64,$(ARCH)),)
$(error ARCH is $(ARCH); it can be arm64, or empty for this machine)
endif
ifneq ($(ARCH),)
export CC := aarch64-linux-gnu-gcc
export CXX := aarch64-linux-gnu-g++
export AR := aarch64-linux-gnu-ar
STRIP := aarch64-linux-gnu-strip
export GOARCH := $(ARCH)
export CGO_ENABLED := 1
endif
STRIP ?= strip
BUILD := build$(ARCH:%=/%)
LIB := $(BUILD)/libtensor.so
DIRECT := $(BUILD)/libtensor_direct.so
STATIC := $(BUILD)/libtensor.a
TENSOR_RUN := $(BUILD)/tensor-run
VENV := build/venv
PYTHON := $(VENV)/bin/python
# The OpenBLAS of the library: bundled (downloaded with pip, and installed next to it), or the system's.
OPENBLAS ?= $(if $(shell command -v python3),bundled,system)
ifeq ($(filter bundled system,$(OPENBLAS)),)
$(error OPENBLAS is $(OPENBLAS); it can be bundled or system)
endif
BLAS := $(if $(filter bundled,$(OPENBLAS)),$(BUILD)/openblas/libscipy_openblas64_.so)
LICENSES := $(BUILD)/licenses
LICENSED := LICENSE go.mod .ci/licenses .ci/licenses.txt
ADDON := bindings/node/$(BUILD)/libtensor.node
CUDA := $(BUILD)/cuda
# The package of the CUDA kernels, which the library searches next to itself; an sdist has none.
KERNELS := $(if $(wildcard cuda/kernels/*.ptx.gz),$(BUILD)/libtensor-cuda/gen_entries.txt)
JOBS ?= $(shell nproc)
# Downloads run while kernels compile.
FETCHING := $(MAKE) --no-print-directory -s -j4

ifdef BLAS
export LIBTENSOR_OPENBLAS ?= $(CURDIR)/$(BLAS)
endif
# Tests, vet and the library use the same flags, so that they share go's cache. The library comes first: only the build of a shared library caches the
# headers of exports, without which go compiles a package again. netgo: one of the modules imports net, which would link the system's resolver.
export GOFLAGS ?= -trimpath -buildmode=pie -tags=$(TAGS)
# go requests debug information that the link discards, a quarter of the compile time of the kernels.
export CGO_CFLAGS ?= -O2 -g0
export CGO_CXXFLAGS ?= -O2 -g0
# Where gorgonia.org/cu finds cuda.h, and -lcuda, which represents a driver that is opened when it is called (cuda/driver).
export CPATH := $(CURDIR)/cuda/include$(if $(CPATH),:$(CPATH))
export LIBRARY_PATH := $(CURDIR)/$(CUDA)/lib$(if $(LIBRARY_PATH),:$(LIBRARY_PATH))
ifneq ($(ARCH),)
export CGO_LDFLAGS ?= -O2 -g0 -L$(CURDIR)/$(CUDA)/lib  # cross compilers do not look at LIBRARY_PATH
endif

# The suites of make test, and those that make test-all adds, both in the order in which they start: the longest first.
QUICK := python go node c operators docs laws-sample ci
SLOW := laws python-slow cuda packages go-exhaustive sanitized cuda-laws install walkthrough c-asan amx models digits cuda-devices python-asan

.PHONY: help compilers demo digits models attention service site fits test test-all ready test-world laws soak sanitize release bench lint generate cuda cuda-kernels placed install uninstall dist clean tools setup lib library openblas addon licenses system-openblas

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

demo: tools ## Set everything up and process a photograph and a sound in Python, C and Node
	@$(FETCHING) TIERS=$(TIERS) $(LIB) $(VENV)/installed $(ADDON)
	@PYTHON=$(PYTHON) LIB=$(LIB) examples/photo/run
	@PYTHON=$(PYTHON) examples/spectrogram/run

digits: setup $(ADDON) ## Train a small network on digits in Python, C and Node (installs scikit-learn)
	@PYTHON=$(PYTHON) LIB=$(LIB) examples/digits/run

models: setup $(ADDON) ## Train a CNN on letters and a transformer on text, run both in Python, C and Node with one file of weights, and export them (images in build/models)
	@PYTHON=$(PYTHON) LIB=$(LIB) examples/models/run

attention: setup ## Train a small transformer on a sentence, compare each loss with PyTorch's, and draw the attention weights (build/attention/attention.svg)
	@$(PYTHON) examples/attention/attention.py build/attention

service: setup $(ADDON) ## Load-test a small HTTP service in Node, and plot its memory over time (build/service/memory.svg)
	@node examples/service/load.js build/service

test: tools ## Set everything up and run the quick suites, with the kernels of this CPU's tier (minutes)
	@$(FETCHING) TIERS=$(TIERS) setup $(ADDON)
	@.ci/suites.py $(JOBS) $(MAKEOVERRIDES) $(QUICK:%=suite-%)

test-all: tools ## Set everything up and run every suite, with the kernels of all CPU tiers
	@$(FETCHING) setup $(ADDON) $(CUDA)/sim/libcuda.so.1
	@.ci/suites.py $(JOBS) $(MAKEOVERRIDES) $(patsubst %,suite-%,$(SLOW) $(filter-out laws-sample,$(QUICK)))

setup: tools $(LIB) $(TENSOR_RUN) $(VENV)/installed $(VENV)/tests ## Build the library and a virtual environment with the package and the test dependencies

tools:
	@.ci/check_tools

# ------------------------------------------------------------------------------------------------------------- building

lib: $(LIB) $(DIRECT) $(TENSOR_RUN) ## Build the shared libraries and tensor-run, which runs exported programs

# The library contains the kernels of all CPU tiers, for any processor; TIERS=native excludes those of tiers that this processor does not use, which
# saves most of a first build. The demo does that if there is no complete library yet.
export TIERS ?= all
NATIVE_TIER = $(shell .ci/cpu_tier)
LEFT_OUT = $(if $(filter native,$(TIERS)),$(filter-out $(NATIVE_TIER),baseline avx2 avx512))
comma := ,
TAGS = $(subst $() ,$(comma),$(strip netgo $(addprefix without_,$(LEFT_OUT))))
WHOLE = $(filter all,$(shell cat $(BUILD)/tiers 2>/dev/null))
demo digits models test: TIERS := $(or $(WHOLE),native)
# Reports progress, and keeps the modification time of an unchanged library. Builds without the bundled OpenBLAS may lack Python: go builds without
# progress then.
GO_BUILD := $(if $(BLAS),.ci/go_build.py,go build)

compilers:
	@.ci/check_tools library

# go decides whether the library is up to date, so that the rule always runs. It needs no downloads.
library: $(CUDA)/lib/libcuda.a | $(if $(BLAS),,system-openblas)
	@echo "building $(LIB)"
	@SONAME=$(SONAME) GO_BUILD="$(GO_BUILD)" capi/link $(LIB) -tags "$(TAGS)"
	@echo $(TIERS) > $(BUILD)/tiers
	@ln -sf libtensor.so $(BUILD)/$(SONAME)

$(STATIC): $(LIB) capi/archive capi/tensor.map
	@echo "building $@"
	@GO_BUILD="$(GO_BUILD)" capi/archive $@ -tags "$(TAGS)"

# tensor-run, which finds the library in the folder RUNPATH.
LINK_TENSOR_RUN = $(CC) -std=c11 -O2 -s -Wall -Wextra -Werror $(CFLAGS) -Iinclude $(wildcard capi/run/*.c) -L$(BUILD) -ltensor -ldl $(if $(RUNPATH),-Wl$(comma)-rpath$(comma)'$(RUNPATH)')
$(TENSOR_RUN): RUNPATH = $$ORIGIN
$(TENSOR_RUN): $(wildcard capi/run/*) include/tensor.h | $(LIB)
	@$(LINK_TENSOR_RUN) -o $@

# The OpenBLAS that the library loads from its folder, unless it uses the system's.
openblas: $(or $(BLAS),system-openblas)
	@mkdir -p $(BUILD)
	@rm -f $(BUILD)/libscipy_openblas64_.so
	@$(if $(BLAS),ln -s openblas/$(notdir $(BLAS)) $(BUILD)/)

$(LIB): library openblas $(KERNELS)
	@:

$(BUILD)/libtensor-cuda/gen_entries.txt: $(wildcard cuda/kernels/*.ptx.gz cuda/package/*) cuda/kernels/gen_entries.txt LICENSE
	@rm -rf $(@D) && mkdir -p $(@D)
	@cp $^ $(@D)

# Python's calls past ctypes. It takes its symbols from the interpreter that loads it.
$(DIRECT): $(wildcard bindings/python/direct/*) capi/closest.h capi/value.h capi/lists.h capi/functions.h include/tensor.h
	@mkdir -p $(@D)
	@$(CC) -std=c11 -O2 -s -fPIC -fno-plt -shared -fvisibility=hidden -Wall -Wextra -Werror $(CFLAGS) -o $@ $(filter %.c,$^)

$(PYTHON):
	@python3 -m venv $(VENV)

$(VENV)/ready: .ci/requirements.txt $(PYTHON)
	@echo "setting up $(VENV)"
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check -r .ci/requirements.txt
	@touch $@

$(VENV)/tests: .ci/requirements-test.txt $(VENV)/ready
	@echo "installing what the tests use"
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check -r .ci/requirements-test.txt
	@touch $@

# The bundled OpenBLAS is downloaded as a wheel; its license is installed with it.
$(BUILD)/openblas/libscipy_openblas64_.so: .ci/requirements.txt | $(PYTHON)
	@echo "fetching OpenBLAS"
	@rm -rf $(@D)/wheel && mkdir -p $(@D)/wheel
	@$(PYTHON) -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: -d $(@D)/wheel \
	  $(if $(ARCH),--platform manylinux2014_aarch64 --platform manylinux_2_28_aarch64) $$(grep '^scipy-openblas64==' $<) || { echo "OpenBLAS cannot be fetched; make OPENBLAS=system uses that of the system"; exit 1; }
	@$(PYTHON) -m zipfile -e $(@D)/wheel/*.whl $(@D)/wheel
	@cp $(@D)/wheel/*/lib/$(notdir $@) $(@D)/wheel/*.dist-info/licenses/LICENSE.txt $(@D)
	@$(STRIP) --strip-unneeded $@
	@rm -rf $(@D)/wheel
	@touch $@

system-openblas:
	@PATH="$$PATH:/usr/sbin:/sbin"; ldconfig -p | grep -qE 'libopenblas(64_?)?\.so\.0' || { \
	  echo "The system has no OpenBLAS (libopenblas.so.0). On Debian: apt-get install libopenblas0; or, with Python, make OPENBLAS=bundled."; exit 1; }

$(CUDA)/lib/libcuda.a: cuda/driver/trampolines.c cuda/driver/driver.h cuda/driver/functions.h cuda/include/cuda.h | compilers
	@mkdir -p $(@D)
	@$(CC) -std=gnu11 -O2 -fPIC -Wall -Wextra -Werror -c -o $(@D)/trampolines.o $<
	@rm -f $@ && $(AR) rcs $@ $(@D)/trampolines.o

# A driver for tests, whose device is simulated (docs/cuda.md).
$(CUDA)/sim/libcuda.so.1: FORCE $(VENV)/ready
	@$(PYTHON) cuda/kernels/generate.py simulator $(@D)
	@$(MAKE) --no-print-directory -s -f cuda/sim/Makefile OUT=$(@D)

PYTHON_SOURCES := $(shell find bindings/python -name '*.py' -not -path '*/tests/*' -o -name '*.pyi' -o -name pyproject.toml)
$(VENV)/installed: $(VENV)/ready $(LIB) $(DIRECT) $(PYTHON_SOURCES) $(LICENSED) | licenses
	@echo "installing the Python package"
	@rm -rf bindings/python/build  # where pip keeps files that the package no longer has
	@LIBTENSOR_LIBRARY=$(CURDIR)/$(LIB) $(PYTHON) -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall ./bindings/python $(dir $(KERNELS))
	@touch $@

addon: tools $(ADDON) ## Build the Node addon, after which npm install ./bindings/node works

$(ADDON): $(LIB) bindings/node/node_modules/.package-lock.json $(wildcard bindings/node/src/* capi/glibc*) $(LICENSED) | licenses
	@echo "building the Node addon"
	@$(MAKE) --no-print-directory -s -C bindings/node

bindings/node/node_modules/.package-lock.json: bindings/node/package-lock.json
	@echo "installing the Node packages"
	@cd bindings/node && npm ci --silent --no-audit --no-fund

generate: ## Write all generated files from the schemas of operators and dtypes and the kernel sources
	@go run ./engine/schema/dtypes/generate
	@go run ./engine/schema/generate

fits: $(VENV)/ready ## Compute the coefficients of special functions again, engine/kernel/src/gen_fits.h and gen_bins.h (installs mpmath; minutes)
	@$(PYTHON) -m pip install -q mpmath
	@$(PYTHON) engine/kernel/accuracy/fits.py
	@$(PYTHON) engine/kernel/accuracy/bins.py

# The site and its tools are separate: no other target needs them.
SITE := build/site-venv
site: $(SITE)/ready ## Build the documentation site in build/site (requires Python; installs mkdocs in a separate virtual environment)
	@echo "making the site"
	@NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build --quiet --clean
	@echo "build/site/index.html and $$(find build/site -name index.html | wc -l) pages, to be served as they are: python3 -m http.server -d build/site"

$(SITE)/ready: docs/site/requirements.txt
	@echo "setting up $(SITE)"
	@python3 -m venv $(SITE)
	@$(SITE)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

cuda: setup ## Set everything up with CUDA kernels, and install cuBLAS, cuFFT and cuSOLVER in the virtual environment (more than 1 GB)
	@$(PYTHON) -m pip install -q --disable-pip-version-check nvidia-cublas-cu12 nvidia-cufft-cu12 nvidia-cusolver-cu12

cuda-kernels: $(VENV)/ready ## Compile the kernels of the CUDA backend again (installs NVRTC; minutes)
	@$(PYTHON) -m pip install -q --disable-pip-version-check nvidia-cuda-nvrtc-cu12==12.4.127
	@$(PYTHON) cuda/kernels/generate.py ptx

# The licenses of the library's parts, which every package contains.
licenses: $(BLAS)
	@.ci/licenses $(LICENSES) $(VERSION) $(if $(BLAS),$(dir $(BLAS))LICENSE.txt)

# The CMake package and the pkg-config file locate the headers relative to themselves, so that the prefix is relocatable. Programs get an rpath,
# unless the library is in a default folder.
FROM_LIBDIR = realpath -m --relative-to "$(LIBDIR)"
SYSTEM_LIBDIRS = /lib /lib64 /usr/lib /usr/lib64 /usr/lib/$(shell $(CC) -print-multiarch)
RPATH = $(if $(filter $(SYSTEM_LIBDIRS),$(LIBDIR)),,-Wl,-rpath,\$${libdir} )
FILLED = sed "s|@VERSION@|$(VERSION)|; s|@PREFIX@|$$($(FROM_LIBDIR) "$(PREFIX)")|; s|@RPATH@|$(RPATH)|"

# Relative paths would be this folder's, and an empty one the whole system's.
placed:
	$(foreach name,PREFIX LIBDIR,$(if $(filter /%,$($(name))),,$(error $(name) is "$($(name))"; it must be a whole path, such as /usr/local$(if $(filter LIBDIR,$(name)),/lib64))))@:

install: RUNPATH = $(if $(RPATH),$$ORIGIN/$(shell realpath -m --relative-to "$(PREFIX)/bin" "$(LIBDIR)"))
install: placed $(LIB) $(STATIC) licenses ## Install headers, libraries, tensor-run, CUDA kernels, CMake package, pkg-config file and licences below PREFIX (libraries in LIBDIR, default PREFIX/lib)
	install -d "$(DESTDIR)$(PREFIX)/bin" "$(DESTDIR)$(PREFIX)/include/tensor" "$(DESTDIR)$(LIBDIR)/pkgconfig" "$(DESTDIR)$(LIBDIR)/cmake/tensor" "$(DESTDIR)$(PREFIX)/share/licenses/libtensor"
	install -m 644 include/tensor.h include/tensor.hpp "$(DESTDIR)$(PREFIX)/include/"
	install -m 644 include/tensor/*.hpp "$(DESTDIR)$(PREFIX)/include/tensor/"
	install -m 755 $(LIB) "$(DESTDIR)$(LIBDIR)/libtensor.so.$(VERSION)"
	install -m 644 $(STATIC) "$(DESTDIR)$(LIBDIR)/"
	$(LINK_TENSOR_RUN) -o "$(DESTDIR)$(PREFIX)/bin/tensor-run"
	ln -sf libtensor.so.$(VERSION) "$(DESTDIR)$(LIBDIR)/$(SONAME)"
	ln -sf $(SONAME) "$(DESTDIR)$(LIBDIR)/libtensor.so"
	$(if $(BLAS),install -m 755 $(BLAS) "$(DESTDIR)$(LIBDIR)/")
	$(if $(KERNELS),install -D -m 644 -t "$(DESTDIR)$(PREFIX)/share/libtensor-cuda" $(dir $(KERNELS))gen_*)
	install -m 644 $(LICENSES)/* "$(DESTDIR)$(PREFIX)/share/licenses/libtensor/"
	$(FILLED) cmake/tensor-config.cmake.in > "$(DESTDIR)$(LIBDIR)/cmake/tensor/tensor-config.cmake"
	$(FILLED) cmake/tensor-config-version.cmake.in > "$(DESTDIR)$(LIBDIR)/cmake/tensor/tensor-config-version.cmake"
	$(FILLED) cmake/tensor.pc.in > "$(DESTDIR)$(LIBDIR)/pkgconfig/tensor.pc"

uninstall: placed ## Remove the files that make install with the same PREFIX, LIBDIR and DESTDIR installed
	rm -f "$(DESTDIR)$(PREFIX)/include/tensor.h" "$(DESTDIR)$(PREFIX)/include/tensor.hpp" "$(DESTDIR)$(LIBDIR)/pkgconfig/tensor.pc" \
	  $(addprefix "$(DESTDIR)$(LIBDIR)"/,libtensor.a libtensor.so $(SONAME) libtensor.so.$(VERSION) $(notdir $(BLAS)))
	rm -f $(addprefix "$(DESTDIR)$(PREFIX)"/,bin/tensor-run $(wildcard include/tensor/*.hpp))
	rm -rf "$(DESTDIR)$(LIBDIR)/cmake/tensor" $(addprefix "$(DESTDIR)$(PREFIX)/share"/,licenses/libtensor libtensor-cuda)
	-rmdir --ignore-fail-on-non-empty "$(DESTDIR)$(PREFIX)/include/tensor" 2> /dev/null

PACKAGES ?= tarball deb wheel npm $(if $(ARCH),,cuda sdist source)
dist: tools $(LIB) $(DIRECT) $(VENV)/ready $(ADDON) licenses ## Build all packages in build/dist; PACKAGES="tarball deb" selects some, ARCH=arm64 builds for arm64
	@.ci/dist $(BUILD)/dist $(PACKAGES)
	@cd $(BUILD)/dist && ls -l

# -------------------------------------------------------------------------------------------------------------- testing

# A target suite-NAME runs one suite. .ci/suite.py skips a suite that has passed with all of its inputs, the files and folders before `--`, unchanged.
SUITE = @.ci/suite.py $(@:suite-%=%)
ENGINE := go.mod go.sum engine capi cuda include
PACKAGE := $(LIB) $(DIRECT) $(BLAS) $(VENV)/lib/python3*/site-packages/libtensor bindings/python include
NODE := $(ADDON) bindings/node
LAW_FILES := capi/test engine/schema/operators
PYTEST := $(PYTHON) -m pytest -q
PROCESSES := -n $(JOBS) --maxprocesses 8 --dist loadgroup
LAW := $(PYTHON) capi/test/laws
SIMULATED := env LD_LIBRARY_PATH=$(CURDIR)/$(CUDA)/sim
GO_TEST := env LD_LIBRARY_PATH=$(CURDIR)/$(BUILD) go test -vet=off
# Packages with tests that -short makes shorter.
SHORTENED = $(shell grep -rl --include=*_test.go 'testing\.Short()' engine cuda | xargs -n1 dirname | sort -u | sed 's|^|./|')

.PHONY: $(patsubst %,suite-%,$(QUICK) $(SLOW))

test-go: suite-go suite-go-exhaustive ## Go packages; engine/kernel compares the CPU tiers that this CPU supports

suite-go: tools $(LIB)
	$(SUITE) $(ENGINE) $(LIB) bindings docs examples/go examples/exported -- sh -c "$(GO_TEST) -short ./... && $(GO_TEST) -tags netgo,nokernels -run TestWithoutKernels ./engine/dispatch"

suite-go-exhaustive: tools $(LIB)
	$(SUITE) $(ENGINE) -- $(GO_TEST) $(SHORTENED)

test-c: suite-c suite-c-asan suite-operators ## C and C++ programs, also under AddressSanitizer, examples, and every operator compared with Python

suite-c: setup
	$(SUITE) $(LIB) $(BLAS) include capi examples/c examples/cpp -- capi/test/run plain

suite-c-asan: setup
	$(SUITE) $(LIB) $(BLAS) include capi examples/c -- capi/test/run asan

suite-operators: setup
	$(SUITE) $(PACKAGE) capi/test -- $(PYTHON) capi/test/operators.py build/operators

test-amx: suite-amx ## Products, convolutions, attention and recurrences with emulated tile registers of AMX

suite-amx: setup
	$(SUITE) $(PACKAGE) $(ENGINE) capi/test/emulated -- env PYTHON=$(PYTHON) capi/test/emulated "$(TAGS)"

test-install: suite-install suite-packages ## Programs built against an installed prefix (cc, pkg-config, CMake); the contents of each package; the README's commands

suite-install: setup $(ADDON)
	$(SUITE) $(LIB) $(BLAS) capi/archive capi/run include $(LICENSED) cmake Makefile README.md examples/c examples/cpp capi/test/install -- capi/test/install

suite-packages: setup $(ADDON)
	$(SUITE) $(PACKAGE) $(NODE) $(ENGINE) .ci cmake Makefile README.md LICENSE examples -- $(PYTEST) .ci/test_packages.py

test-python: suite-python suite-python-slow suite-python-asan ## The Python package, with the reference cases

PYTHON_SUITE = $(SUITE) $(PACKAGE) $(TENSOR_RUN) README.md docs examples bindings/node engine/serial/testdata -- $(PYTEST) $(PROCESSES) -c bindings/python/pyproject.toml bindings/python/tests
suite-python: setup
	$(PYTHON_SUITE) -m "not slow"

suite-python-slow: setup
	$(PYTHON_SUITE) -m slow

suite-python-asan: setup
	$(SUITE) $(PACKAGE) capi -- env PYTHON=$(PYTHON) LIB=$(LIB) bindings/python/direct/sanitize

test-node: suite-node ## The Node addon, with every operator compared with Python

suite-node: setup $(ADDON) suite-operators
	$(SUITE) $(NODE) README.md docs examples/operators examples/service examples/serverless engine/serial/testdata build/operators/operators.json -- npm test --silent --prefix bindings/node

test-cuda: suite-cuda suite-cuda-devices suite-cuda-laws ## The CUDA backend, on a simulated device

suite-cuda: setup $(ADDON) $(CUDA)/sim/libcuda.so.1
	$(SUITE) $(PACKAGE) $(NODE) cuda $(CUDA)/sim capi/test -- $(SIMULATED) $(PYTEST) $(PROCESSES) cuda/tests

suite-cuda-devices: setup $(ADDON) $(CUDA)/sim/libcuda.so.1
	$(SUITE) $(PACKAGE) $(LAW_FILES) $(CUDA)/sim -- $(SIMULATED) $(LAW) --rounds 12 --only devices

suite-cuda-laws: setup $(ADDON) $(CUDA)/sim/libcuda.so.1
	$(SUITE) $(PACKAGE) $(LAW_FILES) $(CUDA)/sim -- $(SIMULATED) $(LAW) --rounds 2 --device cuda \
	  $(addprefix --only ,views outputs errors allocations storages gradients)

test-digits: suite-digits ## Training of a small network in Python, C and Node, with bitwise identical losses

suite-digits: setup $(ADDON)
	$(SUITE) $(PACKAGE) $(NODE) examples/digits -- env PYTHON=$(PYTHON) LIB=$(LIB) examples/digits/run short

test-models: suite-models ## A CNN and a transformer, with bitwise identical results in Python, C and Node

suite-models: setup $(ADDON)
	$(SUITE) $(PACKAGE) $(TENSOR_RUN) $(NODE) bindings/go docs examples/models examples/exported -- env PYTHON=$(PYTHON) LIB=$(LIB) examples/models/run short

test-docs: suite-docs suite-walkthrough ## Every code block of the documentation; the steps of docs/adding_an_operator.md, in a copy of the tree

suite-docs: setup $(ADDON)
	$(SUITE) $(PACKAGE) $(NODE) $(ENGINE) README.md docs cmake Makefile .ci/test_docs.py .ci/documentation.py -- $(PYTEST) $(PROCESSES) .ci/test_docs.py

suite-walkthrough: setup $(ADDON)
	$(SUITE) $(ENGINE) bindings capi cmake docs examples Makefile .ci -- .ci/adding_an_operator.py

test-ci: suite-ci ## The programs in .ci, the order of C files and the comparison of ABIs

suite-ci: setup
	$(SUITE) .ci $(LIB) include capi bindings/node/src bindings/python/direct -- $(PYTEST) .ci --ignore .ci/test_packages.py --ignore .ci/test_docs.py

test-world: setup ## Integration tests in clean environments (.ci/world); WORLD=prefix runs one, WORLD="--minutes 5" as many as fit
	.ci/world.py $(WORLD)

SAMPLED := views outputs errors allocations pieces places tiers languages storages hostile threads derivatives gradients kinds names quantized positions dispatch layouts callbacks programs pointers
SAMPLE := --rounds 1 $(addprefix --only ,$(SAMPLED))

# A sample of the sample, for make test.
BRIEF := --rounds 1 $(addprefix --only ,hostile storages programs dispatch)

test-laws: suite-laws ## A sample of the property tests of all operators (docs/testing.md)

suite-laws: setup $(ADDON)
	$(SUITE) $(PACKAGE) $(NODE) $(LAW_FILES) -- $(LAW) $(SAMPLE)

suite-laws-sample: setup $(ADDON)
	$(SUITE) $(PACKAGE) $(NODE) $(LAW_FILES) -- $(LAW) $(BRIEF)

laws: setup $(ADDON) ## The same sample, even if it has already passed; LAWS="--budget 300 --seed 2" passes other options
	$(LAW) $(or $(LAWS),$(SAMPLE))

soak: setup $(ADDON) ## All property tests, for hours; LAWS="--only views -v" passes other options
	$(LAW) $(or $(LAWS),--rounds 100)

sanitize: setup ## Property tests, invalid calls and threads with a library built with ASan and UBSan, in build/sanitized
	PYTHON=$(PYTHON) capi/test/laws/sanitize $(or $(LAWS),$(addprefix --only ,views outputs errors pieces allocations hostile threads) --rounds 20)

suite-sanitized: setup
	$(SUITE) $(ENGINE) bindings/python capi/test engine/schema/operators -- env PYTHON=$(PYTHON) capi/test/laws/sanitize \
	  --rounds 5 $(addprefix --only ,views outputs errors allocations hostile threads)

release: setup ## make release VERSION=X.Y.Z: set version and date, check, build packages, commit and tag, without publishing (.ci/release.py --help)
	@.ci/release.py $(VERSION)

bench: setup ## Timings compared with NumPy, and with PyTorch if it is installed (not part of any test)
	$(PYTHON) examples/bench/run.py
	$(PYTHON) examples/bench/absolute.py
	$(PYTHON) examples/bench/files.py
	$(PYTHON) examples/bench/small.py
	$(PYTHON) examples/bench/calls.py
	$(PYTHON) examples/bench/sparse.py
	$(PYTHON) examples/bench/models.py
	$(PYTHON) examples/bench/gguf.py

lint: tools $(LIB) $(VENV)/installed $(VENV)/tests bindings/node/node_modules/.package-lock.json ## Formatters and linters of every language
	@.ci/lint

clean: ## Remove everything that was built
	rm -rf build bindings/node/build bindings/node/node_modules bindings/python/build bindings/python/*.egg-info bindings/python/libtensor/lib

FORCE:
