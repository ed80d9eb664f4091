"""Has a deployed stack's functions reach AWS and their provider through an injector of failures.

The functions' SDK takes the proxy for Step Functions, DynamoDB and SQS (`AWS_ENDPOINT_URL_SFN` and
the like; MiniStack sets the general `AWS_ENDPOINT_URL` itself). The provider is the practice's book
of the example's effect: a provider that is down is a book that is closed. What MiniStack does
within itself passes by the proxy: the event source mapping's receiving and deleting, and the state
machine's calls of the effect's function.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from actonce.stack.clients import Stack
from actonce_core.locking.consumer import MAX_RETRIES
from appointments import BOOK_KEY
from lab.faults.proxy import Answered, Forwarded, Request, Unanswered, proxy_before
from lab.faults.transient import DYNAMODB, PROVIDER, SQS, STEP_FUNCTIONS, Fate, Injector

SILENT_SECONDS = 20.0
"""How long a silent service keeps a connection: longer than any SDK of the functions waits."""

_PATIENT_RETRY = {"BackoffRate": 1.2, "MaxAttempts": 36}
"""19 minutes; gently, because without jitter all that wait come back together."""
_PATIENT = {"MAX_RETRIES": str(MAX_RETRIES)}

_SERVICES = {
    "AWSStepFunctions": STEP_FUNCTIONS,
    "DynamoDB_20120810": DYNAMODB,
    "AmazonSQS": SQS,
}
_VARIABLES = ("AWS_ENDPOINT_URL_SFN", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS")

_THROTTLED = {
    STEP_FUNCTIONS: "ThrottlingException",
    DYNAMODB: "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
    SQS: "com.amazonaws.sqs#RequestThrottled",
    # The book is closed; the SDK does not ask again.
    PROVIDER: "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
}
_FAILED = {
    DYNAMODB: (500, "com.amazonaws.dynamodb.v20120810#InternalServerError"),
    PROVIDER: (400, _THROTTLED[PROVIDER]),
}
_UNAVAILABLE = (503, "ServiceUnavailable")

_VERSION = re.compile(r"(:function:[^:]+):[0-9]+$")

Meeting = Forwarded | Answered | Unanswered


@contextmanager
def under(stack: Stack, injector: Injector, *, is_patient: bool = True) -> Iterator[None]:
    """Have a stack's functions meet an injector's failure, and take it away again.

    Args:
        stack: on the embedded AWS.
        injector: whose failure it is; it may change meanwhile.
        is_patient: it waits for its provider for longer than the embedded AWS otherwise does.
    """

    def met(request: Request) -> Meeting:
        return meet(injector, request, stack.appointments_table)

    _take_whole_batches(stack)
    with through_proxy(stack, met, is_patient=is_patient):
        yield


def functions_of(stack: Stack) -> list[str]:
    """What the queue feeds, and the effect's function; behind a lock the first has the effect."""
    effect = [stack.appointments_function] if stack.ledger_table is None else []
    return [stack.starter_function, *effect]


@contextmanager
def through_proxy(
    stack: Stack, met: Callable[[Request], Meeting], *, is_patient: bool = False
) -> Iterator[None]:
    """Have a stack's functions reach AWS through a proxy, and take it away again.

    Their processes begin anew at both ends. Executions that begin meanwhile call the effect's
    function itself, and not its version, which cannot be changed.

    Args:
        stack: on the embedded AWS.
        met: what each of their requests meets.
        is_patient: see `under`.
    """

    def changed(definition: str) -> str:
        calling = calling_latest(definition, stack.effect_function, stack.find_function or "")
        return _patient(calling) if is_patient else calling

    with proxy_before(str(stack.aws.endpoint_url), met) as url:
        added = dict.fromkeys(_VARIABLES, url) | (_PATIENT if is_patient else {})
        before = {
            function: _add_variables(stack, function, added) for function in functions_of(stack)
        }
        try:
            with _another_definition(stack, changed):
                yield
        finally:
            for function, variables in before.items():
                stack.lambda_.update_function_configuration(
                    FunctionName=function, Environment={"Variables": variables}
                )


def _take_whole_batches(stack: Stack) -> None:
    """Have ten deliveries come at once, as on AWS; here it is fewer otherwise."""
    pages = stack.lambda_.get_paginator("list_event_source_mappings")
    for page in pages.paginate(FunctionName=stack.starter_function):
        for one in page["EventSourceMappings"]:
            stack.lambda_.update_event_source_mapping(UUID=one["UUID"], BatchSize=10)


@contextmanager
def _another_definition(stack: Stack, change: Callable[[str], str]) -> Iterator[None]:
    """Have the executions that begin meanwhile go by it; behind a lock there are none."""
    if stack.ledger_table is not None:
        yield
        return
    arn = stack.state_machine
    before = stack.stepfunctions.describe_state_machine(stateMachineArn=arn)["definition"]
    stack.stepfunctions.update_state_machine(stateMachineArn=arn, definition=change(before))
    try:
        yield
    finally:
        stack.stepfunctions.update_state_machine(stateMachineArn=arn, definition=before)


def calling_latest(definition: str, *versions: str) -> str:
    """The definition with Lambda's `$LATEST` in the place of versions: what they were made of."""
    for version in {*versions} - {""}:
        definition = re.sub(rf"{re.escape(version)}(?![0-9])", unpublished(version), definition)
    return definition


def unpublished(function: str) -> str:
    """The function that a version is of, by name or ARN; what names no version stays as it is."""
    return _VERSION.sub(r"\1", function)


def _patient(text: str) -> str:
    """The definition with `Retry` that goes on for 19 minutes."""
    definition = json.loads(text)
    for name in ("PerformEffect", "FindEffect"):
        for retrier in definition["States"][name].get("Retry", []):
            if retrier.get("MaxAttempts") != 0:
                retrier.update(_PATIENT_RETRY)
    return json.dumps(definition)


def _add_variables(stack: Stack, function: str, added: Mapping[str, str]) -> dict[str, str]:
    """Add variables to a function's environment; those that it had."""
    before = stack.lambda_.get_function_configuration(FunctionName=function)
    variables = before["Environment"]["Variables"]
    stack.lambda_.update_function_configuration(
        FunctionName=function, Environment={"Variables": {**variables, **added}}
    )
    return variables


def meet(injector: Injector, request: Request, table: str) -> Meeting:
    """What an API call of a function meets.

    Args:
        injector: says it.
        request: as it came.
        table: of the appointments: taking a slot of a practice is a call of the provider, a query
            looks an effect up, and writing an appointment performs one.
    """
    named, _, call = request.target.partition(".")
    service = _SERVICES.get(named, named)
    fate = injector.meets(service, call)
    if fate is not Fate.PASSES or service != DYNAMODB:
        return as_answer(service, fate)
    asked = json.loads(request.body)
    if asked.get("TableName") == table and asked.get("Key", {}).get("message_id") == {
        "S": BOOK_KEY
    }:
        return as_answer(PROVIDER, injector.meets(PROVIDER, PROVIDER))
    if asked.get("TableName") == table and call == "Query":
        message_id = asked["ExpressionAttributeValues"][":message_id"]["S"]
        if injector.finds(message_id) is not Fate.PASSES:
            return _error(400, "ResourceNotFoundException", "The book cannot be looked at.")
    appointment = _appointment_of(asked, table)
    is_lost = appointment is not None and injector.loses_answer(
        appointment["message_id"]["S"], appointment["appointment_id"]["S"]
    )
    return Forwarded(is_lost=is_lost)


def _appointment_of(asked: dict[str, Any], table: str) -> dict[str, Any] | None:
    """The appointment that a request writes."""
    puts = [asked, *(item.get("Put", {}) for item in asked.get("TransactItems", []))]
    items = [put["Item"] for put in puts if put.get("TableName") == table and "Item" in put]
    return items[0] if items else None


def as_answer(service: str, fate: Fate) -> Meeting:
    """What a client of a service, or the `PROVIDER`'s, is answered."""
    if fate is Fate.PASSES:
        return Forwarded()
    if fate is Fate.UNANSWERED:
        return Unanswered(SILENT_SECONDS)
    if fate is Fate.THROTTLED:
        return _error(400, _THROTTLED.get(service, "ThrottlingException"), "Rate exceeded")
    return _error(*_FAILED.get(service, _UNAVAILABLE), "The service is down.")


def _error(status: int, code: str, message: str) -> Answered:
    return Answered(status, json.dumps({"__type": code, "message": message}).encode())
