"""The hazards of the conformance suite, caused on a deployed stack; and how they ended.

What has to be waited for is waited for once: every hazard of a way has a thread and messages of its
own. A second queue of the tests' own feeds the deployed function one message at a time, so that a
crash is one message's alone, and many are at work side by side. What is refused and what is ordered
goes through RequestsQueue. What has no cause here, such as a network that fails, is only walked.
"""

import json
import threading
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from actonce.demo import records
from actonce.embedded import faults, functions
from actonce.embedded.injected import fault_injection
from actonce.queues.scan import QueueReader, counts
from actonce.stack.clients import Stack
from appointments import book_key
from lab.conformance import found
from lab.conformance.verdict import Ends, Verdict, judge, one_form
from tests.embedded.waiting import wait_until
from tests.support.deliveries import sqs_record

VISIBILITY_SECONDS = 5
AT_ONCE = 12
LONGEST_SECONDS = 180.0

REAL_WAYS = {
    "step-functions": ("step-functions",),
    "ledger": ("ledger-fenced",),
    "lease": ("lease-fenced", "lease-fenced-fifo"),
}
"""What is deployed, and its columns of the table: what happens really must be an end that each of
them has."""

Body = dict[str, Any]

Sent = tuple[str | None, Any]
"""A message id, None where there is none, and a body."""


STAND_STILL = (2, 5)
"""Seconds, behind executions and behind locks: who stands still goes on before Lambda would end the
function that acts, by the time-outs of the local deployment."""


class Theatre:
    """A deployed stack, its faults and the queue that feeds it."""

    def __init__(self, stack: Stack, faults_folder: Path, queue_url: str) -> None:
        self.stack = stack
        self.queue_url = queue_url
        self.run = f"real-{uuid.uuid4().hex[:8]}"
        behind = 0 if stack.ledger_table is None else 1
        self.stand_still = STAND_STILL[behind]
        self._folder = faults_folder
        self._planned: faults.Plan = {}
        self._lock = threading.Lock()

    def plan(self, message_id: str, planned: Mapping[str, Sequence[str]]) -> None:
        """Have calls for this message meet these faults, by operation."""
        with self._lock:
            self._planned[message_id] = {name: list(one) for name, one in planned.items() if one}
            faults.write_plan(self._folder, self._planned)

    def is_met(self, message_id: str, operation: str) -> bool:
        """Whether the first fault of that operation has come."""
        return (fault_injection.used(self._folder, message_id, operation) / "fault").exists()

    def unmet(self) -> list[tuple[str, str]]:
        """Message ids and operations whose first fault has not come."""
        return [
            (message_id, operation)
            for message_id, planned in self._planned.items()
            for operation in planned
            if not self.is_met(message_id, operation)
        ]

    def invoke(self, record: Mapping[str, Any]) -> bool:
        """Call the deployed function with one delivery; whether it may be acknowledged."""
        answer = self.stack.lambda_.invoke(
            FunctionName=self.stack.starter_function, Payload=json.dumps({"Records": [record]})
        )
        response: Any = json.loads(answer["Payload"].read())
        return bool(response == {"batchItemFailures": []})

    def is_at_rest(self) -> bool:
        """Whether nothing is under way any more."""
        queues = self.queue_url, self.stack.requests_queue
        if any(any(counts(self.stack.sqs, one)) for one in queues):
            return False
        running = records.execution_names(self.stack, "RUNNING")
        mine = {name for name in running if name.startswith(self.run)}
        return not mine or mine <= records.waiting(self.stack)


@dataclass(slots=True)
class Scene:
    """One hazard on one way: its messages."""

    theatre: Theatre
    hazard: str
    sent: list[Sent] = field(default_factory=list)

    @property
    def prefix(self) -> str:
        """Of the ids of its messages, and the practice that they are for."""
        return f"{self.theatre.run}-{self.hazard}"

    def message(self, name: str, *, content: str = "", **planned: Sequence[str]) -> Body:
        """A message, and the faults that its calls meet, by operation."""
        message_id = f"{self.prefix}-{name}"
        if planned:
            self.theatre.plan(message_id, planned)
        return {"message_id": message_id, "practice": self.prefix, "content": content}

    def send(self, body: Body, *, times: int = 1) -> None:
        """Send it to the tests' queue."""
        for _ in range(times):
            self.sent.append((body["message_id"], body))
            self.theatre.stack.sqs.send_message(
                QueueUrl=self.theatre.queue_url, MessageBody=json.dumps(body)
            )

    def request(self, body: Body | str) -> None:
        """Send it to RequestsQueue; all of a scene are one message group."""
        stack = self.theatre.stack
        text, message_id = (
            (body, None) if isinstance(body, str) else (json.dumps(body), body["message_id"])
        )
        self.sent.append((message_id, body))
        fifo = {"MessageGroupId": self.prefix, "MessageDeduplicationId": uuid.uuid4().hex}
        stack.sqs.send_message(
            QueueUrl=stack.requests_queue,
            MessageBody=text,
            **(fifo if stack.is_fifo else {}),  # type: ignore[arg-type]
        )

    def wait_until_acted_on(self, body: Body) -> None:
        """Wait for its effect."""
        stack = self.theatre.stack
        request: Any = {
            "TableName": stack.appointments_table,
            "KeyConditionExpression": "message_id = :id",
            "ExpressionAttributeValues": {":id": {"S": body["message_id"]}},
            "ConsistentRead": True,
        }
        wait_until(lambda: stack.dynamodb.query(**request)["Items"], LONGEST_SECONDS)


def _twice_at_once(scene: Scene) -> None:
    """The function is called twice side by side with one delivery; the effect takes a second."""
    body = scene.message("a", perform=["before:stood-still-1"])
    record = sqs_record(body, sqs_message_id=uuid.uuid4().hex)
    scene.sent.append((body["message_id"], body))
    together = threading.Barrier(2, timeout=60)

    def deliver(_: int) -> bool:
        together.wait()
        return scene.theatre.invoke(record)

    with ThreadPoolExecutor(2) as threads:
        is_acknowledged = all(threads.map(deliver, range(2)))
    if not is_acknowledged:
        scene.send(body)


def _again_later(scene: Scene) -> None:
    """The function returns a delivery that it has handled, as if SQS had not learnt."""
    scene.send(scene.message("a", delivery=["delivered-again"]))


def _resend_5_minutes(scene: Scene) -> None:
    """Sent twice at once, and once more when it was acted on."""
    body = scene.message("a")
    scene.send(body, times=2)
    scene.wait_until_acted_on(body)
    scene.send(body)


def _crash(scene: Scene) -> None:
    """A process is killed by SIGKILL before its batch, after it, and before its effect."""
    scene.send(scene.message("before-batch", delivery=["before:killed"]))
    scene.send(scene.message("after-batch", delivery=["after:killed"]))
    scene.send(scene.message("before-effect", perform=["before:killed"]))


def _crash_after_effect(scene: Scene) -> None:
    """The process is killed between the effect and what follows it."""
    scene.send(scene.message("a", perform=["after:killed"]))


def _effect_unheard(scene: Scene) -> None:
    """The effect happens and its caller gets an error; or it proves that it did not happen."""
    scene.send(scene.message("unheard", perform=["after:Lambda.Unknown"]))
    scene.send(scene.message("not-performed", perform=["before:NotPerformed"]))


def _effect_late(scene: Scene) -> None:
    """The function is ended at its time-out before its effect, and after it."""
    scene.send(scene.message("before", perform=["before:timed-out"]))
    scene.send(scene.message("after", perform=["after:timed-out"]))


def _zombie(scene: Scene) -> None:
    """A process is stopped by SIGSTOP before its effect, before and after its batch, and goes on
    seconds later, others having taken over; or Lambda ends it before that.

    Sent twice, so that another consumer begins at once to wait for a lease.
    """
    seconds, past_visibility = scene.theatre.stand_still, VISIBILITY_SECONDS + 1
    wakes = scene.message("wakes", perform=[f"before:stood-still-{seconds}"])
    scene.send(wakes, times=2)
    scene.send(scene.message("is-ended", perform=["before:stood-still-20"]))
    scene.send(scene.message("before", delivery=[f"before:stood-still-{past_visibility}"]))
    scene.send(scene.message("after", delivery=[f"after:stood-still-{past_visibility}"]))


def _conflict(scene: Scene) -> None:
    """Sent with two contents, at once and one after the other."""
    scene.request(scene.message("at-once", content="one"))
    scene.request(scene.message("at-once", content="other"))
    first = scene.message("later", content="one")
    scene.request(first)
    scene.wait_until_acted_on(first)
    scene.request(scene.message("later", content="other"))


def _poison(scene: Scene) -> None:
    """What is no JSON, and a message that the effect rejects."""
    scene.request(f"{scene.prefix}: no message {{")
    scene.request(scene.message("rejected") | {"practice": 7})


def _provider_gone(scene: Scene) -> None:
    """The practice's book stays closed for longer than it is retried, which is seconds here.

    What is not real: nothing else goes wrong.
    """
    stack = scene.theatre.stack
    stack.dynamodb.put_item(
        TableName=stack.appointments_table,
        Item=book_key(scene.prefix) | {"closed": {"BOOL": True}},
    )
    scene.request(scene.message("a"))


def _group_order(scene: Scene) -> None:
    """Two messages of one group; the effect of the first does not happen at first."""
    scene.request(scene.message("a", perform=["before:NotPerformed"] * 2))
    scene.request(scene.message("b"))


CAUSES: dict[str, Callable[[Scene], None]] = {
    "twice-at-once": _twice_at_once,
    "again-later": _again_later,
    "resend-5-minutes": _resend_5_minutes,
    "crash": _crash,
    "crash-after-effect": _crash_after_effect,
    "effect-unheard": _effect_unheard,
    "effect-late": _effect_late,
    "zombie": _zombie,
    "conflict": _conflict,
    "poison": _poison,
    "provider-gone": _provider_gone,
    "group-order": _group_order,
}
"""By the names of the scenarios."""


def cause_all(stack: Stack, faults_folder: Path) -> dict[str, Ends]:
    """Cause every hazard, wait until all has come to rest, and say how each ended."""
    with faults.around_functions(faults_folder, {}), _feeding_queue(stack) as queue_url:
        functions.warm(stack)
        theatre = Theatre(stack, faults_folder, queue_url)
        scenes = [Scene(theatre, hazard) for hazard in CAUSES]
        with ThreadPoolExecutor(len(scenes)) as threads:
            list(threads.map(lambda scene: CAUSES[scene.hazard](scene), scenes))
        wait_until(theatre.is_at_rest, LONGEST_SECONDS)
        assert theatre.unmet() == []
    found = ends_by_practice(stack, {scene.prefix: scene.sent for scene in scenes})
    return {scene.hazard: found[scene.prefix] for scene in scenes}


def ends_by_practice(stack: Stack, sent: Mapping[str, Sequence[Sent]]) -> dict[str, Ends]:
    """How messages ended, read from the stack at rest; each practice is a run of its own."""
    effects, waiting = effects_by_practice(stack), _waiting(stack)
    return {practice: Ends(one, effects[practice], waiting) for practice, one in sent.items()}


@contextmanager
def _feeding_queue(stack: Stack) -> Iterator[str]:
    """A standard queue that feeds the deployed function, one message at a time."""
    queue_url = stack.sqs.create_queue(
        QueueName=f"hazards-{uuid.uuid4().hex[:8]}",
        Attributes={"VisibilityTimeout": str(VISIBILITY_SECONDS)},
    )["QueueUrl"]
    arn = stack.sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["QueueArn"])
    mapping = stack.lambda_.create_event_source_mapping(
        EventSourceArn=arn["Attributes"]["QueueArn"],
        FunctionName=stack.starter_function,
        BatchSize=1,
        FunctionResponseTypes=["ReportBatchItemFailures"],
        ScalingConfig={"MaximumConcurrency": AT_ONCE},
    )
    try:
        yield queue_url
    finally:
        stack.lambda_.delete_event_source_mapping(UUID=mapping["UUID"])
        stack.sqs.delete_queue(QueueUrl=queue_url)


def effects_by_practice(stack: Stack) -> defaultdict[str, list[tuple[str, str]]]:
    """Message id and body of each practice's effects, by their slots."""
    pages = stack.dynamodb.get_paginator("scan").paginate(
        TableName=stack.appointments_table,
        FilterExpression="begins_with(appointment_id, :appointment)",
        ExpressionAttributeValues={":appointment": {"S": "appointment-"}},
        ConsistentRead=True,
    )
    # What other tests write by hand has no request.
    items = [item for one in pages for item in one["Items"] if "request" in item]
    items.sort(key=lambda item: int(item["slot"]["N"]))
    effects = defaultdict(list)
    for item in items:
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
    """Empty if both levels agree; else in which column of the table they do not, in a sentence."""
    published = found.read()
    for column in REAL_WAYS[way]:
        cell = published.get((column, hazard))
        if cell is None:
            continue  # not a hazard that this column has
        if verdict > cell.worst or verdict.kind not in cell.ends:
            ends = ", ".join(sorted(kind.name.lower() for kind in cell.ends))
            return (
                f"{way} against {hazard}: really {verdict.kind.name.lower()}"
                f"{', out of order' if verdict.is_out_of_order else ''}; "
                f"the walk of {column} found only {ends}."
            )
    return ""


def verdict_of(ends: Ends, hazard: str) -> Verdict:
    """The verdict, in the words of the table."""
    verdict = judge(ends)
    return verdict if hazard == "group-order" else Verdict(verdict.kind)
