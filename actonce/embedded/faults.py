"""Plans which messages are interrupted, and how.

`injected/` causes the faults in the functions' processes: while the folder `Paths.faults` holds a
plan, it wraps their handlers (see `function_processes`).
"""

import json
import random
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

from actonce.embedded.injected import fault_injection


class Level(StrEnum):
    """How many messages are interrupted."""

    NONE = "none"
    SOME = "some"
    MANY = "many"


Plan = dict[str, dict[str, list[str]]]

PERFORM_FAULTS: tuple[tuple[str, ...], ...] = (
    # Each row of the design's table of errors, before the effect and after it where both can be.
    ("before:NotPerformed",),
    ("before:NotPerformed", "before:NotPerformed"),
    ("before:Lambda.TooManyRequestsException",),
    ("before:Lambda.ServiceException",),
    ("after:Lambda.ServiceException",),
    ("after:Lambda.AWSLambdaException",),
    ("before:Lambda.SdkClientException",),
    ("after:Lambda.SdkClientException",),
    ("after:Lambda.ClientExecutionTimeoutException",),
    ("before:States.Timeout",),
    ("after:States.Timeout",),
    ("before:timed-out",),
    ("after:timed-out",),
    ("after:Lambda.Unknown",),
    ("before:killed",),
    ("after:killed",),
    ("after:out-of-memory",),
    ("before:Rejected",),
    # Several in a row: unknown twice and then performed; unknown until the rounds are used up.
    ("before:killed", "after:Lambda.Unknown"),
    ("before:Lambda.Unknown",) * 3,
)
_FIND_FAULTS = ("before:Lambda.ServiceException", "before:killed")
_STARTER_FAULTS = ("before:killed", "after:killed")

_DELIVERED_AGAIN_SHARE = 0.1
_PERFORM_SHARE = {Level.NONE: 0.0, Level.SOME: 0.1, Level.MANY: 0.3}
_STARTER_SHARE = {Level.NONE: 0.0, Level.SOME: 0.01, Level.MANY: 0.03}


def plan(message_ids: Sequence[str], level: Level, seed: int, *, deliver_again: bool) -> Plan:
    """Plan the faults; the same arguments give the same plan.

    With `MANY` and enough messages every kind of fault is met at least once.

    Args:
        message_ids: those that may be interrupted.
        level: how many of them are.
        seed: of the generator.
        deliver_again: whether SQS delivers some messages again though nothing went wrong.
    """
    chance = random.Random(f"faults {seed}")  # noqa: S311 - not for secrets
    planned: Plan = {}

    def choose(share: float) -> list[str]:
        number = round(len(message_ids) * share)
        return chance.sample(message_ids, number or (1 if share and message_ids else 0))

    kinds = list(PERFORM_FAULTS)
    chance.shuffle(kinds)
    for number, message_id in enumerate(choose(_PERFORM_SHARE[level])):
        faults = kinds[number % len(kinds)]
        planned.setdefault(message_id, {})["perform"] = list(faults)
        outcome_unknown = any(not fault.endswith(("NotPerformed", "Rejected")) for fault in faults)
        if outcome_unknown and level is Level.MANY and chance.random() < 0.2:
            planned[message_id]["find"] = [chance.choice(_FIND_FAULTS)]
    for number, message_id in enumerate(choose(_STARTER_SHARE[level])):
        fault = _STARTER_FAULTS[number % len(_STARTER_FAULTS)]
        planned.setdefault(message_id, {})["delivery"] = [fault]
    if deliver_again:
        for message_id in choose(_DELIVERED_AGAIN_SHARE):
            planned.setdefault(message_id, {}).setdefault("delivery", []).append("delivered-again")
    return planned


def write_plan(folder: Path, planned: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
    """Have calls meet a plan's faults from now on; the functions read it at each call."""
    file = folder / fault_injection.PLAN
    new = file.with_suffix(".new")
    new.write_text(json.dumps(planned))
    new.replace(file)


def injected(folder: Path) -> Counter[str]:
    """The faults that calls met, by operation and kind, such as `perform after:killed`."""
    met: Counter[str] = Counter()
    for taken in (folder / fault_injection.USED).glob("*/fault"):
        operation = taken.parent.name.split("-")[1]
        met[f"{operation} {taken.read_text()}"] += 1
    return met


@contextmanager
def around_functions(folder: Path, planned: Plan) -> Iterator[None]:
    """Have calls of the functions meet the plan's faults until the block ends.

    Args:
        folder: `Paths.faults`; the faults that were met stay recorded there.
        planned: from `plan`.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_plan(folder, planned)
    try:
        yield
    finally:
        (folder / fault_injection.PLAN).unlink()
