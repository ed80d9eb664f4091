"""The ids behind a number of an audit's page, out of the messages that it wrote."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path

from actonce.stack.extras import require
from actonce.terminal.errors import Failed, WrongUse
from pipeline.audit.judging.verdict_names import VERDICTS

COUNTED = {
    "suppressed": "with deliveries that were suppressed",
    "failed": "with deliveries that were given back",
    "unsent": "that came and that nobody told to have sent",
    "unjudged": "that could not be judged",
}
"""Other numbers of the page, and what their messages are."""

NUMBERS = (*VERDICTS, *COUNTED)


def named(text: str) -> str:
    """The number that is meant: `awaiting` is `awaiting_decision`, and so is `awaiting decision`.

    Raises:
        WrongUse: it is none, or the beginning of several.
    """
    wanted = text.strip().lower().replace(" ", "_").replace("-", "_")
    found = [one for one in NUMBERS if one == wanted] or [
        one for one in NUMBERS if wanted and one.startswith(wanted)
    ]
    if len(found) != 1:
        raise WrongUse(f"--list {text!r}: say one of {', '.join(found or NUMBERS)}.")
    return found[0]


def message_ids(results: str, number: str, days: tuple[date, date] | None) -> Iterator[str]:
    """The ids, a day after the other.

    Args:
        results: a folder that an audit wrote.
        number: one of `NUMBERS`.
        days: of whose messages; None: all that it judged.

    Raises:
        WrongUse: there are no messages of an audit, or pyarrow, which reads them, is not installed.
        Failed: they cannot be read.
    """
    if "://" in results:
        raise WrongUse(f"{results} is not read from here: copy its messages/ into a folder first.")
    folder = Path(results) / "messages"
    if not folder.is_dir():
        raise WrongUse(
            f"{results} holds no messages/: name the folder that an audit wrote (--out)."
        )
    require("pipeline", "actonce audit --list")
    try:
        for day in sorted(folder.glob("day=*")):
            name = date.fromisoformat(day.name.removeprefix("day="))
            if days is None or days[0] <= name <= days[1]:
                yield from sorted(_ids(day, number))
    except Exception as error:
        told = (str(error).splitlines() or [type(error).__name__])[0]
        raise Failed(f"{folder} cannot be read ({told}): run the audit again.") from error


def _ids(folder: Path, number: str) -> Iterator[str]:
    import pyarrow.dataset as ds  # noqa: PLC0415 - not everybody has it

    wanted = {
        "suppressed": ds.field("suppressed") > 0,
        "failed": ds.field("failed") > 0,
        "unsent": ds.field("unsent"),
        "unjudged": ~ds.field("judged"),
    }.get(number, ds.field("verdict") == number)
    files = [str(file) for file in sorted(folder.glob("*.parquet"))]
    if not files:
        return
    for batch in ds.dataset(files).to_batches(columns=["message_id"], filter=wanted):
        yield from (one for one in batch.column(0).to_pylist() if one is not None)
