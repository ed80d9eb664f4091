"""What one record says of its message: the row of the table that is judged."""

from typing import Final, NamedTuple

from actonce_pipeline.audit.reading.streams import Code

_QUARANTINED: Final = int(Code.QUARANTINED)

KINDS: Final = ("stack", "log group", "table")
"""What a source names."""


class Row(NamedTuple):
    """What one record says of its message, or where something lies that is no record.

    Attributes:
        message_id: None: the record tells none.
        at: the record's own time, ms.
        code: one of `Code`.
        identity: stands for a delivery's content, or for which effect this is, and is compared
            within one message only; None: it has none.
        description: a few words for a person.
        stream: whose folder it lies in.
        source: whose it is, one of `KINDS` and a name; None: not told.
        folder: the day of its folder.
        file: this and the next two only of what was not read, and nothing else of it, which may
            hold anything.
        line: from 1 on; None: the whole file, or a row of Parquet.
        problem: why it was not read.
    """

    message_id: str | None = None
    at: int | None = None
    code: int | None = _QUARANTINED
    identity: int | None = None
    description: str | None = None
    stream: str = ""
    source: str | None = None
    folder: str = ""
    file: str | None = None
    line: int | None = None
    problem: str | None = None


_NUMBERS: Final = {"at": "bigint", "code": "int", "identity": "bigint", "line": "bigint"}
COLUMNS: Final = {name: _NUMBERS.get(name, "string") for name in Row._fields}
"""The columns of a table of such rows, and the type of each."""
