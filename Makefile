# `make` lists the targets. What they need beside Go, git, make and a C compiler
# is built from tools/go.mod into build/bin.

SHELL := bash
GO    ?= go
BUILD := build
BIN   := $(BUILD)/bin

# Stamp the version only where git can read the checkout: the go command fails
# on a repository that git refuses, such as one that another user owns.
VCS = $(shell git describe --always >/dev/null 2>&1 && echo auto || echo false)

PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

FUZZTIME ?= 10s
BENCH    ?= .
COUNT    ?= 6
BASE     ?=

.PHONY: help demo build install test lint fuzz bench cover conformance sdktest clean
help: ## show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: build ## import a recorded session and show its debrief, offline
	@rm -rf $(BUILD)/demo && mkdir -p $(BUILD)/demo
	@RAX_TRACE_DIR="$(CURDIR)/$(BUILD)/demo" ./fixtures/demo.sh "$(CURDIR)/$(BUILD)/rax"

build: ## build build/rax, with its link build/rax-diagnose
	@mkdir -p $(BUILD)
	$(GO) build -trimpath -buildvcs=$(VCS) -o $(BUILD)/rax ./cmd/rax
	@ln -sf rax $(BUILD)/rax-diagnose

install: ## install rax, and rax-diagnose beside it, where go install puts programs
	$(GO) install -trimpath -buildvcs=$(VCS) ./cmd/rax
	@dir="$$($(GO) env GOBIN)"; path="$$($(GO) env GOPATH)"; exe="$$($(GO) env GOEXE)"; \
	dir="$${dir:-$${path%%:*}/bin}"; \
	ln -sf "rax$$exe" "$$dir/rax-diagnose$$exe" && echo "installed rax and rax-diagnose in $$dir"

test: ## vet the code and run every test under the race detector
	./tools/setup.sh
	$(GO) vet ./...
	$(GO) vet -tags noreasoning ./...
	$(GO) test -tags noreasoning ./kernel/strategy ./kernel/flow
	./tools/test.sh

.PHONY: lint-format lint-modules lint-imports lint-platforms lint-code
lint: lint-format lint-modules lint-imports lint-platforms lint-code ## check format, modules, imports, platforms and code

lint-format:
	@files="$$(gofmt -l .)" && if [ -n "$$files" ]; then echo "gofmt would change:"; echo "$$files"; exit 1; fi

lint-modules:
	$(GO) mod tidy -diff
	$(GO) mod verify

lint-imports:
	$(GO) -C tools test ./...
	$(GO) -C tools run ./importcheck ..

lint-platforms:
	@for platform in $(PLATFORMS); do \
		echo "go build ./... for $$platform"; \
		CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} $(GO) build -buildvcs=false ./... || exit 1; \
	done

lint-code: $(BIN)/golangci-lint
	GOFLAGS="$$GOFLAGS -buildvcs=false" $(BIN)/golangci-lint run ./...
	cd tools && GOFLAGS="$$GOFLAGS -buildvcs=false" ../$(BIN)/golangci-lint run ./...

fuzz: ## run every fuzz target for FUZZTIME (10s)
	FUZZTIME=$(FUZZTIME) ./tools/fuzz.sh

bench: $(BIN)/benchstat ## run benchmarks BENCH (.) COUNT (6) times; BASE=old.txt compares
	@mkdir -p $(BUILD)
	set -o pipefail; $(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) ./... | tee $(BUILD)/bench.txt
	$(BIN)/benchstat $(BASE) $(BUILD)/bench.txt

cover: ## measure coverage over all packages; profile in build/cover.out
	@mkdir -p $(BUILD)
	$(GO) test -coverpkg=./... -coverprofile=$(BUILD)/cover.out ./...
	@$(GO) tool cover -func=$(BUILD)/cover.out | tail -n 1

conformance: ## read the recordings in RAX_DATA and print the tally of every format
	$(GO) test -count=1 -run Conformance -v ./parsers/...

sdktest: ## talk to the fake providers with the providers' own clients
	$(GO) -C sdktest vet ./...
	$(GO) -C sdktest test -count=1 ./...

clean: ## remove build/
	rm -rf $(BUILD)

# The programs in build/bin are built again when their versions change.
TOOL = CGO_ENABLED=0 $(GO) -C tools build -buildvcs=false -o "$(CURDIR)/$@"

$(BIN)/golangci-lint: tools/go.mod tools/go.sum
	@echo "building golangci-lint once, which takes a minute or two"
	@$(TOOL) github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(BIN)/benchstat: tools/go.mod tools/go.sum
	@$(TOOL) golang.org/x/perf/cmd/benchstat

$(BIN)/gotestsum: tools/go.mod tools/go.sum
	@$(TOOL) gotest.tools/gotestsum
