# Every target sets itself up (deploy/bootstrap: a .venv with exact versions) and is safe to run twice.
# The engine itself is not here: `teapot engine install` keeps it in the user's data folder.
# make turns every failure into its own exit code 2; `.venv/bin/teapot COMMAND` gives the exact one.

TEAPOT := .venv/bin/teapot
BIN := .venv/bin
CODE := serving loadgen $(wildcard dashboards) deploy tests
export PYTHON PROMETHEUS

.DEFAULT_GOAL := help
# Tests without an engine wait more than they work: one more at a time than there are cores.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
PEERS ?= none,teapot,vllm-router,nginx,litellm
.PHONY: help compose rollout-demo bench-agreement bench-gateway bench-storm bench-loadgen demo up test check bench-sigterm lint setup setup-dev clean bench-modes bench-start
.NOTPARALLEL:

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: setup ## everything once on the embedded model: serve, prove the modes, measure, report
	@$(TEAPOT) demo

up: setup ## serve deploy/configs/demo.yaml until Ctrl-C
	@$(TEAPOT) serve deploy/configs/demo.yaml

rollout-demo: setup ## two rollouts under load: a good revision is promoted, a bad one taken back
	@$(BIN)/python -m deploy.rollout_demo

compose: setup ## write docker-compose.yml anew from deploy/configs/compose.yaml
	@$(TEAPOT) render compose deploy/configs/compose.yaml

check: lint ## the fast part of `make test`: format, lint, types, import rules, unit tests
	$(BIN)/python -m pytest -q -n $(WORKERS) -m "not engine and not slow"

test: lint ## all tests, those with the real engine last and one at a time
	$(BIN)/python -m pytest -q -n $(WORKERS) -m "not engine"
	$(TEAPOT) engine install
	$(BIN)/python -m pytest -m engine

bench-modes: setup-dev ## every mode on the real engine as a table: what starts, what is in effect (half an hour)
	$(TEAPOT) engine install
	PYTHONPATH=.:tests $(BIN)/python -m e2e.modes_table

bench-start: setup-dev ## what teapot adds to the start of bare vLLM with the same flags (ten minutes)
	$(TEAPOT) engine install
	PYTHONPATH=.:tests $(BIN)/python -m e2e.start_cost --set engine.args.enforce-eager=true

bench-sigterm: setup-dev ## 20 times SIGTERM with requests in flight on the real engine (some 15 minutes)
	SIGTERM_TRIALS=20 $(BIN)/python -m pytest -q -rP tests/e2e/test_faults.py -k sigterm

bench-gateway: setup-dev ## the gateway beside no proxy and other proxies (installs vllm-router and LiteLLM aside)
	@$(BIN)/python tests/bench/gateway.py --scratch build/bench --peers $(PEERS)

bench-storm: setup-dev ## 100,000 requests with faults on both sides of the gateway (some three minutes)
	STORM_REQUESTS=100000 $(BIN)/python -m pytest -q -m slow tests/serving/gateway/test_proxy_storm.py

bench-loadgen: setup-dev ## this load generator beside five others on one scripted server (installs four aside)
	@PYTHONPATH=.:tests $(BIN)/python -m bench.loadgen

bench-agreement: setup-dev ## this load generator beside vllm bench serve on one real engine (ten minutes)
	$(TEAPOT) engine install
	@PYTHONPATH=.:tests $(BIN)/python -m bench.agreement --set engine.args.enforce-eager=true

lint: setup-dev
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports

setup:
	@deploy/bootstrap loadgen
	@deploy/bootstrap-prometheus

setup-dev:
	@deploy/bootstrap loadgen,dev,otel
	@deploy/bootstrap-prometheus

clean: ## remove what make made in this folder (not runs/, not the engines and models in your data folder)
	rm -rf .venv .venv.lock build *.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .grimp_cache
	find $(CODE) -type d -name __pycache__ -prune -exec rm -rf {} +
