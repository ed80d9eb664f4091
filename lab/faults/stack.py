"""Has a deployed stack's functions reach AWS and their provider through an injector of failures.

The functions' SDK takes the proxy for Step Functions, DynamoDB and SQS (`AWS_ENDPOINT_URL_SFN` and
the like; MiniStack sets the general `AWS_ENDPOINT_URL` itself). What MiniStack does within itself
passes by the proxy: the event source mapping's receiving and deleting, and the state machine's
calls of the effect's function. So Lambda's throttling is injected into the function (see
`injected.failing`), under the name that Step Functions has for it.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from actonce.embedded.latest import calling_latest
from actonce.stack.clients import Stack
from actonce_core.locking.consumer import MAX_RETRIES
from lab.faults.injected import failing
from lab.faults.proxy import Answered, Forwarded, Request, Unanswered, proxy_before
from lab.faults.transient import DYNAMODB, LAMBDA, SQS, STEP_FUNCTIONS, Fate, Injector, Met

INJECTED = Path(failing.__file__).parent

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
_VARIABLES = {STEP_FUNCTIONS: "SFN", DYNAMODB: "DYNAMODB", SQS: "SQS"}

_THROTTLED = {
    STEP_FUNCTIONS: "ThrottlingException",
    DYNAMODB: "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
    SQS: "com.amazonaws.sqs#RequestThrottled",
}
_FAILED = {DYNAMODB: (500, "com.amazonaws.dynamodb.v20120810#InternalServerError")}
_UNAVAILABLE = (503, "ServiceUnavailable")


@contextmanager
def under(stack: Stack, injector: Injector, *, is_patient: bool = True) -> Iterator[None]:
    """Have a stack's functions meet an injector's failure, and take it away again.

    Their processes begin anew at both ends. What else is wrapped around a handler stays there.
    Executions that begin meanwhile call the effect's function itself, and not its version.

    Args:
        stack: on the embedded AWS.
        injector: whose failure it is; it may change meanwhile.
        is_patient: it waits for its provider for longer than the embedded AWS otherwise does.
    """
    with proxy_before(str(stack.aws.endpoint_url), lambda request: meet(injector, request)) as url:
        _take_whole_batches(stack)
        functions = {stack.starter_function: stack.ledger_table is not None}
        if stack.ledger_table is None:  # else the effect is in the consumer
            functions[stack.appointments_function] = True
        originals = [
            _wrap(stack, function, url, _PATIENT if is_patient else {}, has_effect=has_effect)
            for function, has_effect in functions.items()
        ]
        try:
            with calling_latest(stack), _patient(stack) if is_patient else nullcontext():
                yield
        finally:
            for original in originals:
                stack.lambda_.update_function_configuration(**original)


def _take_whole_batches(stack: Stack) -> None:
    """Have ten deliveries come at once, as on AWS; here it is fewer otherwise."""
    pages = stack.lambda_.get_paginator("list_event_source_mappings")
    for page in pages.paginate(FunctionName=stack.starter_function):
        for one in page["EventSourceMappings"]:
            stack.lambda_.update_event_source_mapping(UUID=one["UUID"], BatchSize=10)


@contextmanager
def _patient(stack: Stack) -> Iterator[None]:
    """Have the executions that begin meanwhile retry for 19 minutes."""
    if stack.ledger_table is not None:
        yield
        return
    arn = stack.state_machine
    before = stack.stepfunctions.describe_state_machine(stateMachineArn=arn)["definition"]
    definition = json.loads(before)
    for name in ("PerformEffect", "FindEffect"):
        for retrier in definition["States"][name].get("Retry", []):
            if retrier.get("MaxAttempts") != 0:
                retrier.update(_PATIENT_RETRY)
    stack.stepfunctions.update_state_machine(stateMachineArn=arn, definition=json.dumps(definition))
    try:
        yield
    finally:
        stack.stepfunctions.update_state_machine(stateMachineArn=arn, definition=before)


def _wrap(
    stack: Stack, function: str, url: str, more: Mapping[str, str], *, has_effect: bool
) -> dict[str, Any]:
    before = stack.lambda_.get_function_configuration(FunctionName=function)
    variables = before["Environment"]["Variables"]
    added = {f"AWS_ENDPOINT_URL_{name}": url for name in _VARIABLES.values()} | dict(more)
    handler = before["Handler"]
    if has_effect:
        path = [str(INJECTED), *filter(None, [variables.get("EXTRA_PYTHONPATH")])]
        added |= {
            "EXTRA_PYTHONPATH": ":".join(path),
            "FAILURES_URL": url,
            "ORIGINAL_HANDLER": handler,
        }
        handler = "failing.handler"
    stack.lambda_.update_function_configuration(
        FunctionName=function, Handler=handler, Environment={"Variables": variables | added}
    )
    return {
        "FunctionName": function,
        "Handler": before["Handler"],
        "Environment": {"Variables": variables},
    }


def meet(injector: Injector, request: Request) -> Forwarded | Answered | Unanswered:
    """What a request of a function meets: an API call, or a question of `injected.failing`."""
    if request.path.startswith("/failures/"):
        return _of_provider(
            injector, request.path.rpartition("/")[2], json.loads(request.body or "{}")
        )
    named, _, call = request.target.partition(".")
    service = _SERVICES.get(named, named)
    return as_answer(service, injector.meets(service, call))


def as_answer(service: str, met: Met) -> Forwarded | Answered | Unanswered:
    """What a service's client is answered for what its call met."""
    if met.fate is Fate.PASSES:
        return Forwarded()
    if met.fate is Fate.UNANSWERED:
        return Unanswered(SILENT_SECONDS)
    if met.fate is Fate.THROTTLED:
        return _error(400, _THROTTLED.get(service, "ThrottlingException"), "Rate exceeded")
    return _error(*_FAILED.get(service, _UNAVAILABLE), "The service is down.")


def _error(status: int, code: str, message: str) -> Answered:
    return Answered(status, json.dumps({"__type": code, "message": message}).encode())


def _of_provider(injector: Injector, operation: str, about: dict[str, str]) -> Answered:
    loses_answer = False
    if operation == "invoke":
        met = injector.meets(LAMBDA, LAMBDA)
    elif operation == "find":
        met = injector.finds(about["message_id"])
    else:
        met = injector.performs()
        loses_answer = met.fate is Fate.PASSES and injector.loses_answer(about["message_id"])
    told = {
        "fate": met.fate,
        "loses_answer": loses_answer,
    }
    return Answered(200, json.dumps(told).encode(), "application/json")
