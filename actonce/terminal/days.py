"""Days as a person names them: `--day`, or `--from` and `--until`, in every command."""

from datetime import UTC, date, datetime, timedelta

from actonce.terminal.errors import UsageError

HELP = "A UTC day: YYYY-MM-DD, today or yesterday."
_RELATIVE = {"today": 0, "yesterday": 1}


def parse_day(text: str, *, ahead: bool = False) -> date:
    """A UTC day.

    Args:
        text: as a person writes it.
        ahead: whether the day may be one that has not begun: somebody's clock may have been wrong.

    Raises:
        UsageError: it is no day, or has not begun.
    """
    today = datetime.now(UTC).date()
    if text in _RELATIVE:
        return today - timedelta(days=_RELATIVE[text])
    try:
        found = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError as error:
        raise UsageError(
            f"{text!r} is no day; write it as 2026-11-21, today or yesterday."
        ) from error
    if found > today and not ahead:
        raise UsageError(f"{found} has not begun (UTC); there are no records of it.")
    return found


def parse_span(
    day: str | None, first: str | None, last: str | None, *, ahead: bool = False
) -> tuple[date, date] | None:
    """The first and the last day; None: no day is named. See `parse_day`.

    Raises:
        UsageError: a day is missing, or is one too many, or they are the wrong way round.
    """
    if day is first is last is None:
        return None
    if day is not None and first is None and last is None:
        only = parse_day(day, ahead=ahead)
        return only, only
    if day is not None or first is None or last is None:
        raise UsageError("Name the days: either --day DAY, or --from DAY and --until DAY.")
    begin, end = (parse_day(one, ahead=ahead) for one in (first, last))
    if end < begin:
        raise UsageError(f"--until {last} is before --from {first}: exchange them.")
    return begin, end
