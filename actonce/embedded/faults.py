"""Which messages are interrupted, how, and the deployment of what does it.

The demo plans faults for the messages that it sends; `actonce up --faults` has them drawn for
whatever is sent. `injected/` runs in the functions, and causes them.
"""

import json
import random
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any

from actonce.embedded.injected import fault_injection
from actonce.embedded.latest import calling_latest, unpublished
from actonce.stack.clients import Stack

INJECTED = Path(fault_injection.__file__).parent
AROUND = "FAULTS_AROUND"  # as in `injected.faulty_effect`, which runs elsewhere
FAULTY_EFFECT = "faulty_effect.handler"
"""The handler that stands around an effect's function, and calls what `AROUND` names."""


class Level(StrEnum):
    """How much is interrupted."""

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
    # Several in a row: unknown twice and then done; unknown until the rounds are used up.
    ("before:killed", "after:Lambda.Unknown"),
    ("before:Lambda.Unknown",) * 3,
)
DRAWN_FAULTS = (
    ("before:killed",),
    ("after:killed",),
    ("before:timed-out",),
    ("after:timed-out",),
    ("before:NotPerformed",),
    ("after:ConnectionResetError",),
)
"""Of a team's own effect: what passes without a person."""
_FIND_FAULTS = ("before:Lambda.ServiceException", "before:killed")
_STARTER_FAULTS = ("before:killed", "after:killed")

_DELIVERED_AGAIN_SHARE = 0.1
_PERFORM_SHARE = {Level.NONE: 0.0, Level.SOME: 0.1, Level.MANY: 0.3}
_DRAWN_SHARE = {Level.NONE: 0.0, Level.SOME: 0.1, Level.MANY: 0.5}
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
        return chance.sample(message_ids, number or (1 if share else 0))

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


def drawn(level: Level) -> dict[str, Any]:
    """A plan by which messages meet a fault in `perform`, each once, whatever they are."""
    return {"share": _DRAWN_SHARE[level], "drawn": DRAWN_FAULTS}


def variables_around(handler: str, folder: Path) -> dict[str, str]:
    """The variables of a function that stands around its own handler.

    Args:
        handler: its own, as Lambda has it.
        folder: with the plan, and for the record of what was used.
    """
    return {"EXTRA_PYTHONPATH": str(INJECTED), "FAULTS_DIR": str(folder), AROUND: handler}


def write_plan(folder: Path, planned: Mapping[str, Any]) -> None:
    """Have a plan's faults met from now on; the functions read it all the time."""
    file = folder / fault_injection.PLAN
    new = file.with_suffix(".new")
    new.write_text(json.dumps(planned))
    new.replace(file)


def injected(folder: Path) -> Counter[str]:
    """The faults that were met, by operation and kind, such as `perform after:killed`."""
    met: Counter[str] = Counter()
    for taken in (folder / fault_injection.USED).glob("*/fault"):
        operation = taken.parent.name.split("-")[1]
        met[f"{operation} {taken.read_text()}"] += 1
    return met


@contextmanager
def deployed(stack: Stack, folder: Path, planned: Plan) -> Iterator[None]:
    """Put the wrapper around both functions, and take it away again; their processes end with it.

    Executions that begin meanwhile call the effect's function itself, and not its version.

    Args:
        stack: on the embedded AWS, whose functions can see `folder`.
        folder: for the plan and the record of what was used.
        planned: from `plan`; with nothing planned nothing is deployed.
    """
    if not planned:
        yield
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_plan(folder, {"messages": planned})
    wrapped = "faulty_starter" if stack.ledger_table is None else "faulty_consumer"
    functions = [(stack.starter_function, f"{wrapped}.handler")]
    # Behind a lock the consumer has the faults of the effect; nothing calls it but that one.
    if stack.ledger_table is None:
        effect = unpublished(stack.effect_function)
        if is_ours(stack, effect):
            functions.append((effect, FAULTY_EFFECT))
    originals = [_wrap(stack, *function, folder) for function in functions]
    try:
        with calling_latest(stack):
            yield
    finally:
        for original in originals:
            stack.lambda_.update_function_configuration(**original)


def is_ours(stack: Stack, function: str) -> bool:
    """Whether a function is Python, on the runtime path that lets others stand around it."""
    told = stack.lambda_.get_function_configuration(FunctionName=function)
    return told.get("Runtime", "").startswith("provided")


def _wrap(stack: Stack, function: str, handler: str, folder: Path) -> dict[str, Any]:
    before = stack.lambda_.get_function_configuration(FunctionName=function)
    variables = before["Environment"]["Variables"]
    # Around an effect that has faults around it already, its own handler is another.
    own = variables.get(AROUND, before["Handler"])
    stack.lambda_.update_function_configuration(
        FunctionName=function,
        Handler=handler,
        Environment={"Variables": variables | variables_around(own, folder)},
    )
    return {
        "FunctionName": function,
        "Handler": before["Handler"],
        "Environment": {"Variables": variables},
    }
