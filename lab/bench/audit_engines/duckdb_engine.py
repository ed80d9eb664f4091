"""DuckDB: an aggregate per stream, joined; cheaper there than one aggregate over all streams.

Over JSON Lines it is what one would write in Athena: a table per stream with the fields that are
asked for, and the same SQL over them. Nothing is checked: a line that is no JSON ends it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.bench.audit_engines import rules
from lab.bench.audit_engines.task import ITEM, LINES, STREAMS, Run, Task


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
            f"FROM {_table(task, stream)}"
        )

    def run(out: Path) -> None:
        out.mkdir(parents=True)
        connection.execute(
            f"COPY ({rules.joined(task.newest_ms)}) TO '{out}/rows.parquet' (FORMAT parquet)"
        )

    with connection:
        yield run


def _table(task: Task, stream: str) -> str:
    files = task.files(stream)
    if task.form == "parquet":
        return f"read_parquet({files!r})"
    if stream == "effects":
        item = ", ".join(f"{name} STRUCT(S VARCHAR)" for name in ITEM)
        columns = {"Item": f"STRUCT({item})"}
        told = "Item.message_id.S AS message_id, Item.appointment_id.S AS appointment_id"
        time = "Item.booked_at.S"
    else:
        columns = dict.fromkeys(LINES[stream], "VARCHAR")
        told, time = '* EXCLUDE ("at")', '"at"'
    return (
        f'(SELECT {told}, CAST({time} AS TIMESTAMPTZ) AS "at" '  # noqa: S608
        f"FROM read_json({files!r}, format = 'newline_delimited', columns = {columns!r}))"
    )
