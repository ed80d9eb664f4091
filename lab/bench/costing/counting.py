"""Counts what each way takes, on an embedded AWS of its own that is taken down at the end.

For each batch size the queue's function is held back until a whole batch is in the queue. The
requests are what the embedded CloudTrail recorded of the functions, whole, so that DynamoDB's units
follow from them, as long as no item is larger than a KB; transitions are read from the executions'
histories, invocations and milliseconds from the functions' REPORT lines. What CloudTrail does not
record is the embedded Lambda's own polling: SQS requests are by AWS's rule.
"""

import io
import json
import os
import re
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypedDict

from actonce.cli.demo import Strategy
from actonce.demo import records, requests
from actonce.embedded import functions, lifecycle
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from actonce.terminal.errors import Failed
from lab.faults.figures import state_transitions

STRATEGIES = ("step-functions", "ledger", "lease")
POWERTOOLS = "powertools"

_MESSAGES = 10  # one full batch; CloudTrail tells at most 50 requests of a kind
_MOST_EVENTS_TOLD = 50
_WRITES = ("PutItem", "UpdateItem", "DeleteItem")
_KINDS = (
    *(*_WRITES, "TransactWriteItems", "GetItem", "Query"),
    *("StartExecution", "DescribeExecution", "SendMessage", "Invoke"),
)
_REPORT = re.compile(r"REPORT RequestId: (\S+)\tDuration: \d+ ms\tBilled Duration: (\d+) ms")
_REST_SECONDS = 120.0
_POLL_SECONDS = 0.2

# As template.yaml has it by default, where the embedded AWS's own is shorter. A lease keeps the
# local one: the consumer has to have time for a takeover, and is given little here.
_PARAMETERS = {"EffectTimeoutSeconds": "15"}

Say = Callable[[str], None]

BATCH_SIZES = (10, 1)
"""Deliveries per batch that are counted: the most that the stack allows, and the fewest."""
_SQS_REQUESTS_OF_A_BATCH = 3
"""By AWS's rule, for a batch that is full: one to send it, one to receive it, one to delete it."""
_UNIT_BYTES = 1024

Traffic = Literal["message", "duplicate"]
"""A message that is new and succeeds, or one that was acted on before."""


class Count(TypedDict):
    """What `messages` messages of one kind of traffic took, all together.

    Attributes:
        way: the strategy, or the rival.
        batch_size: deliveries per batch; every batch was full.
        traffic: see `Traffic`.
        messages: how many were sent; the other numbers are for all of them.
        requests: AWS requests that functions and workflow made, by kind.
        state_transitions: of Step Functions: an execution's start, and each state entered.
        write_units: of DynamoDB, by AWS's rule, see `units`.
        read_units: as `write_units`.
        invocations: of Lambda functions.
        lambda_ms: how long these took, on the machine that counted, in functions warmed before.
        memory_mb: of the functions.
        sqs_requests: by AWS's rule.
        appointments: written in that time; a duplicate that writes one was acted on twice.
    """

    way: str
    batch_size: int
    traffic: Traffic
    messages: int
    requests: dict[str, int]
    state_transitions: int
    write_units: int
    read_units: float
    invocations: int
    lambda_ms: int
    memory_mb: int
    sqs_requests: int
    appointments: int


def units(kind: str, request: Mapping[str, Any]) -> tuple[int, float]:
    """Write and read units of a request of items that are not larger than a KB.

    A write takes one, also if its condition fails, and each part of a transaction two; a consistent
    read one, another one half of it.
    Source: "DynamoDB read and write operations", AWS; that a ConditionCheck in a transaction is
    billed as a write of the item that it looks at was measured on DynamoDB in "What a conditional
    DynamoDB transaction actually costs", martinhicks.dev.
    """
    if kind == "TransactWriteItems":
        return 2 * len(request["TransactItems"]), 0
    if kind in ("GetItem", "Query"):
        return 0, 1 if request.get("ConsistentRead") else 0.5
    return int(kind in _WRITES), 0


def count_all(say: Say) -> list[Count]:
    """Count every strategy, and Powertools behind a queue of its own.

    Raises:
        Failed: the stack did not come up, messages did not come to rest, or something was seen
            that is not counted here.
    """
    os.environ |= {"CLOUDTRAIL_RECORDING": "1", "CLOUDTRAIL_MAX_EVENTS": "1000000"}
    found: list[Count] = []
    for strategy in STRATEGIES:
        with tempfile.TemporaryDirectory(prefix="actonce-cost-") as folder:
            paths = Paths(Path(folder))
            try:
                say(f"{strategy}: bringing the embedded AWS up")
                way = Strategy(strategy).parameters
                _, stack = lifecycle.up(paths, lambda _: None, parameters=_PARAMETERS | way)
                functions.warm(stack)
                found += _count_way(_deployed_way(strategy, stack), say)
                if strategy == STRATEGIES[-1]:
                    found += _count_way(_powertools(stack, paths), say)
            finally:
                lifecycle.down(paths)
    return found


@dataclass(frozen=True, slots=True)
class _Way:
    """A way as it is deployed: its stack, queue, event source mapping, functions and tables."""

    name: str
    stack: Stack
    queue_url: str
    mapping: str
    functions: tuple[str, ...]
    tables: tuple[str, ...]

    def client(self, service: str) -> Any:
        return self.stack.aws.client(service)


def _deployed_way(strategy: str, stack: Stack) -> _Way:
    (mapping,) = stack.lambda_.list_event_source_mappings(FunctionName=stack.starter_function)[
        "EventSourceMappings"
    ]
    functions = [stack.starter_function]
    tables = [stack.appointments_table]
    if stack.ledger_table is None:
        functions.append(stack.appointments_function)
        tables.append(stack.fingerprints_table)
    else:
        tables.append(stack.ledger_table)
    return _Way(
        strategy, stack, stack.requests_queue, mapping["UUID"], tuple(functions), tuple(tables)
    )


def _powertools(stack: Stack, paths: Paths) -> _Way:
    """Deploy the rival's function beside the stack, with the consumer's package and effect."""
    table, name = "bench-idempotency", "bench-powertools"
    stack.dynamodb.create_table(
        TableName=table,
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    queue_url = stack.sqs.create_queue(QueueName=name)["QueueUrl"]
    queue = stack.sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["QueueArn"])
    consumer = stack.lambda_.get_function_configuration(FunctionName=stack.starter_function)
    stack.lambda_.create_function(
        FunctionName=name,
        Runtime=consumer["Runtime"],
        Role=consumer["Role"],
        Handler="powertools_consumer.handler",
        Code={"ZipFile": _package(paths.build / "ConsumerFunction")},
        Timeout=consumer["Timeout"],
        MemorySize=consumer["MemorySize"],
        Environment={
            "Variables": {
                "APPOINTMENTS_TABLE": stack.appointments_table,
                "IDEMPOTENCY_TABLE": table,
                "POWERTOOLS_SERVICE_NAME": name,
            }
        },
    )
    mapping = stack.lambda_.create_event_source_mapping(
        EventSourceArn=queue["Attributes"]["QueueArn"],
        FunctionName=name,
        BatchSize=_MESSAGES,
        FunctionResponseTypes=["ReportBatchItemFailures"],
        ScalingConfig={"MaximumConcurrency": 2},
    )
    return _Way(
        POWERTOOLS, stack, queue_url, mapping["UUID"], (name,), (stack.appointments_table, table)
    )


def _package(consumer: Path) -> bytes:
    source = Path(__file__).with_name("powertools_consumer.py")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as package:
        for path in sorted(consumer.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                package.write(path, path.relative_to(consumer))
        package.write(source, source.name)
    return packed.getvalue()


# ------------------------------------------------------------------ one way


def _count_way(way: _Way, say: Say) -> Iterator[Count]:
    traffic = requests.generate((1 + len(BATCH_SIZES)) * _MESSAGES, seed=1)
    bodies = list({json.loads(body)["message_id"]: body for body in traffic.bodies}.values())
    say(f"{way.name}: warming it")
    # One by one, so that as many processes begin as can be at work side by side.
    _act(way, bodies[:_MESSAGES], min(BATCH_SIZES))
    recorder = _Recorder(way)
    recorder.news()
    for number, batch_size in enumerate(BATCH_SIZES, start=1):
        batch = bodies[number * _MESSAGES : (number + 1) * _MESSAGES]
        kinds: tuple[Traffic, ...] = ("message", "duplicate")
        for kind in kinds:
            say(f"{way.name}: {kind}s in batches of {batch_size}")
            _act(way, batch, batch_size)
            yield _counted(way, kind, batch_size, recorder.news())


def _act(way: _Way, bodies: list[str], batch_size: int) -> None:
    """Have the messages acted on in batches of that size, and wait until all is at rest."""
    change = way.stack.lambda_.update_event_source_mapping
    change(UUID=way.mapping, Enabled=False, BatchSize=batch_size)
    way.stack.sqs.send_message_batch(
        QueueUrl=way.queue_url,
        Entries=[{"Id": str(n), "MessageBody": body} for n, body in enumerate(bodies)],
    )
    change(UUID=way.mapping, Enabled=True)
    deadline = time.monotonic() + _REST_SECONDS
    while _in_queue(way) or records.execution_names(way.stack, "RUNNING"):
        if time.monotonic() > deadline:
            raise Failed(
                f"{way.name}: the messages have not come to rest for {_REST_SECONDS:.0f} s."
            )
        time.sleep(_POLL_SECONDS)


def _in_queue(way: _Way) -> int:
    attributes = way.stack.sqs.get_queue_attributes(
        QueueUrl=way.queue_url,
        AttributeNames=[
            "ApproximateNumberOfMessages",
            "ApproximateNumberOfMessagesNotVisible",
        ],
    )["Attributes"]
    return sum(int(number) for number in attributes.values())


def _counted(way: _Way, traffic: Traffic, batch_size: int, news: "_News") -> Count:
    batches = _MESSAGES // batch_size
    if news.batches != batches:
        raise Failed(
            f"{way.name}: {_MESSAGES} messages came in {news.batches} batches instead of "
            f"{batches}, so some came again or alone; try again on a machine that is less busy."
        )
    expected = _MESSAGES if traffic == "message" else 0
    if news.appointments != expected:
        raise Failed(
            f"{way.name}: {news.appointments} appointments were written instead of {expected}, "
            "so this is not what was to be counted."
        )
    _check_sizes(way)
    taken = [units(kind, request) for kind, request in news.requests]
    return Count(
        way=way.name,
        batch_size=batch_size,
        traffic=traffic,
        messages=_MESSAGES,
        requests=dict(sorted(Counter(kind for kind, _ in news.requests).items())),
        state_transitions=news.state_transitions,
        write_units=sum(written for written, _ in taken),
        read_units=sum(read for _, read in taken),
        invocations=len(news.milliseconds),
        lambda_ms=sum(news.milliseconds),
        memory_mb=way.client("lambda").get_function_configuration(FunctionName=way.functions[0])[
            "MemorySize"
        ],
        sqs_requests=_SQS_REQUESTS_OF_A_BATCH * batches,
        appointments=news.appointments,
    )


def _check_sizes(way: _Way) -> None:
    """An item's JSON is larger than the item by AWS's rule."""
    for name in way.tables:
        pages = way.stack.dynamodb.get_paginator("scan").paginate(TableName=name)
        items = [item for page in pages for item in page["Items"]]
        if any(len(json.dumps(item)) > _UNIT_BYTES for item in items):
            raise Failed(f"{way.name}: an item of {name} may be larger than a KB.")


# ------------------------------------------------------------------ what was recorded


@dataclass(frozen=True, slots=True)
class _News:
    """What was recorded since the last time.

    Attributes:
        requests: kind and parameters of each request that the functions made.
        state_transitions: of the executions that were started.
        batches: invocations of the function behind the queue.
        milliseconds: billed, of each invocation of any function.
        appointments: that were written.
    """

    requests: list[tuple[str, dict[str, Any]]]
    state_transitions: int
    batches: int
    milliseconds: list[int]
    appointments: int


@dataclass(slots=True)
class _Recorder:
    """Tells what is new in what the embedded AWS recorded, as far as CloudTrail tells it."""

    way: _Way
    _seen: set[str] = field(default_factory=set)
    _appointments: int = 0

    def news(self) -> _News:
        """All that was recorded since the last call."""
        requests_made = self._requests()
        invocations = [self._invocations(function) for function in self.way.functions]
        written = sum(records.read(self.way.stack).effects.values())
        appointments, self._appointments = written - self._appointments, written
        return _News(
            requests_made,
            self._transitions(),
            len(invocations[0]),
            [milliseconds for of_one in invocations for milliseconds in of_one],
            appointments,
        )

    def _is_new(self, identity: str) -> bool:
        is_new = identity not in self._seen
        self._seen.add(identity)
        return is_new

    def _requests(self) -> list[tuple[str, dict[str, Any]]]:
        if unknown := {event["EventName"] for event in self._events({})} - set(_KINDS):
            raise Failed(
                f"{self.way.name}: the functions also make the requests "
                f"{', '.join(sorted(unknown))}; add them to what is counted."
            )
        found: list[tuple[str, dict[str, Any]]] = []
        is_first = not self._seen  # of the past some is not told, and not asked for
        for kind in _KINDS:
            new = [one for one in self._events({"EventName": kind}) if self._is_new(one["EventId"])]
            if len(new) == _MOST_EVENTS_TOLD and not is_first:
                raise Failed(
                    f"{self.way.name}: there were {len(new)} requests {kind} or more, and "
                    "CloudTrail tells no more than that; count fewer messages at a time."
                )
            found += [
                (kind, json.loads(one["CloudTrailEvent"])["requestParameters"]) for one in new
            ]
        return found

    def _events(self, attributes: dict[str, str]) -> list[dict[str, Any]]:
        """The newest events of the functions; their access key is the account's number here."""
        account = self.way.stack.outputs["RequestsQueueArn"].split(":")[4]
        told = self.way.client("cloudtrail").lookup_events(
            LookupAttributes=[
                {"AttributeKey": name, "AttributeValue": value}
                for name, value in (attributes | {"AccessKeyId": account}).items()
            ]
        )
        events: list[dict[str, Any]] = told["Events"]
        return events

    def _invocations(self, function: str) -> list[int]:
        """Milliseconds billed of each new invocation."""
        client = self.way.client("lambda")
        configuration = client.get_function_configuration(FunctionName=function)
        group = configuration.get("LoggingConfig", {}).get("LogGroup", f"/aws/lambda/{function}")
        paginator = self.way.client("logs").get_paginator("filter_log_events")
        pages = paginator.paginate(logGroupName=group, filterPattern="REPORT")
        reports = [_REPORT.match(event["message"]) for page in pages for event in page["events"]]
        return [int(report[2]) for report in reports if report and self._is_new(report[1])]

    def _transitions(self) -> int:
        """Of the new executions; a stack of locks has none."""
        if self.way.stack.ledger_table is not None:
            return 0
        client = self.way.client("stepfunctions")
        pages = client.get_paginator("list_executions").paginate(
            stateMachineArn=self.way.stack.state_machine
        )
        transitions = 0
        for execution in (item for page in pages for item in page["executions"]):
            if self._is_new(execution["executionArn"]):
                history = client.get_paginator("get_execution_history").paginate(
                    executionArn=execution["executionArn"]
                )
                transitions += state_transitions(
                    event["type"] for page in history for event in page["events"]
                )
        return transitions
