"""What is asked for, and how an audit ends."""

import argparse
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import IntEnum
from typing import Final

from pipeline.audit.reading.effects import Attributes
from pipeline.audit.times import Interval
from pipeline.errors import CannotAudit

GRACE_SECONDS: Final = 900.0
_LONGEST_DAYS: Final = 36_500


class Status(IntEnum):
    """How an audit ends: the process's exit status, and `exit_status` in its summary."""

    CLEAN = 0  # every message is accounted for, and none was acted on twice
    ALARMS = 1  # one was acted on twice or lost, is in contradiction or in conflict
    NOT_AUDITED = 2  # wrong use, nothing to audit, or it did not come to its end
    NOT_WHOLE = 3  # no alarm, but not everything could be read or judged
    ON_TRUST = 4  # neither, but somebody's word stands for effects, or for that there is no second


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for.

    Attributes:
        records: the root of the streams.
        out: where the results go.
        days: to judge; None: all that there are.
        as_of: later records are left out; None: none are. See `horizon`.
        present_only: nothing is called missing, whichever day is over: who says which executions
            run could not be asked.
        grace_ms: how long a message without an end is in flight, not lost.
        reach: how many days before the first day records are read from; None: all.
        run: names this audit in its summary; empty: nothing does.
        by_executions: where no stream tells the effects, the executions' word is taken.
        effects: the attributes of effects that a team keeps; None: nobody says.
        from_raw: all records are read and all messages judged, whatever an earlier audit has
            cached, and the files that there are are taken for the right ones.
    """

    records: str
    out: str
    days: Interval | None = None
    as_of: datetime | None = None
    present_only: bool = False
    grace_ms: int = int(GRACE_SECONDS * 1000)
    reach: int | None = None
    run: str = ""
    by_executions: bool = False
    effects: Attributes | None = None
    from_raw: bool = False


def requested(  # noqa: C901 - one check after the other
    records: str,
    *,
    day: str | None = None,
    since: str | None = None,
    until: str | None = None,
    out: str | None = None,
    as_of: str | None = None,
    present_only: bool = False,
    grace: float = GRACE_SECONDS,
    reach: int | None = None,
    run: str = "",
    by_executions: bool = False,
    effects: str | None = None,
    from_raw: bool = False,
) -> Request:
    """What a command line asks for; `grace` in seconds.

    Raises:
        CannotAudit: it cannot be asked for.
    """
    if day is not None:
        if since is not None or until is not None:
            raise CannotAudit("--day and --from/--until exclude each other: leave one of them out.")
        since = until = day
    if (since is None) != (until is None):
        raise CannotAudit("--from and --until belong together: give both, or --day.")
    try:
        days = None
        if since is not None and until is not None:
            days = date.fromisoformat(since), date.fromisoformat(until)
        moment = None if as_of is None else _moment(as_of)
    except ValueError as error:
        raise CannotAudit(f"{error}: write a day as YYYY-MM-DD, a time as ISO 8601.") from error
    if days is not None and days[0] > days[1]:
        raise CannotAudit(f"--from {days[0]} is after --until {days[1]}: exchange them.")
    for name in (records, out or ""):
        if name != name.encode("utf-8", "replace").decode("utf-8"):
            raise CannotAudit(f"{name} is not UTF-8, and Java can name no such folder.")
    for one in (*(days or ()), moment):
        if one is not None and not 2000 <= one.year < 2100:
            raise CannotAudit(f"Of {one} no records are kept.")
    if not 0 <= grace <= _LONGEST_DAYS * 86_400:
        raise CannotAudit(f"--grace {grace:g} is no number of seconds to wait for.")
    if reach is not None and not 0 <= reach <= _LONGEST_DAYS:
        raise CannotAudit(f"--reach {reach} is no number of days.")
    return Request(
        records,
        out or records.rstrip("/") + "/audit",
        days,
        as_of=moment,
        present_only=present_only,
        grace_ms=int(grace * 1000),
        reach=reach,
        run=run,
        by_executions=by_executions,
        effects=None if effects is None else _attributes(effects),
        from_raw=from_raw,
    )


def _attributes(text: str) -> Attributes:
    named = Attributes.of_output(text)
    if not (named.key and named.time):
        raise CannotAudit(
            f"EffectsAttributes (--effects) is {text!r}: name both the attribute of the message's "
            "id and the one of the time, as in order_id,sent_at."
        )
    return named


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def parser() -> argparse.ArgumentParser:
    """Of the job's command line, which the daily audit has; `actonce audit` has more."""
    made = argparse.ArgumentParser(
        prog="python -m pipeline.audit", description="Say what happened to each message."
    )
    made.add_argument("records", metavar="RECORDS", help="the root of the streams")
    made.add_argument("--day", metavar="D", help="judge one UTC day, YYYY-MM-DD")
    made.add_argument("--from", dest="since", metavar="D", help="first day to judge")
    made.add_argument("--until", metavar="D", help="last day to judge")
    made.add_argument("--out", metavar="DIR", help="where the results go (RECORDS/audit)")
    made.add_argument(
        "--as-of", metavar="TIME", help="judge by the records before this moment, ISO 8601"
    )
    made.add_argument("--run", metavar="NAME", default="", help="name this audit in its summary")
    made.add_argument("--present-only", action="store_true", help="call nothing missing")
    made.add_argument(
        "--reach", metavar="DAYS", type=int, help="read records of so many days before"
    )
    made.add_argument(
        "--effects", metavar="KEY,TIME",
        help="of effects that a team keeps, the attributes of the message's id and of the time",
    )  # fmt: skip
    made.add_argument(
        "--from-raw", action="store_true",
        help="read all records, believing nothing that an earlier audit has cached",
    )  # fmt: skip
    made.add_argument("--json", action="store_true", help="print the summary")
    return made
