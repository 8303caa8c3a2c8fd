"""Measures a filter and two columns of 1,000,000 rows in each engine, beside delta-rs, pyiceberg and Lance.

    python -m venv target/engines
    target/engines/bin/pip install duckdb polars pandas datafusion deltalake "pyiceberg[sql-sqlite]" pylance
    PYTHONPATH=python target/engines/bin/python benches/engines/bench_pushdown.py

Prints the least CPU seconds of several runs in one process, and the ratio to the best of the others in the same engine.
Contenders that are not installed are left out. The native module must be one that `make build` has optimised.
"""

import argparse
import contextlib
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

import mortice

LEAST = 990.0
"""The filter `fare > LEAST` selects one row in a hundred."""
QUERY = f"select id, fare from t where fare > {LEAST}"


def rows(count):
    """Returns nine columns; fares are not sorted."""
    number = pa.array(range(count), pa.int64())
    fare = pc.divide(pc.cast(pc.bit_wise_and(pc.multiply(number, 48271), 0xFFFFF), pa.float64()), 1048.576)
    text = pc.cast(number, pa.string())
    columns = {
        "id": number,
        "fare": fare,
        "city": pc.binary_join_element_wise("city", pc.utf8_slice_codeunits(text, 0, 2), ""),
    }
    return pa.table(columns | {f"note{at}": pc.binary_join_element_wise(f"note {at}", text, " ") for at in range(6)})


def stored(folder, data):
    """Writes the rows with each library that is installed; returns datasets and lazy frames by name."""
    found = {}
    # Lance stores columns without a compression that must be undone as a whole: the last is to be set beside it.
    contenders = {
        "MERGE_ON_READ": ("MERGE_ON_READ", {}),
        "COPY_ON_WRITE": ("COPY_ON_WRITE", {}),
        "uncompressed": ("MERGE_ON_READ", {"hoodie.parquet.compression.codec": "uncompressed"}),
    }
    for name, (kind, options) in contenders.items():
        path = folder / name
        created = mortice.create_table(path, data.schema, name="t", record_key="id", table_type=kind)
        created.bulk_insert(data, options=options)
        table = mortice.Table(path)
        # A tenth of a percent of the rows is in a log.
        table.upsert(data.slice(0, 1_000), options=options)
        found[f"mortice {name}"] = (
            lambda path=path: mortice.Table(path).dataset(),
            lambda path=path: mortice.scan_polars(path),
        )
    with contextlib.suppress(ImportError):
        import deltalake
        import polars

        deltalake.write_deltalake(str(folder / "delta"), data)
        found["delta-rs"] = (
            lambda: deltalake.DeltaTable(str(folder / "delta")).to_pyarrow_dataset(),
            lambda: polars.scan_delta(str(folder / "delta")),
        )
    with contextlib.suppress(ImportError):
        import polars
        from pyiceberg.catalog.sql import SqlCatalog

        catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/ice")
        catalog.create_namespace("n")
        iceberg = catalog.create_table("n.t", schema=data.schema)
        iceberg.append(data)
        found["pyiceberg"] = (None, lambda: polars.scan_iceberg(catalog.load_table("n.t")))
    with contextlib.suppress(ImportError):
        import lance
        import polars

        lance.write_dataset(data, str(folder / "lance"))
        found["lance"] = (
            lambda: lance.dataset(str(folder / "lance")),
            # As to_polars of a table of lancedb.
            lambda: polars.scan_pyarrow_dataset(lance.dataset(str(folder / "lance"))),
        )
    return found


def in_arrow(dataset):
    return dataset.to_table(columns=["id", "fare"], filter=ds.field("fare") > LEAST).num_rows


def in_duckdb(dataset):
    import duckdb

    return duckdb.connect().from_arrow(dataset).query("t", QUERY).arrow().read_all().num_rows


def in_datafusion(dataset):
    import datafusion

    context = datafusion.SessionContext()
    context.register_dataset("t", dataset)
    return context.sql(QUERY).to_arrow_table().num_rows


def in_polars(lazy):
    import polars

    return lazy.filter(polars.col("fare") > LEAST).select("id", "fare").collect().height


ENGINES = {"pyarrow": in_arrow, "DuckDB": in_duckdb, "DataFusion": in_datafusion, "polars": in_polars}


def cpu_seconds(run, repeats):
    """Returns the least CPU seconds of several runs, and the number of rows."""
    least, count = float("inf"), 0
    for _ in range(repeats):
        before = time.process_time()
        count = run()
        least = min(least, time.process_time() - before)
    return least, count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1_000_000)
    arguments = parser.parse_args()
    repeats = arguments.repeats
    with tempfile.TemporaryDirectory() as folder:
        contenders = stored(Path(folder), rows(arguments.rows))
        for engine, run in ENGINES.items():
            found = {}
            for name, (dataset, lazy) in contenders.items():
                opened = lazy if engine == "polars" else dataset
                if opened is None:
                    continue
                try:
                    found[name] = cpu_seconds(lambda opened=opened: run(opened()), repeats)  # noqa: B023
                except Exception as error:  # noqa: BLE001 (a contender that cannot)
                    print(f"{engine:10}  {name:22}  {type(error).__name__}: {str(error)[:80]}")
            others = [seconds for name, (seconds, _) in found.items() if not name.startswith("mortice")]
            for name, (seconds, count) in found.items():
                ratio = f"{seconds / min(others):5.2f}" if others else ""
                print(f"{engine:10}  {name:22}  {seconds:7.3f} CPU s  {ratio}  {count} rows", flush=True)


if __name__ == "__main__":
    main()
