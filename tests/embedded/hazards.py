"""Hazards of the conformance suite, caused on a deployed stack; and how they ended.

Each is one message or two of a practice, and of a group, of its own, with the faults that its calls
meet; all are sent at once, so that what has to be waited for is waited for once. What has no cause
here, such as a network that fails, is only walked.
"""

import json
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from actonce.demo.run import wait_for_rest
from actonce.embedded import faults
from actonce.embedded.injected.fault_injection import used
from actonce.queues.scan import QueueReader
from actonce.stack.clients import Stack
from lab.conformance import found
from lab.conformance.verdict import FinalState, Verdict, judge, one_form

REAL_WAYS = ("step-functions", "on-trouble")
"""What is deployed: what happens really must be an end that its column of the table has."""

Sent = tuple[str | None, Any]
"""A message id, None where there is none, and a body."""


@dataclass(frozen=True, slots=True)
class Cause:
    """How a hazard comes about.

    Attributes:
        faults: that calls for its first message meet, one after the other, by operation.
        messages: a name, which is the end of an id, and a content each, in the order of sending.
        practice: another one than its own.
    """

    faults: Mapping[str, Sequence[str]] = field(default_factory=dict)
    messages: tuple[tuple[str, str], ...] = (("a", ""),)
    practice: Any = None


CAUSES = {
    "again-later": Cause({"delivery": ["delivered-again"]}),
    "resend-5-minutes": Cause(messages=(("a", ""),) * 3),
    "crash": Cause({"delivery": ["before:killed", "after:killed"]}),
    "crash-after-effect": Cause({"perform": ["after:killed"]}),
    "effect-unheard": Cause({"perform": ["after:Lambda.Unknown"]}),
    "effect-late": Cause({"perform": ["after:timed-out"]}),
    # Stopped by SIGSTOP: the first is ended by Lambda, and the second goes on.
    "zombie": Cause({"perform": ["before:stood-still-5", "before:stood-still-2"]}),
    "conflict": Cause(messages=(("a", "one"), ("a", "other"))),
    "poison": Cause(practice=7),
    "provider-down": Cause({"perform": ["before:NotPerformed"]}),
    # Longer than it is retried here.
    "provider-gone": Cause({"perform": ["before:NotPerformed"] * 6}),
    "group-order": Cause({"perform": ["before:NotPerformed"] * 2}, (("a", ""), ("b", ""))),
}
"""By the names of the scenarios."""

LONGEST_SECONDS = 180.0
"""Nothing moves for less than that."""


def cause_all(stack: Stack, faults_folder: Path) -> dict[str, FinalState]:
    """Cause every hazard, wait until all has come to rest, and say how each ended."""
    run = f"real-{uuid.uuid4().hex[:8]}"
    planned = {
        f"{run}-{hazard}-a": {name: list(one) for name, one in cause.faults.items()}
        for hazard, cause in CAUSES.items()
    }
    with faults.around_functions(faults_folder, planned):
        sent = {hazard: _sent(stack, f"{run}-{hazard}", one) for hazard, one in CAUSES.items()}
        wait_for_rest(stack, quiet_seconds=LONGEST_SECONDS)
    unmet = [
        (hazard, operation)
        for hazard, cause in CAUSES.items()
        for operation in cause.faults
        if not used(faults_folder, f"{run}-{hazard}-a", operation).exists()
    ]
    assert unmet == []
    found = ends_by_practice(stack, {f"{run}-{hazard}": one for hazard, one in sent.items()})
    return {hazard: found[f"{run}-{hazard}"] for hazard in CAUSES}


def _sent(stack: Stack, prefix: str, cause: Cause) -> list[Sent]:
    """Send a hazard's messages; their ids and their bodies."""
    sent: list[Sent] = []
    for name, content in cause.messages:
        body = {"message_id": f"{prefix}-{name}", "content": content}
        body |= {"practice": prefix if cause.practice is None else cause.practice}
        sent.append((body["message_id"], body))
        fifo = {"MessageGroupId": prefix, "MessageDeduplicationId": uuid.uuid4().hex}
        stack.sqs.send_message(
            QueueUrl=stack.requests_queue,
            MessageBody=json.dumps(body),
            **(fifo if stack.is_fifo else {}),  # type: ignore[arg-type]
        )
    return sent


def ends_by_practice(stack: Stack, sent: Mapping[str, Sequence[Sent]]) -> dict[str, FinalState]:
    """How messages ended, read from the stack at rest; each practice is a run of its own."""
    effects, waiting = effects_by_practice(stack), _waiting(stack)
    return {practice: FinalState(one, effects[practice], waiting) for practice, one in sent.items()}


def effects_by_practice(stack: Stack) -> defaultdict[str, list[tuple[str, str]]]:
    """Message id and body of each practice's effects, by their slots."""
    effects = defaultdict(list)
    pages = stack.dynamodb.get_paginator("scan").paginate(
        TableName=stack.effects_table, ConsistentRead=True
    )
    items = [item for page in pages for item in page["Items"] if "slot" in item]
    for item in sorted(items, key=lambda one: (int(one["slot"]["N"]), one["message_id"]["S"])):
        if "request" in item:  # what other tests write by hand has none
            effect = (item["message_id"]["S"], one_form(item["request"]["S"]))
            effects[item["practice"]["S"]].append(effect)
    return effects


def _waiting(stack: Stack) -> set[str]:
    """The bodies in UnstartedQueue and DeadLetterQueue."""
    with QueueReader(stack.sqs, stack.unstarted_queue) as queue:
        waiting = {one_form(message.body) for message in queue.messages()}
    with QueueReader(stack.sqs, stack.dead_letter_queue) as queue:
        letters = [json.loads(message.body) for message in queue.messages()]
    return waiting | {
        one_form(letter["message"]["body"]) for letter in letters if letter["message"]
    }


def disagreement(way: str, hazard: str, verdict: Verdict) -> str:
    """Empty if both levels agree; else what really happened and what the walk found."""
    cell = found.read().get((way, hazard))
    # None: not a hazard that this column has.
    if cell is None or (verdict <= cell.worst and verdict.kind in cell.counts):
        return ""
    ends = ", ".join(sorted(kind.name.lower() for kind in cell.counts))
    return (
        f"{way} against {hazard}: really {verdict.kind.name.lower()}"
        f"{', out of order' if verdict.is_out_of_order else ''}; the walk found only {ends}."
    )


def verdict_of(ends: FinalState, hazard: str) -> Verdict:
    """The verdict, in the words of the table."""
    verdict = judge(ends)
    return verdict if hazard == "group-order" else Verdict(verdict.kind)
