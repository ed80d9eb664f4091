"""What came of messages during a transient failure, counted where it was recorded."""

from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

from actonce.demo.outcome import Sent, judge
from actonce.demo.records import Records
from actonce.messages.delivery_log import log_lines
from actonce.stack.clients import Stack
from lab.faults.transient import PROVIDER, Injector

_SQS_REQUESTS_OF_A_BATCH = 2
_HISTORIES_AT_ONCE = 4
_FUNCTIONS_SQS_CALLS = frozenset(
    {"SendMessage", "SendMessageBatch", "ChangeMessageVisibility", "ChangeMessageVisibilityBatch"}
)


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts of one run with one failure.

    Attributes:
        messages: different ones that were sent.
        decisions: dead letters that wait for a person.
        exiled: messages in UnstartedQueue; nothing was wrong with any of them.
        twice: acted on more than once.
        lost: that ended nowhere.
        of_quota: calls that were needed, over what the quota would have let pass meanwhile; a call
            that was made again for the same delivery was not. None if the failure has no quota.
        transitions: of the state machine, each repeat of a state counted, for one message.
        sqs_requests: for one message: a receive and a delete for each batch, and what the function
            itself asked of SQS; without the producer's.
        after_seconds: from the end of the failure until all was done; None if something was left
            for a person.
        seconds: from the first sending until the last was done.
        did_not_pass: calls that met the failure.
    """

    failure: str
    messages: int
    decisions: int
    exiled: int
    twice: int
    lost: int
    of_quota: float | None
    transitions: float
    sqs_requests: float
    after_seconds: float | None
    seconds: float
    did_not_pass: int

    @property
    def is_good(self) -> bool:
        """Whether it passed by itself."""
        return not (self.decisions or self.exiled or self.twice or self.lost)


def count_run(
    stack: Stack, injector: Injector, sent: Collection[Sent], found: Records, batches_before: int
) -> Figures:
    """Count what came of a run that has come to rest.

    Args:
        stack: it ran on; other messages may have been there before.
        injector: of the run, which still has its failure.
        sent: the run's messages.
        found: what was recorded, of this run and of others.
        batches_before: what `batches` said before the run.
    """
    own = of_run(found, sent)
    counted = judge(sent, own, 0, ordered=False)
    calls = _calls(own)
    ended = _ended(stack, sent, own)
    sqs_calls = sum(
        number for (what, _), number in injector.counts.items() if what in _FUNCTIONS_SQS_CALLS
    )
    sqs_calls += _SQS_REQUESTS_OF_A_BATCH * (batches(stack) - batches_before)
    share = injector.share_of_quota(calls)
    each = max(1, counted.distinct)
    refused = {source for source, _ in own.refused}
    is_done = not (counted.awaiting_decision or refused or counted.lost)
    return Figures(
        failure=injector.failure.name,
        messages=counted.distinct,
        decisions=counted.awaiting_decision,
        exiled=len({one.message_id for one in sent if one.sqs_message_id in refused}),
        twice=counted.acted_on_twice,
        lost=counted.lost,
        of_quota=None if share is None else round(share, 2),
        transitions=round(transitions(stack, own) / each, 2),
        sqs_requests=round(sqs_calls / each, 2),
        after_seconds=round(ended - injector.over_at(calls), 1) if is_done else None,
        seconds=round(ended - injector.began, 1),
        did_not_pass=injector.refused,
    )


def _calls(own: Records) -> dict[str, int]:
    """Calls that were needed: one for each sending that came to an end, one for each effect.

    The starter puts a row for each sending, and the example effect an appointment.
    """
    ended = [line for line in own.deliveries if line["end"] in {"started", "suppressed"}]
    sendings = len({line["sqs_message_id"] for line in ended})
    effects = len(own.effects)
    return {"StartExecution": sendings, "PutItem": sendings + effects, PROVIDER: effects}


def of_run(found: Records, sent: Collection[Sent]) -> Records:
    """Of what was recorded, what belongs to the messages of one run."""
    sqs_ids = {message.sqs_message_id for message in sent}
    ids = {message.message_id for message in sent}
    names = {message.execution_name for message in sent}
    return Records(
        deliveries=[line for line in found.deliveries if line["sqs_message_id"] in sqs_ids],
        executions={name: said for name, said in found.executions.items() if name in names},
        resolved=found.resolved & names,
        effects={key: number for key, number in found.effects.items() if key in ids},
        books={
            practice: [key for key in book if key in ids] for practice, book in found.books.items()
        },
        refused={(source, reason) for source, reason in found.refused if source in sqs_ids},
        waiting=found.waiting & names,
    )


def state_transitions(types: Iterable[str]) -> int:
    """What AWS bills for an execution: its start, each state entered, and each repeat of a task.

    Args:
        types: of the events of its history.
    Source: "AWS Step Functions pricing": retries are charged as additional transitions.
    """
    entered = scheduled = tasks = 0
    for kind in types:
        entered += kind.endswith("StateEntered")
        tasks += kind == "TaskStateEntered"
        scheduled += kind in {"TaskScheduled", "LambdaFunctionScheduled"}
    return 1 + entered + max(0, scheduled - tasks)


def transitions(stack: Stack, own: Records) -> int:
    """Of all executions that were recorded; a ledger or a lease has none."""
    if stack.ledger_table is not None:
        return 0

    def of_one(name: str) -> int:
        pages = stack.stepfunctions.get_paginator("get_execution_history").paginate(
            executionArn=stack.execution_arn(name)
        )
        return state_transitions(event["type"] for page in pages for event in page["events"])

    with ThreadPoolExecutor(_HISTORIES_AT_ONCE) as threads:
        return sum(threads.map(of_one, own.executions))


def _ended(stack: Stack, sent: Collection[Sent], own: Records) -> float:
    """When the last message was done, as a time stamp."""
    at = [datetime.fromisoformat(line["at"]).timestamp() for line in own.deliveries]
    if stack.ledger_table is None:
        names = {message.execution_name for message in sent}
        pages = stack.stepfunctions.get_paginator("list_executions").paginate(
            stateMachineArn=stack.state_machine
        )
        at += [
            execution["stopDate"].timestamp()
            for page in pages
            for execution in page["executions"]
            if execution["name"] in names and "stopDate" in execution
        ]
    return max(at, default=0.0)


def batches(stack: Stack) -> int:
    """Invocations of the starter so far."""
    return sum(line.startswith("REPORT ") for line in log_lines(stack, "REPORT"))
