"""The ids behind a number of an audit's page, out of the messages that it wrote."""

from datetime import date
from pathlib import Path

from actonce.stack.extras import require
from actonce.terminal.errors import Failed, UsageError
from actonce_pipeline.audit.judging.verdict_names import VERDICTS

COUNTED = {
    "suppressed": "with deliveries that were suppressed",
    "failed": "with deliveries that were given back",
    "unsent": "that came and that sent lacks",
    "unjudged": "that could not be judged",
}
"""Other numbers of the page, and what their messages are."""

NUMBERS = (*VERDICTS, *COUNTED)


def message_ids(results: str, number: str, days: tuple[date, date] | None) -> list[str]:
    """The ids, a day after the other.

    Args:
        results: a folder that an audit wrote.
        number: one of `NUMBERS`.
        days: of whose messages; None: all that it judged.

    Raises:
        UsageError: there is no such number or folder, or pyarrow, which reads it, is not installed.
        Failed: the messages cannot be read.
    """
    if number not in NUMBERS:
        raise UsageError(
            f"--list {number}: there is no such number; name one of {', '.join(NUMBERS)}."
        )
    folder = Path(results, "messages")
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder here: name the one that an audit wrote (--out).")
    require("pipeline", "actonce audit --list")
    import pyarrow.dataset as ds  # noqa: PLC0415 - not everybody has it

    wanted = {
        "suppressed": ds.field("suppressed") > 0,
        "failed": ds.field("failed") > 0,
        "unsent": ds.field("unsent"),
        "unjudged": ~ds.field("judged"),
    }.get(number, ds.field("verdict") == number)
    if days is not None:
        wanted &= (ds.field("day") >= f"{days[0]}") & (ds.field("day") <= f"{days[1]}")
    try:
        messages = ds.dataset(folder, partitioning="hive")
        if not messages.files:
            return []
        found = messages.to_table(columns=["day", "message_id"], filter=wanted)
    except Exception as error:
        what = (str(error).splitlines() or [type(error).__name__])[0]
        raise Failed(f"{folder} cannot be read ({what}): run the audit again.") from error
    ids: list[str] = found.sort_by([("day", "ascending"), ("message_id", "ascending")])[
        "message_id"
    ].to_pylist()
    return ids
