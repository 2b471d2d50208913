# What a person needs to run here. Each target installs what is missing first
# (Debian 12 or 13, Ubuntu 22.04 or 24.04), says so, and does nothing twice.

# dev is what `make test` builds too, so the second of the two is quick.
PROFILE ?= dev

.PHONY: help demo demo-stop build test bench soak lint clean-tools

help:
	@echo 'make demo         rent a card on this machine and see the bill (ONCE=1: end after it; PORT=8080)'
	@echo 'make demo-stop    stop the server that make demo left running'
	@echo 'make test         every test, PostgreSQL included (FAST=1: SQLite only, no sandbox, no end-to-end)'
	@echo 'make lint         formatting, clippy, dependencies, house rules (ADVISORIES=fetch: known holes too)'
	@echo 'make build        the suanli program (PROFILE=release for the fast one)'
	@echo 'make bench        the benchmarks, into bench/results.jsonl'
	@echo 'make soak         rents for MINUTES=10 and looks for leaks'
	@echo 'make clean-tools  remove what was installed into .tools/'

demo:
	@scripts/setup.sh build run
	@PROFILE=$(PROFILE) ONCE=$(ONCE) PORT=$(PORT) DATA="$(DATA)" GPU="$(GPU)" scripts/demo.sh

demo-stop:
	@DATA="$(DATA)" PORT=$(PORT) scripts/demo-stop.sh

build:
	@scripts/setup.sh build
	@PROFILE=$(PROFILE) scripts/build.sh

test:
	@scripts/setup.sh build run test
	@FAST=$(FAST) scripts/test.sh

lint:
	@scripts/setup.sh build lint
	@ADVISORIES=$(ADVISORIES) scripts/lint.sh

bench:
	@scripts/setup.sh build run bench test
	@scripts/bench.sh

soak:
	@scripts/setup.sh build run
	@PROFILE=$(PROFILE) MINUTES=$(MINUTES) PORT=$(PORT) scripts/soak.sh

clean-tools:
	rm -rf .tools
