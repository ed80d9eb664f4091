"""Whatever lists goes on until there is no more: by botocore's paginators, or as is said here."""

import ast
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import botocore.session
from botocore import xform_name
from botocore.stub import Stubber

from actonce_core.histories.reading import executions_between
from tests.support.asl import PROJECT

Site = tuple[str, str, str]
"""Of a call that lists: the file, the function around it, and the operation."""

ONE = "It is asked for by its name, and there is one."
WITHOUT_A_PAGINATOR: dict[Site, str] = {
    ("actonce/adopt/project/skeleton/functions/your_effect.py", "find", "query"): (
        "A message's effects, by the whole key: DynamoDB's page has 1 MB, and one effect is enough."
    ),
    ("actonce/embedded/sam.py", "_why", "describe_stack_events"): (
        "What failed last, and the newest events come first."
    ),
    ("actonce/messages/effect_store.py", "some", "scan"): (
        "A sample of the effects, for doctor: what is in one page is enough of one."
    ),
    ("actonce/messages/recent.py", "_listed", "list_executions"): (
        "A page of the list is gone on with later: tests/messages/test_recent.py."
    ),
    ("actonce/operate/decisions/by_task_token.py", "_deployed_version", "describe_stacks"): ONE,
    ("actonce/operate/status.py", "_page", "list_executions"): (
        "The newest thousand; that there are more is told with the count."
    ),
    ("actonce/stack/clients.py", "described", "describe_stacks"): ONE,
    ("functions/actonce_core/histories/reading.py", "executions_between", "list_executions"): (
        "Each page is asked for again where it is throttled: the test below."
    ),
    ("functions/appointments.py", "find", "query"): (
        "A message's appointments, by the key: the example books one, and DynamoDB's page has 1 MB."
    ),
}


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
    """Where the sources call such an operation themselves.

    A call of AWS names its arguments as AWS does: `TableName`, `stateMachineArn`, or all as a dict.
    """
    operations = listing_operations()
    return {
        (path.relative_to(PROJECT).as_posix(), function.name, call.func.attr)
        for path in sources()
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef)
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        if call.func.attr in operations
        if any(one.arg is None or re.search("[A-Z]", one.arg) for one in call.keywords)
    }


def test_what_is_listed_without_a_paginator_is_here() -> None:
    assert sites() == WITHOUT_A_PAGINATOR.keys()


def test_executions_are_listed_also_behind_an_empty_page() -> None:
    noon = datetime(2026, 1, 31, 12, tzinfo=UTC)
    item_fields: dict[str, Any] = {"status": "ABORTED", "startDate": noon, "stopDate": noon}
    item_fields["stateMachineArn"] = machine = (
        "arn:aws:states:us-east-1:123456789012:stateMachine:m"
    )
    keys: Any = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    client = boto3.client("stepfunctions", region_name="us-east-1", **keys)
    with Stubber(client) as stubbed:
        for names, token in (("a", "1"), ("", "2"), ("b", "")):
            items = [
                item_fields | {"name": name, "executionArn": f"{machine}:{name}"} for name in names
            ]
            more = {"nextToken": token} if token else {}
            stubbed.add_response("list_executions", {"executions": items, **more})
        day = (noon, noon + timedelta(days=1))
        pages = executions_between(client, machine, day, retry_for=0)
        assert [one.name for page in pages for one in page] == ["a", "b"]
