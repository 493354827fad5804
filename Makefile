# Pawl: the commands for people. CMake presets and Ninja do the work.
#   make run      installs what is missing, builds, and runs an order that waits for its approval
#   make demo     the same with a sample graph built in C++: timeline and ledgers
#   make test     installs, builds and runs every test
#   make check FOLDER=core   builds and runs the tests of one folder of src/
#   make storm    longer simulator swarms and kill -9 storms
#   make bench    the benchmarks, as JSON in build/release/bench
#   make bench-compare BASE=REVISION [BENCH=...]   the same benchmark of two revisions in turns, and the ratios
#   make asan     every test under AddressSanitizer and UBSan; make tsan: under ThreadSanitizer
#   make package  two .deb and a tar of the binary and the library, in build/release/packages
#   make install  installs the library, headers, CMake package, pkg-config file and the binary
.DEFAULT_GOAL := help
.PHONY: help setup build binary library run demo test check storm bench bench-compare asan tsan install package clean format
BUILD := build/release
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local

help:
	@sed -n 's/^#   //p' Makefile

setup:
	@scripts/setup

$(BUILD)/build.ninja: | setup
	@cmake --preset release > /dev/null

build: setup $(BUILD)/build.ninja
	@cmake --build --preset release -j $(JOBS)

binary: setup $(BUILD)/build.ninja
	@cmake --build --preset release -j $(JOBS) --target pawl_cli

library: setup $(BUILD)/build.ninja
	@cmake --build --preset release -j $(JOBS) --target pawl pawl_cli

check: setup $(BUILD)/build.ninja
	@test -n "$(FOLDER)" || { echo "say which folder of src/: make check FOLDER=core" >&2; exit 2; }
	@cmake --build --preset release -j $(JOBS) --target $(FOLDER)_test
	@$(BUILD)/src/$(FOLDER)/$(FOLDER)_test --gtest_brief=1

# A new order each time: a finished one would only show its result.
run: binary
	@rm -f pawl-run.db pawl-run.db-wal pawl-run.db-shm
	@PATH="$(CURDIR)/$(BUILD):$$PATH" PAWL_STORE="$(CURDIR)/pawl-run.db" examples/graphs/play order_approved
	@echo
	@$(BUILD)/pawl show o-1 --store pawl-run.db
	@echo "It is all in pawl-run.db: $(BUILD)/pawl jobs --store pawl-run.db"

demo: binary
	@$(BUILD)/pawl demo

test: build
	@scripts/test $(BUILD) -j $(JOBS)

storm: build
	@scripts/storm $(BUILD)

bench: setup $(BUILD)/build.ninja
	@cmake --build --preset release -j $(JOBS) --target benches
	@scripts/bench $(BUILD)

bench-compare: setup
	@test -n "$(BASE)" || { echo "say which revision: make bench-compare BASE=HEAD~1" >&2; exit 2; }
	@scripts/bench_compare $(BASE) $(BENCH)

asan tsan: setup
	@cmake --preset $@ > /dev/null
	@cmake --build --preset $@ -j $(JOBS)
	@scripts/test build/$@ -j $(JOBS)

package: library
	@cd $(BUILD) && cpack > cpack.log || { cat cpack.log >&2; exit 1; }
	@ls -1 $(BUILD)/packages/*.deb $(BUILD)/packages/*.gz

install: library
	@cmake --install $(BUILD) --prefix $(PREFIX)

format:
	@git ls-files '*.cc' '*.h' | xargs clang-format-14 -i

clean:
	rm -rf build
