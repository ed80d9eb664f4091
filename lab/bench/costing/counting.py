"""Counts what each way takes, on an embedded AWS of its own that is taken down at the end.

For each batch size the queue's function is held back until a whole batch is in the queue. The
functions' requests go through a proxy, so that DynamoDB's units follow from them, as long as no
item is larger than a KB; transitions are read from the executions' histories, invocations and
milliseconds from the functions' REPORT lines. What passes by the proxy is the embedded Lambda's own
polling: SQS requests are by AWS's rule.
"""

import io
import json
import re
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict

from actonce.cli.demo import Strategy
from actonce.demo import records, requests
from actonce.embedded import functions, lifecycle
from actonce.queues.scan import counts
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from actonce.terminal.errors import Failed
from lab.faults.figures import transitions
from lab.faults.proxy import Forwarded, Request
from lab.faults.stack import functions_of, through_proxy

STRATEGIES = ("step-functions", "ledger", "lease")
POWERTOOLS = "powertools"

_MESSAGES = 10  # one full batch
_BILLED = re.compile(r"\tBilled Duration: (\d+) ms")
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
        requests: AWS requests that the functions made, by kind.
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

    Raises:
        Failed: of this kind it is not known.

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
    if kind in ("PutItem", "UpdateItem", "DeleteItem"):
        return 1, 0
    raise Failed(f"What {kind} takes is not known here.")


def count_all(say: Say) -> list[Count]:
    """Count every strategy, and Powertools in the place of the last one's consumer.

    Raises:
        Failed: the stack did not come up, messages did not come to rest, or something was seen
            that is not known here.
    """
    found: list[Count] = []
    for strategy in STRATEGIES:
        with tempfile.TemporaryDirectory(prefix="actonce-cost-") as folder:
            paths = Paths(Path(folder))
            try:
                say(f"{strategy}: bringing the embedded AWS up")
                way = Strategy(strategy).parameters
                _, stack = lifecycle.up(paths, lambda _: None, parameters=_PARAMETERS | way)
                functions.warm(stack)
                found += _count_way(strategy, stack, say)
                if strategy == STRATEGIES[-1]:
                    _deploy_powertools(stack, paths)
                    found += _count_way(POWERTOOLS, stack, say)
            finally:
                lifecycle.down(paths)
    return found


def _deploy_powertools(stack: Stack, paths: Paths) -> None:
    """Put the rival into the consumer's package, which has the effect, and have it called."""
    table, consumer = "bench-idempotency", paths.build / "ConsumerFunction"
    stack.dynamodb.create_table(
        TableName=table,
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    source = Path(__file__).with_name("powertools_consumer.py")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as package:
        for path in sorted(consumer.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                package.write(path, path.relative_to(consumer))
        package.write(source, source.name)
    name = stack.starter_function
    stack.lambda_.update_function_code(FunctionName=name, ZipFile=packed.getvalue())
    variables = stack.lambda_.get_function_configuration(FunctionName=name)["Environment"]
    stack.lambda_.update_function_configuration(
        FunctionName=name,
        Handler="powertools_consumer.handler",
        Environment={"Variables": {**variables["Variables"], "IDEMPOTENCY_TABLE": table}},
    )


# ------------------------------------------------------------------ one way


def _count_way(way: str, stack: Stack, say: Say) -> Iterator[Count]:
    traffic = requests.generate((1 + len(BATCH_SIZES)) * _MESSAGES, seed=1)
    bodies = list({json.loads(body)["message_id"]: body for body in traffic.bodies}.values())
    came: list[Request] = []

    def met(request: Request) -> Forwarded:
        came.append(request)
        return Forwarded()

    with through_proxy(stack, met):
        say(f"{way}: warming it")
        # One by one, so that as many processes begin as can be at work side by side.
        _act(stack, bodies[:_MESSAGES], min(BATCH_SIZES))
        for number, batch_size in enumerate(BATCH_SIZES, start=1):
            batch = bodies[number * _MESSAGES : (number + 1) * _MESSAGES]
            kinds: tuple[Traffic, ...] = ("message", "duplicate")
            for kind in kinds:
                say(f"{way}: {kind}s in batches of {batch_size}")
                before = _recorded(stack)
                came.clear()
                _act(stack, batch, batch_size)
                taken = _recorded(stack)
                taken.subtract(before)
                yield _count(stack, way, batch_size, kind, taken, came)


def _act(stack: Stack, bodies: list[str], batch_size: int) -> None:
    """Have the messages acted on in batches of that size, and wait until all is at rest."""
    mappings = stack.lambda_.list_event_source_mappings(FunctionName=stack.starter_function)
    (mapping,) = mappings["EventSourceMappings"]
    change = stack.lambda_.update_event_source_mapping
    change(UUID=mapping["UUID"], Enabled=False, BatchSize=batch_size)
    stack.sqs.send_message_batch(
        QueueUrl=stack.requests_queue,
        Entries=[{"Id": str(n), "MessageBody": body} for n, body in enumerate(bodies)],
    )
    change(UUID=mapping["UUID"], Enabled=True)
    deadline = time.monotonic() + _REST_SECONDS
    while any(counts(stack.sqs, stack.requests_queue)) or records.execution_names(stack, "RUNNING"):
        if time.monotonic() > deadline:
            raise Failed(f"The messages have not come to rest for {_REST_SECONDS:.0f} s.")
        time.sleep(_POLL_SECONDS)


def _recorded(stack: Stack) -> Counter[str]:
    """What was recorded so far, by the names of `Count`; `batches` are of the queue's function."""
    found = records.read(stack)
    billed = [_milliseconds(stack, function) for function in functions_of(stack)]
    return Counter(
        batches=len(billed[0]),
        invocations=sum(map(len, billed)),
        lambda_ms=sum(map(sum, billed)),
        state_transitions=transitions(stack, found),
        appointments=sum(found.effects.values()),
    )


def _milliseconds(stack: Stack, function: str) -> list[int]:
    """Billed, of each invocation."""
    configuration = stack.lambda_.get_function_configuration(FunctionName=function)
    group = configuration.get("LoggingConfig", {}).get("LogGroup", f"/aws/lambda/{function}")
    paginator = stack.logs.get_paginator("filter_log_events")
    pages = paginator.paginate(logGroupName=group, filterPattern="REPORT")
    reports = [_BILLED.search(event["message"]) for page in pages for event in page["events"]]
    return [int(report[1]) for report in reports if report]


def _count(
    stack: Stack,
    way: str,
    batch_size: int,
    traffic: Traffic,
    taken: Counter[str],
    came: list[Request],
) -> Count:
    expected = {
        "batches": _MESSAGES // batch_size,
        "appointments": _MESSAGES if traffic == "message" else 0,
    }
    for what, number in expected.items():
        if taken[what] != number:
            raise Failed(
                f"{way}: {_MESSAGES} messages were {taken[what]} {what} instead of {number}, so "
                "this is not what was to be counted; try again on a machine that is less busy."
            )
    _check_sizes(stack)
    kinds = [one.target.partition(".")[::2] for one in came]
    each = [
        units(kind, json.loads(one.body))
        for (service, kind), one in zip(kinds, came, strict=True)
        if service.startswith("DynamoDB")
    ]
    consumer = stack.lambda_.get_function_configuration(FunctionName=stack.starter_function)
    return Count(
        way=way,
        batch_size=batch_size,
        traffic=traffic,
        messages=_MESSAGES,
        requests=dict(sorted(Counter(kind for _, kind in kinds).items())),
        state_transitions=taken["state_transitions"],
        write_units=sum(written for written, _ in each),
        read_units=sum(read for _, read in each),
        invocations=taken["invocations"],
        lambda_ms=taken["lambda_ms"],
        memory_mb=consumer["MemorySize"],
        sqs_requests=_SQS_REQUESTS_OF_A_BATCH * taken["batches"],
        appointments=taken["appointments"],
    )


def _check_sizes(stack: Stack) -> None:
    """An item's JSON is larger than the item by AWS's rule."""
    for name in stack.dynamodb.list_tables()["TableNames"]:
        pages = stack.dynamodb.get_paginator("scan").paginate(TableName=name)
        items = [item for page in pages for item in page["Items"]]
        if any(len(json.dumps(item)) > _UNIT_BYTES for item in items):
            raise Failed(f"An item of {name} may be larger than a KB.")
