# picklock. Two commands do everything on a fresh machine with Go and Docker:
#   make run    the main job: a test of a lock on real Redis, with verdict and report
#   make test   all tests, installing what they need
GO      ?= go
BIN     := bin/picklock

.PHONY: run test check build deps soak soak-faults soak-topology soak-history scenarios browser shots bench bench-check bench-serve agree fuzz clean

build:
	$(GO) build -o $(BIN) ./cmd/picklock

# The exit status of picklock run is the verdict: 1 means that the lock was caught, which
# is what the built-in example is there to show.
run: build
	@$(BIN) run $(ARGS); status=$$?; \
	if [ $$status -gt 2 ]; then exit $$status; fi; \
	echo "(picklock's exit status was $$status: 0 valid, 1 violated, 2 unknown)"

# Formatting, vet, staticcheck, and every test under the race detector.
#
# All is built first, on every core. Then come the packages that only compute, two at a time;
# then every other one by itself, whichever it is: these start servers and mostly wait, and
# what they wait for has its time. vet has seen the tests in check.
COMPUTE := ./models/... ./reports/... ./harness/history/... ./harness/compare ./harness/follow ./harness/foreign ./harness/matrix \
	./harness/store
TESTING := $(GO) test -race -vet=off -timeout 20m -v

test: deps check
	$(GO) list -race -test -export ./... >/dev/null
	status=0; \
	$(TESTING) -p 2 -parallel 2 $(COMPUTE) || status=1; \
	$(TESTING) -p 1 -parallel 5 $$($(GO) list ./... | grep -vxF "$$($(GO) list $(COMPUTE))") || status=1; \
	exit $$status

check:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "gofmt would change:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	$(GO) vet -tags soak,browser ./...
	$(GO) tool staticcheck ./...

# What the tests need beyond Go and Docker, from Debian's packages.
deps:
	@missing=""; \
	command -v redis-server >/dev/null || missing="$$missing redis-server"; \
	command -v gcc >/dev/null || missing="$$missing gcc libc6-dev"; \
	command -v iptables >/dev/null || missing="$$missing iptables"; \
	command -v xmllint >/dev/null || missing="$$missing libxml2-utils"; \
	if [ -n "$$missing" ]; then \
	  echo "installing:$$missing"; \
	  sudo=""; [ "$$(id -u)" = 0 ] || sudo=sudo; \
	  $$sudo apt-get update -qq && $$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; \
	fi

clean:
	rm -rf bin store

# The README's figures: every claim over 20 seeds. Some 25 minutes.
soak: deps
	$(GO) test -tags soak -timeout 80m -parallel 4 -run 'TestSoak$$|TestSoakNodeFaults' -v ./cmd/picklock

# Every seed's lock in both runtimes, what is left after storms and Ctrl-C, and whether the
# stories of a misdelete are exact, over many seeds and moments. Some 20 minutes.
soak-faults: deps
	$(GO) test -tags soak -timeout 60m -parallel 4 -run 'TestSeeds|TestSoakInterrupted|TestSoakStorm|TestSoakMisdelete' -v ./cmd/picklock

# Fifty failovers in a row in each runtime, and images of every server from nothing. Some
# 25 minutes.
soak-topology: deps
	$(GO) test -tags soak -timeout 60m -run TestSoak -v ./harness/topology ./docker

# Ten million damaged history files: none may pass for whole. Some half an hour.
soak-history:
	$(GO) test -tags soak -timeout 4h -run TestSoakDamaged -v ./harness/history

# The whole catalogue of failures over 20 seeds, in Docker. An hour or more.
scenarios: build
	$(BIN) scenario run all --runtime docker --repeat 20 --jobs 6

# What recording costs: an event, and the throughput of a loop with and without it.
bench: deps
	$(GO) test -run '^$$' -bench Record -benchtime 2s ./harness/history
	$(GO) test -run '^$$' -bench Recording -benchtime 1x ./harness/client
	$(GO) test -run TestCost -bench Wire -benchtime 1x -v ./nemesis/wire

# What a verdict costs: a million operations from the file to the report, and the fast
# checkers beside porcupine. Some ten minutes. Then how the cost of an operation changes up to
# ten million of them, which takes 4 GiB and some ten minutes more.
bench-check:
	$(GO) test -run '^$$' -bench BenchmarkCheck -benchtime 3x ./cmd/picklock
	$(GO) test -run '^$$' -bench BenchmarkDecide -benchtime 3x ./models
	$(GO) test -run '^$$' -bench . -skip Scaling -benchtime 3x -timeout 30m ./models/fast
	PICKLOCK_BENCH_OPS=10000000 $(GO) test -run '^$$' -bench Scaling -benchtime 1x -timeout 60m ./models/fast

# What picklock serve takes for its pages: 200 a second of a store of 10,000 tests, for ten
# seconds. The times are those of the clock: nothing else should be running.
bench-serve:
	$(GO) test -run '^$$' -bench Serve -benchtime 1x ./reports/web

# Each fast checker against porcupine, on a million random histories for each model. Some
# hours; N=100000 is a tenth of that.
N ?= 1000000
agree:
	$(GO) test -run 'Agree|Against' -timeout 24h -v ./models/fast -histories $(N)

# Every parser against a fuzzer, a minute each.
fuzz:
	$(GO) test -run '^$$' -fuzz FuzzParseEvent -fuzztime 1m ./harness/history
	$(GO) test -run '^$$' -fuzz FuzzReadEvents -fuzztime 1m ./harness/history
	$(GO) test -run '^$$' -fuzz FuzzScan -fuzztime 1m ./harness/history
	$(GO) test -run '^$$' -fuzz FuzzLoad -fuzztime 1m -fuzzminimizetime 10x ./harness/history
	$(GO) test -run '^$$' -fuzz FuzzParseEntry -fuzztime 1m ./locks/deduct
	$(GO) test -run '^$$' -fuzz FuzzReader -fuzztime 1m -fuzzminimizetime 10x ./nemesis/wire
	$(GO) test -run '^$$' -fuzz FuzzCarry -fuzztime 1m -fuzzminimizetime 10x ./nemesis/wire
	for f in FuzzParseMessage FuzzMessage FuzzRead; do $(GO) test -run "^\$$" -fuzz "^$$f\$$" -fuzztime 1m -fuzzminimizetime 10x ./nemesis/wire/record || exit 1; done
	$(GO) test -run '^$$' -fuzz FuzzSyncedTable -fuzztime 1m ./harness/topology
	$(GO) test -run '^$$' -fuzz FuzzParse$$ -fuzztime 1m ./harness/scenario
	$(GO) test -run '^$$' -fuzz FuzzParseSchedule -fuzztime 1m ./harness
	$(GO) test -run '^$$' -fuzz FuzzUnpack -fuzztime 1m -fuzzminimizetime 10x ./harness/store
	for f in FuzzParse FuzzJournal; do $(GO) test -run "^$$$$" -fuzz $$f -fuzztime 1m -fuzzminimizetime 10x ./harness/matrix || exit 1; done
	for f in FuzzQuery FuzzSplit; do $(GO) test -run "^$$$$" -fuzz $$f -fuzztime 1m -fuzzminimizetime 10x ./reports/web || exit 1; done
	for f in FuzzEDN FuzzPorcupine FuzzJSONL; do $(GO) test -run "^$$$$" -fuzz $$f -fuzztime 1m -fuzzminimizetime 10x ./harness/foreign || exit 1; done

# All pages in a real browser, and one that follows a real test; needs chromium in PATH. PICKLOCK_SHOTS=<folder> keeps
# screenshots.
browser:
	$(GO) test -tags browser -timeout 20m -v ./reports/...
	$(GO) test -tags browser -run InBrowser -v ./cmd/picklock

# The pictures of docs/shots, from tests that it runs anew, as processes: some five minutes
# on a quiet machine. Needs chromium and pngquant in PATH. It looks at the pictures for texts
# that overlap; whether they tell their story is for people.
SHOTS := bin/shots
shots: build deps
	rm -rf $(SHOTS)
	$(BIN) scenario run misdelete pause-in-section stale-promotion redlock-restart --runtime process --store $(SHOTS)
	$(BIN) run --lock uuid-lua --nemesis kill-client --ttl 1s --clients 3 --time-limit 12s --seed 5 --runtime process --store $(SHOTS)
	$(BIN) matrix docs/shots/small.yaml --runtime process --store $(SHOTS)
	$(GO) test -tags browser,shots -count 1 -v ./reports/shots -store $(CURDIR)/$(SHOTS) -out $(CURDIR)/docs/shots
