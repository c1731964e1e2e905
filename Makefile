# What can be done here. `make` alone builds; every target is safe to repeat.
#
#   make build   bin/tenon and the plugin bundle, generating what is missing
#   make demo    the main job on the embedded engine: nothing else installed
#   make test    installs what the tests need, runs every test, times each suite
#   make lint    formatters and checkers
#   make fmt     formats what lint would complain of
#   make bench   ratios to the direct call, measured in the same run; a thousand tools
#   make context-cost   what tools cost a model's context, directly and through tenon
#   make scale   time and memory by sessions, runs at once and tools
#   make soak    minutes of load with faults, bounded
#   make faults  every fault of docs/reliability.md; FAULTS=50 for how often (10)
#   make mutants each case on a build with the fault it is about: it must fail there
#   make fuzz    every parser of outside bytes for a second; FUZZ=60s for longer
#   make audit   known weaknesses of what we depend on; says when it cannot ask
#   make dist    a release in dist/: binaries, npm packages, checksums; then smoke
#   make smoke   tries what is in dist/ from an empty directory
#   make clean   removes what was built

SHELL    := /bin/bash
GO       ?= go
NPM      ?= npm
VERSION  ?= 0.1.0-devel
COMMIT   := $(shell git rev-parse --short=12 HEAD 2>/dev/null)
LDFLAGS  := -s -w -X tenon/daemon/internal/local.version=$(VERSION) -X tenon/daemon/internal/local.commit=$(COMMIT)
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
# Without cgo the binary is static, and starts without a dynamic loader.
BUILD    := CGO_ENABLED=0 $(GO) build -ldflags '$(LDFLAGS)' -o bin/tenon ./daemon/cmd/tenon
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
ENGINE   := daemon/internal/engine/embedded
LIBRARIES := modernc.org/sqlite github.com/evanw/esbuild/pkg/api \
  github.com/modelcontextprotocol/go-sdk/mcp github.com/spf13/viper github.com/spf13/cobra
BUNDLE   := daemon/internal/cli/opencode/bundle
# What the binary carries of the plugins. A file that the build did not make
# ends it here, not when somebody installs.
CARRIED  := opencode-v1/package.json $(addprefix opencode-v1/dist/,tenon.js tui.js) \
  $(addprefix opencode-v2/dist/,server.js tui.js rpc.js package.json)

.PHONY: build generate plugins demo test lint fmt bench scale context-cost fuzz faults soak mutants audit dist smoke clean
.DEFAULT_GOAL := build

build: generate plugins
	$(BUILD)

# The engine's Go source is made from a pinned npm package and never committed;
# the generator itself decides whether anything is stale. Without cgo as well, so
# that a first build compiles the standard library once. What the binary needs
# besides is compiled meanwhile, which saves half a minute of a first build.
generate:
	@CGO_ENABLED=0 $(GO) build $(LIBRARIES) & \
	  CGO_ENABLED=0 $(GO) generate ./$(ENGINE); made=$$?; wait; exit $$made

# The plugins, and the copies of them that the binary carries.
plugins: node_modules/.tenon-installed
	@$(NPM) run --silent build
	@for file in $(CARRIED); do to=$(BUNDLE)/$${file/dist\//}; \
	  mkdir -p $$(dirname $$to) && { cmp -s plugins/$$file $$to || cp plugins/$$file $$to; } || exit 1; done

node_modules/.tenon-installed: package.json package-lock.json
	@$(NPM) ci --no-audit --no-fund --loglevel=error
	@touch $@

# Needs Go and npm (for the engine's pinned source) only: no plugin, no config.
demo: generate
	@$(BUILD)
	@bin/tenon demo

test: build
	@./test/run

lint: generate node_modules/.tenon-installed
	@unformatted=$$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l); \
	  if [ -n "$$unformatted" ]; then echo "not formatted (make fmt):"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) $$($(GO) list ./... | grep -v /embedded/qjs$$)
	$(NPM) run --silent lint

fmt:
	@git ls-files -co --exclude-standard '*.go' | xargs gofmt -w
	@$(NPM) run --silent format

bench: build
	@./test/bench

scale: build
	@./test/scale

context-cost: build
	@./test/context-cost

fuzz: generate node_modules/.tenon-installed
	@./test/fuzz

# What takes a minute by itself is left out where FAULTS is 1.
faults: build
	@FAULTS=$${FAULTS:-10} $(GO) test -race -count=1 -timeout 6h -v ./daemon/internal/faults

soak: build
	@./test/soak

# Apart from test: one build after the other takes an hour. Interrupted, it goes
# on where it was.
mutants: build
	@./test/mutants

# Apart from test and lint: the sources are services that may be out of reach.
audit: generate
	@GO='$(GO)' NPM='$(NPM)' GOVULNCHECK='$(GOVULNCHECK)' ./test/audit

dist: generate plugins
	@GO='$(GO)' NPM='$(NPM)' VERSION='$(VERSION)' release/build dist
	@release/smoke dist

smoke:
	@release/smoke dist

clean:
	rm -rf bin dist node_modules test/node_modules test/hosts/node_modules plugins/*/dist $(ENGINE)/qjs $(BUNDLE)/opencode-*
