"""What is asked for, and how an audit ends."""

import argparse
from dataclasses import dataclass
from datetime import date, datetime
from enum import IntEnum
from typing import Self

from actonce_pipeline.audit.reading.effects import Attributes
from actonce_pipeline.audit.times import Interval
from actonce_pipeline.errors import CannotAudit


class Status(IntEnum):
    """How an audit ends: the process's exit status, and `exit_status` in its summary."""

    CLEAN = 0  # every message is accounted for, and none was acted on twice
    ALARMS = 1  # one was acted on twice or lost, is in contradiction or in conflict
    NOT_AUDITED = 2  # wrong use, nothing to audit, or it did not come to its end
    NOT_WHOLE = 3  # no alarm, but not everything could be read or judged
    ON_TRUST = 4  # neither, but of some messages a second effect would not be seen


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for.

    Attributes:
        out: where the results go; empty: to the folder `audit` below the records.
        days: to judge; None: all that there are.
        as_of: the moment by which days are over and silence counts; None: when files were written.
        present_only: nothing is called missing: the executions that run could not be listed.
        run: names this audit in its summary.
        effects: the attributes of effects that a team keeps; None: nobody says.
        from_raw: believe nothing that was cached, and take the files for the right ones.

    Raises:
        CannotAudit: it cannot be asked for.
    """

    records: str
    out: str = ""
    days: Interval | None = None
    as_of: datetime | None = None
    present_only: bool = False
    run: str = ""
    effects: Attributes | None = None
    from_raw: bool = False

    def __post_init__(self) -> None:
        if not self.out:
            object.__setattr__(self, "out", self.records.rstrip("/") + "/audit")
        for name in (self.records, self.out):
            if name != name.encode("utf-8", "replace").decode("utf-8"):
                raise CannotAudit(f"{name} is not UTF-8, and Java can name no such folder.")
        if self.days and self.days[0] > self.days[1]:
            raise CannotAudit(f"--from {self.days[0]} is after --until {self.days[1]}.")
        for one in self.days or ():
            if not 2000 <= one.year < 2100:
                raise CannotAudit(f"Of {one} no records are kept.")

    @classmethod
    def of(cls, options: argparse.Namespace) -> Self:
        """What a command line asks for; see `parser`."""
        given = dict(vars(options))
        since, until = (given.pop(name) for name in ("since", "until"))
        if bool(since) != bool(until):
            raise CannotAudit("Name both --from and --until.")
        return cls(**given, days=(since, until) if since else None)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise CannotAudit(f"{error}: write a day as YYYY-MM-DD.") from error


def attributes(text: str) -> Attributes:
    """Of effects that a team keeps, from "key,time,…", as the stack's EffectsAttributes has them.

    Raises:
        CannotAudit: one of the two is not named.
    """
    parsed = Attributes.of_output(text)
    if not (parsed.key and parsed.time):
        raise CannotAudit(
            f"EffectsAttributes (--effects) is {text!r}: name both the attribute of the message's "
            "id and the one of the time, as in order_id,sent_at."
        )
    return parsed


def parser() -> argparse.ArgumentParser:
    """Of the job's command line, which the daily audit has; `actonce audit` has more.

    Each option's name is that of what it sets in a `Request`.
    """
    made = argparse.ArgumentParser(
        prog="python -m actonce_pipeline.audit", description="Say what happened to each message."
    )
    made.add_argument("records", metavar="RECORDS", help="the root of the streams")
    made.add_argument("--from", metavar="D", type=_day, dest="since", help="first UTC day to judge")
    made.add_argument("--until", metavar="D", type=_day, help="last day to judge")
    made.add_argument("--out", metavar="DIR", default="", help="for the results (RECORDS/audit)")
    made.add_argument("--run", metavar="NAME", default="", help="name this audit in its summary")
    made.add_argument("--present-only", action="store_true", help="call nothing missing")
    made.add_argument(
        "--effects", metavar="KEY,TIME", type=attributes,
        help="of effects that a team keeps, the attributes of the message's id and of the time",
    )  # fmt: skip
    made.add_argument("--from-raw", action="store_true", help="believe nothing that was cached")
    return made
