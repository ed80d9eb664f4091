"""Whatever lists goes on until there is no more: each such call of the sources, at three pages."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore import xform_name
from botocore.client import BaseClient

from actonce.demo import records as demo_records
from actonce.doctor import looking
from actonce.messages import delivery_log, recent
from actonce.messages.effect_store import DynamoDbEffects
from actonce.operate import pausing, status
from actonce.records import collect
from actonce.stack import clients
from actonce.stack.clients import Aws, Stack
from actonce_core.histories import reading
from actonce_pipeline.audit.reading.effects import Attributes
from execution_records import DayRecorder
from tests.support.asl import PROJECT

Site = tuple[str, str, str]
"""Of a call that lists: the file, the function around it, and the operation."""

DAY = date(2026, 1, 31)
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
TOPIC = "arn:aws:sns:us-east-1:123456789012:alarms"
STACK = Stack(
    Aws(region="us-east-1"),
    "actonce",
    {
        "AlarmTopicArn": TOPIC,
        "EffectsTableName": "appointments",
        "ProcessMessageArn": "arn:aws:states:us-east-1:123456789012:stateMachine:m",
        "RequestsQueueUrl": "https://sqs.us-east-1.amazonaws.com/123456789012/requests",
        "StarterFunctionName": "starter",
        "StarterLogGroupName": "starter",
    },
)
WITH_ROWS = Stack(STACK.aws, "actonce", STACK.outputs | {"LedgerTableName": "lease"})


EFFECTS = {
    "Table": {
        "AttributeDefinitions": [{"AttributeName": "message_id", "AttributeType": "S"}],
        "KeySchema": [
            {"KeyType": "HASH", "AttributeName": "message_id"},
            {"KeyType": "RANGE", "AttributeName": "appointment_id"},
        ],
    }
}
ONE = "It is asked for by its name, and there is one."


class Pages:
    """AWS as it lists two things: the one, then an empty page, which there may be, then the other.

    Attributes:
        listed: the two things, by the operation.
        answers: what other operations answer.
        calls: of those, what was asked.
        folder: an empty one.
    """

    def __init__(self, operation: str, case: "Listing", folder: Path) -> None:
        self.listed, self.answers = {operation: case.listed}, case.answers
        self.folder = folder
        self.calls: list[dict[str, Any]] = []

    def call(self, client: BaseClient, operation: str, asked: dict[str, Any]) -> dict[str, Any]:
        name = xform_name(operation)
        if name not in self.listed:
            self.calls.append(asked)
            answer = self.answers[name]
            return dict(answer() if callable(answer) else answer)
        pages = client.get_paginator(name)._pagination_cfg  # type: ignore[attr-defined]
        # S3 has two names for its token, and CloudWatch several kinds of alarms: the first does.
        token, next_token, result = (
            one if isinstance(one, str) else one[0]
            for one in (pages["input_token"], pages["output_token"], pages["result_key"])
        )
        first, last = self.listed[name]
        given = asked.get(token)
        page = int(next(iter(given.values()))["N"] if isinstance(given, dict) else given or 0)
        answer = {result: [[first], [], [last]][page], "ScannedCount": 1}
        if page < 2:
            number = str(page + 1)
            answer[next_token] = {"n": {"N": number}} if result == "Items" else number
            answer[pages.get("more_results", next_token)] = answer[next_token]
        return answer


@dataclass(frozen=True)
class Listing:
    """What is listed at a place of the sources, and how to see that both things were.

    Attributes:
        listed: the two things.
        seen: calls what lists; returns what was seen of the two, in their order.
        both: what `seen` then returns.
        answers: see `Pages`.
    """

    listed: list[Any]
    seen: Callable[[Pages], Any]
    both: Any
    answers: Mapping[str, Any]


def listing(*listed: Any, seen: Callable[[Pages], Any], both: Any, **answers: Any) -> Listing:
    return Listing(list(listed), seen, both, answers)


def names(found: Iterable[Any], name: str) -> list[Any]:
    return [getattr(one, name) for one in found]


def mapping(name: str) -> dict[str, Any]:
    return {"FunctionArn": name, "UUID": name, "State": "Enabled"}


def alarm(name: str) -> dict[str, Any]:
    told = {"AlarmName": name, "AlarmActions": [TOPIC], "StateValue": "ALARM"}
    return told | {"StateUpdatedTimestamp": NOON}


def resource(name: str) -> dict[str, Any]:
    told = {"LogicalResourceId": name, "PhysicalResourceId": name, "ResourceType": "T"}
    return told | {"ResourceStatus": "CREATE_COMPLETE"}


def execution(name: str) -> dict[str, Any]:
    return {"executionArn": name, "name": name, "status": "ABORTED", "startDate": NOON} | {
        "stopDate": NOON
    }


def log_event(name: str) -> dict[str, Any]:
    line = f'{{"stream": "deliveries", "message_id": "{name}"}}'
    return {"logStreamName": "s", "timestamp": 1, "message": line}


def item(name: str) -> dict[str, Any]:
    told = {"message_id": name, "appointment_id": f"appointment-{name}", "status": "COMPLETE"}
    told |= {"outcome": "performed", "updated": "2026-01-31T12:00:00.000Z", "practice": "main"}
    return {name: {"S": value} for name, value in told.items()} | {"slot": {"N": "1"}}


def effects() -> DynamoDbEffects:
    return DynamoDbEffects(STACK.dynamodb, "effects", Attributes())


def run(pages: Pages, stream: str) -> collect._Run:
    request = collect.CollectRequest([DAY], pages.folder, streams=frozenset({stream}))
    return collect._Run(WITH_ROWS, request, NOON)


def collected(pages: Pages) -> int | None:
    made = run(pages, "rows")
    made.collect()
    assert not made.result.missing
    return made.result.lines[DAY]["rows"]


def recorded(_: Pages) -> list[str]:
    s3 = STACK.aws.client("s3")
    return DayRecorder(STACK.stepfunctions, s3, "m", "records", "audits")._keys("records", "")


LISTINGS: dict[Site, Listing | str] = {
    ("actonce/adopt/project/skeleton/functions/your_effect.py", "find", "query"): (
        "A message's effects, by the whole key: DynamoDB's page has 1 MB, and one effect is enough."
    ),
    ("actonce/demo/records.py", "_executions", "list_executions"): listing(
        *map(execution, "ab"),
        seen=lambda _: list(demo_records._executions(STACK)),
        both=["a", "b"],
    ),
    ("actonce/demo/records.py", "_rows", "scan"): listing(
        *map(item, "ab"),
        seen=lambda _: list(demo_records._rows(WITH_ROWS, "lease")[0]),
        both=["a", "b"],
    ),
    ("actonce/doctor/looking.py", "_subscriptions", "list_subscriptions_by_topic"): listing(
        {"SubscriptionArn": "arn:a"},
        {"SubscriptionArn": "arn:b"},
        seen=lambda _: looking._subscriptions(STACK),
        both=2,
    ),
    ("actonce/doctor/looking.py", "_mappings", "list_event_source_mappings"): listing(
        *map(mapping, "ab"),
        seen=lambda _: names(looking._mappings(STACK, "queue"), "function"),
        both=["a", "b"],
    ),
    ("actonce/embedded/integrations/handler.py", "_fetch", "list_objects_v2"): (
        "On the embedded AWS alone, where a test's records are."
    ),
    ("actonce/embedded/sam.py", "_why", "describe_stack_events"): (
        "What failed last, and the newest events come first."
    ),
    ("actonce/messages/delivery_log.py", "_log_lines", "filter_log_events"): listing(
        *map(log_event, "ab"),
        seen=lambda _: [one["message_id"] for one in delivery_log.delivery_lines(STACK)],
        both=["a", "b"],
    ),
    ("actonce/messages/effect_store.py", "every", "scan"): listing(
        *map(item, "ab"),
        seen=lambda _: [one and one.message_id for one in effects().every()],
        both=["a", "b"],
        describe_table=EFFECTS,
    ),
    ("actonce/messages/effect_store.py", "find_effects", "query"): listing(
        *map(item, "ab"),
        seen=lambda _: names(effects().find_effects("a"), "effect_id"),
        both=["appointment-a", "appointment-b"],
        describe_table=EFFECTS,
    ),
    ("actonce/messages/recent.py", "_page_of_rows", "scan"): listing(
        *map(item, "ab"),
        seen=lambda _: names(recent.page(WITH_ROWS, limit=9).messages, "message_id"),
        both=["a", "b"],
    ),
    ("actonce/messages/history.py", "find_ended_undecided", "list_executions"): (
        "Twice as many as there are letters: the letter of an older one counts as waiting."
    ),
    ("actonce/messages/recent.py", "_listed", "list_executions"): listing(
        *map(execution, "ab"),
        seen=lambda _: names(recent.page(STACK, limit=9).messages, "name"),
        both=["a", "b"],
        describe_execution=execution("a"),
        get_execution_history={"events": []},
    ),
    ("actonce/operate/decisions/by_task_token.py", "_deployed_version", "describe_stacks"): ONE,
    ("actonce/operate/pausing.py", "event_source_mappings", "list_event_source_mappings"): listing(
        *map(mapping, "ab"),
        seen=lambda _: names(pausing.event_source_mappings(STACK), "uuid"),
        both=["a", "b"],
        get_queue_attributes={"Attributes": {"QueueArn": "queue"}},
    ),
    ("actonce/operate/status.py", "_alarms", "describe_alarms"): listing(
        *map(alarm, "ab"),
        seen=lambda _: names(status._alarms(STACK) or (), "name"),
        both=["a", "b"],
    ),
    ("actonce/operate/status.py", "_page", "list_executions"): (
        "The newest thousand; that there are more is told with the count."
    ),
    ("actonce/records/collect.py", "_log_retention", "describe_log_groups"): listing(
        {"logGroupName": "starter-of-another", "retentionInDays": 1},
        {"logGroupName": "starter", "retentionInDays": 7},
        seen=lambda pages: run(pages, "deliveries")._log_retention(),
        both=timedelta(days=7),
    ),
    ("actonce/records/collect.py", "_rows", "scan"): listing(
        *map(item, "ab"), seen=collected, both=2
    ),
    ("actonce/stack/clients.py", "resources_of", "list_stack_resources"): listing(
        *map(resource, "ab"),
        seen=lambda _: list(clients.resources_of(STACK.aws, "actonce", {"T"})),
        both=["a", "b"],
    ),
    ("actonce/stack/clients.py", "described", "describe_stacks"): ONE,
    ("functions/actonce_core/histories/reading.py", "executions_between", "list_executions"): (
        listing(
            *map(execution, "ab"),
            seen=lambda _: [
                one.name
                for page in reading.executions_between(
                    STACK.stepfunctions, "m", (NOON, NOON + timedelta(days=1)), retry_for=0
                )
                for one in page
            ],
            both=["a", "b"],
        )
    ),
    ("functions/actonce_core/histories/reading.py", "read_events", "get_execution_history"): (
        listing(
            "a", "b", seen=lambda _: reading.read_events(STACK.stepfunctions, "e"), both=["a", "b"]
        )
    ),
    ("actonce/messages/effect_store.py", "some", "scan"): (
        "A sample of the effects, for doctor: what is in one page is enough of one."
    ),
    ("functions/appointments.py", "find", "query"): (
        "A message's appointments, by the key: the example books one, and DynamoDB's page has 1 MB."
    ),
    ("functions/execution_records.py", "_keys", "list_objects_v2"): listing(
        {"Key": "a"},
        {"Key": "b"},
        seen=recorded,
        both=["a", "b"],
    ),
}
"""Each place where something is listed: what it has to see, or why one page is enough."""


def listing_operations() -> set[str]:
    """What botocore knows to come in pages, of the services that the sources have clients of."""
    text = "".join(path.read_text() for path in sources())
    services = set(re.findall(r'(?:client|fresh)\(\s*"([a-z0-9-]+)"', text))
    assert {"s3", "dynamodb", "stepfunctions", "sqs"} <= services
    loader = botocore.session.get_session().get_component("data_loader")
    return {
        xform_name(operation)
        for service in services & set(loader.list_available_services("paginators-1"))
        for operation in loader.load_service_model(service, "paginators-1")["pagination"]
    }


def sources() -> Iterator[Path]:
    for folder in ("actonce", "functions", "pipeline"):
        yield from (PROJECT / folder).rglob("*.py")


def sites() -> set[Site]:
    """Where the sources call such an operation, or make a paginator of it.

    A call of AWS names its arguments as AWS does: `TableName`, `stateMachineArn`, or all as a dict.
    """
    operations, found = listing_operations(), set()
    for path in sources():
        for function in ast.walk(ast.parse(path.read_text())):
            if not isinstance(function, ast.FunctionDef):
                continue
            for call in ast.walk(function):
                if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
                    continue
                operation = call.func.attr
                if operation in ("get_paginator", "can_paginate"):
                    operation = ast.literal_eval(call.args[0])
                elif operation not in operations or not any(
                    one.arg is None or re.search("[A-Z]", one.arg) for one in call.keywords
                ):
                    continue
                found.add((path.relative_to(PROJECT).as_posix(), function.name, operation))
    return found


def test_each_place_where_something_is_listed_is_here() -> None:
    assert sites() == LISTINGS.keys()


@pytest.mark.parametrize(
    ("site", "case"),
    [
        pytest.param(site, case, id=" ".join(site))
        for site, case in LISTINGS.items()
        if isinstance(case, Listing)
    ],
)
def test_whatever_lists_goes_on_until_there_is_no_more(
    site: Site, case: Listing, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pages = Pages(site[2], case, tmp_path)

    def call(client: BaseClient, operation: str, asked: dict[str, Any]) -> dict[str, Any]:
        return pages.call(client, operation, asked)

    monkeypatch.setattr(BaseClient, "_make_api_call", call)
    assert case.seen(pages) == case.both
