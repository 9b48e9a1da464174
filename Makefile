# Goldwire. `make help` lists what there is.

GO          ?= go
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME    ?= 30s
BENCHTIME   ?= 100ms
BENCHCOUNT  ?= 3
MUTANTS     ?= -all
REVTESTS    ?= ./...

# What starts no goroutine and shares nothing is tested without the race detector,
# which makes it five times as slow. Where checkers judge hundreds of servers and
# clients, or where scripts start hundreds of processes, it looks at a part (raced
# in these tests), and all of it is tested without.
SEQUENTIAL := ./cmd ./cmd/mcpgen ./gen/... ./spec/... ./generated/mcp \
	./conformance/catalogue ./conformance/match ./conformance/report ./conformance/result ./runtime/revision
SAMPLED    := ./cmd/goldwire ./conformance ./conformance/check ./conformance/client ./conformance/broken

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: ## judge the built-in reference server, as `goldwire check` does
	$(GO) run ./cmd/goldwire check

.PHONY: generate
generate: ## write generated/ from spec/
	$(GO) run ./cmd/mcpgen generate

.PHONY: revision
revision: ## take in a new revision: REV=2027-01-15 FILE=path/to/schema.json
	@test -n "$(REV)" || { echo 'make revision REV=2027-01-15 FILE=path/to/schema.json'; echo 'without FILE it goes on with the schema that was taken in'; exit 2; }
	$(GO) run ./cmd/mcpgen revision --steps --revision $(REV) $(FILE)
	@bad=0; \
	echo '$(GO) vet $(REVTESTS)' && $(GO) vet $(REVTESTS) && echo '$(GO) test $(REVTESTS)' && $(GO) test -vet=off $(REVTESTS) || bad=1; \
	$(GO) run ./cmd/mcpgen revision --left --revision $(REV); \
	if [ $$bad = 1 ]; then echo 'what failed above is left too'; exit 1; fi

.PHONY: test
test: ## run every test that needs nothing but Go
	$(GO) test -p 3 -vet=off -race -shuffle=on $$($(GO) list ./... | grep -vxF "$$($(GO) list $(SEQUENTIAL))") # make lint vets
	$(GO) test -p 3 -vet=off -shuffle=on $(SEQUENTIAL) $(SAMPLED)
	$(GO) test -vet=off -count 1 ./runtime/jsonl ./runtime/streamhttp -run '^(TestLargeResultIsNotCopiedOften|TestTextStreamNeedsLittleMemory)$$' # what the race detector distorts

.PHONY: lint
lint: ## gofmt, vet, staticcheck, tidy go.mod, builds for other systems and 32 bits
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "gofmt -w these:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	cd testdata/peers && $(GO) vet ./... && $(GO) vet -tags e2e ./...
	$(GO) run $(STATICCHECK) ./...
	$(GO) mod tidy -diff
	$(GO) test ./cmd -run 'TestRepo'
	GOOS=windows $(GO) build ./...
	GOOS=darwin $(GO) build ./...
	GOARCH=386 $(GO) build ./...

.PHONY: bench
bench: ## calls and the codec, beside the limit and those of others
	$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) -count $(BENCHCOUNT) ./runtime/wire ./runtime/jsonl ./generated/mcp/v20251125 ./generated/mcp/v20260728 ./conformance/everything
	cd testdata/peers && $(GO) test ./codec ./hand ./transport/...
	cd testdata/peers && $(GO) build -o ../../bin/codec ./codec
	cd testdata/peers && GOEXPERIMENT=jsonv2 $(GO) build -o ../../bin/codec-jsonv2 ./codec
	bin/codec -jsonv2 bin/codec-jsonv2 -benchtime $(BENCHTIME) -count $(BENCHCOUNT)
	mkdir -p bin/transport
	cd testdata/peers && $(GO) build -o ../../bin/transport/ ./transport/...
	bin/transport/transport -benchtime $(BENCHTIME) -count $(BENCHCOUNT)

.PHONY: e2e
e2e: ## work with foreign clients, servers, proxies and the official suite (installs them), and judge foreign servers
	sh testdata/peers/install.sh
	cd testdata/peers && $(GO) test -tags e2e -count 1 -timeout 10m -v ./matrix -run 'TestE2E'
	cd testdata/peers && $(GO) test -tags e2e -count 1 -timeout 5m -parallel 64 -v ./proxy -run 'TestE2E'
	cd testdata/peers && $(GO) test -tags e2e -count 1 -timeout 10m -v ./official -run 'TestE2E'
	$(GO) test -tags e2e -count 1 -timeout 5m -v ./runtime/streamhttp -run 'TestE2E'
	$(GO) test -tags e2e -count 1 -timeout 5m -v ./conformance/report -run 'TestE2E'
	GOLDWIRE_LARGE=1 $(GO) test -count 1 -timeout 10m -v ./runtime/dial -run 'TestMany'
	$(GO) test -tags e2e -count 1 -timeout 20m -v ./cmd/goldwire -run 'TestE2E'

.PHONY: mutants
mutants: ## judge every broken peer, with a name and made by program, and print how many are seen
	mkdir -p bin && rm -f bin/mutants.txt
	$(GO) test ./conformance/broken -count 1 -timeout 20m -args $(MUTANTS) -score $(CURDIR)/bin/mutants.txt; bad=$$?; cat bin/mutants.txt; exit $$bad
	$(GO) test ./conformance/client -count 1 -timeout 10m -run 'TestRightClient|TestBrokenClients|TestEveryCheckHasABrokenClient'

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME
	sh testdata/fuzz.sh $(FUZZTIME)
