"""DuckDB: an aggregate per stream, joined; cheaper there than one aggregate over all streams."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.audit_engines import rules
from bench.audit_engines.task import STREAMS, Run, Task


@contextmanager
def duckdb(task: Task) -> Iterator[Run]:
    """The same answer from the same files."""
    import duckdb as engine  # noqa: PLC0415 - has its name

    connection = engine.connect(config={"threads": task.cores, "preserve_insertion_order": "false"})
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(
        "CREATE MACRO timestamp_millis(ms) AS make_timestamp(CAST(ms AS BIGINT) * 1000)"
    )
    for stream in STREAMS:
        renamed = ', "end" AS ended' if stream == "deliveries" else ""
        connection.execute(
            f'CREATE VIEW {stream} AS SELECT *, epoch_ms("at") AS ms{renamed} '  # noqa: S608
            f"FROM read_parquet({task.files(stream)!r})"
        )

    def run(out: Path) -> None:
        out.mkdir(parents=True)
        connection.execute(
            f"COPY ({rules.joined(task.newest_ms)}) TO '{out}/rows.parquet' (FORMAT parquet)"
        )

    with connection:
        yield run
