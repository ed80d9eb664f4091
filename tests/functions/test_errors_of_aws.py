"""What follows each error that AWS's models name, of every call of the starter and the machine.

The table is reviewed. A new botocore that names another error changes it, so somebody looks.
"""

from collections.abc import Iterator
from textwrap import fill, indent
from typing import Any

import boto3
import botocore.session
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from actonce_core.batch import Batch
from actonce_core.delivery import Delivery
from actonce_core.events import EventBus
from actonce_core.message import Refusal
from actonce_core.reason import Reason
from actonce_core.result import DeliveryResult
from tests.support import asl
from tests.support.deliveries import delivery, sqs_record
from tests.support.moto_aws import MotoAws
from tests.support.snapshots import Snapshot

SESSION = botocore.session.get_session()

# "Common Error Types" of the API references, which no model names.
COMMON = (
    *("AccessDeniedException", "ExpiredTokenException", "IncompleteSignature", "InternalFailure"),
    *("InvalidClientTokenId", "NotAuthorized", "OptInRequired", "RequestExpired"),
    *("ServiceUnavailable", "Throttling", "ThrottlingException", "UnrecognizedClientException"),
)
# Error names of the States Language, of the Lambda integration, and of Lambda's runtimes.
OF_TASKS = (
    *("States.Timeout", "States.HeartbeatTimeout", "States.TaskFailed", "States.Permissions"),
    *("States.QueryEvaluationError", "Lambda.Unknown", "Lambda.SdkClientException"),
    *("Lambda.AWSLambdaException", "Lambda.ClientExecutionTimeoutException"),
    *("Runtime.ExitError", "Runtime.OutOfMemory", "Sandbox.Timedout"),
    *("Function.ResponseSizeTooLarge", "NotPerformed", "Rejected", "OutcomeUnknown", "Exception"),
)
Line = tuple[str, str]
REQUEST = {"message_id": "m-1"}


def modeled(service: str, operation: str) -> list[str]:
    """The errors that an operation's model names."""
    model = SESSION.get_service_model(service).operation_model(operation)
    return sorted(shape.name for shape in model.error_shapes)


def after_start(aws: MotoAws, request: Any = REQUEST) -> str:
    """What becomes of a delivery of the message."""
    try:
        outcome = aws.starter(now=None).start_message(delivery(request)).outcome
    except ClientError:
        return "the delivery comes back"
    return f"refused as {outcome.reason}" if isinstance(outcome, Refusal) else str(outcome)


def of_starter(aws: MotoAws) -> Iterator[Line]:
    """What follows each error of a call that `start_message` makes."""
    assert after_start(aws) == "started"
    known = {"Item": aws.fingerprint_row("m-1")}
    calls: list[tuple[Any, str, str, Any]] = [
        (aws.dynamodb, "dynamodb", "PutItem", REQUEST),
        (aws.stepfunctions, "stepfunctions", "StartExecution", REQUEST),
        (aws.sqs, "sqs", "SendMessage", "no JSON, so it is refused"),
    ]
    for client, service, operation, request in calls:
        for error in (*modeled(service, operation), *COMMON):
            fields = known if error == "ConditionalCheckFailedException" else None
            with Stubber(client) as stubber:
                method = client.meta.method_to_api_mapping
                (name,) = (python for python, api in method.items() if api == operation)
                stubber.add_client_error(name, error, modeled_fields=fields)
                yield f"{operation}: {after_start(aws, request)}", error
    assert aws.executions() == {"m-1": 1}


def of_batch(aws: MotoAws) -> Iterator[Line]:
    """What follows each error of a call that the batch makes when all is done."""
    events = boto3.client("events", region_name="us-east-1")
    refused = sqs_record("no JSON", sqs_message_id="refused")
    failed = sqs_record({"message_id": "m-1"}, sqs_message_id="failed")

    def handle(one: Delivery) -> DeliveryResult:
        if one.sqs_message_id == "failed":
            raise ConnectionError
        return DeliveryResult(Refusal(Reason.NOT_JSON, "A sentence."), None)

    put = EventBus(lambda: events, "shop").put
    for client, service, operation, name in (
        (aws.sqs, "sqs", "ChangeMessageVisibilityBatch", "change_message_visibility_batch"),
        (events, "events", "PutEvents", "put_events"),
    ):
        for error in (*modeled(service, operation), *COMMON):
            with Stubber(aws.sqs) as of_sqs, Stubber(events) as of_events:
                (of_sqs if client is aws.sqs else of_events).add_client_error(name, error)
                if client is events:
                    of_sqs.add_response(
                        "change_message_visibility_batch", {"Successful": [], "Failed": []}
                    )
                else:
                    put_one = {"FailedEntryCount": 0, "Entries": [{"EventId": "e"}]}
                    of_events.add_response("put_events", put_one)
                answer = Batch(handle, aws.sqs, "url", put_events=put).handle(
                    {"Records": [refused, failed]}
                )
                of_sqs.assert_no_pending_responses()
                of_events.assert_no_pending_responses()
            assert answer == {"batchItemFailures": [{"itemIdentifier": "failed"}]}
            yield f"{operation}: the batch's answer stands", error


def of_tasks() -> Iterator[Line]:
    """What follows each error of a state that invokes the team's function."""
    errors = (*(f"Lambda.{name}" for name in modeled("lambda", "Invoke")), *OF_TASKS)
    for name in ("PerformEffect", "FindEffect"):
        state = asl.definition()["States"][name]
        for error in errors:
            retrier = next((one for one in state["Retry"] if asl.catches(one, error)), None)
            often = retrier["MaxAttempts"] if retrier else 0
            catcher = next(one for one in state["Catch"] if asl.catches(one, error))
            reason = catcher["Output"]["failure"]["reason"]
            retried = f"retried {often} times, then " if often else ""
            yield f"{name}: {retried}{catcher['Next']}, {reason}", error


def test_what_follows_each_error_is_as_reviewed(aws: MotoAws, snapshot: Snapshot) -> None:
    errors: dict[str, list[str]] = {}
    for what_follows, error in (*of_starter(aws), *of_batch(aws), *of_tasks()):
        errors.setdefault(what_follows, []).append(error)
    paragraphs = [
        f"{what}\n{indent(fill(' '.join(of), 96), '    ')}\n" for what, of in errors.items()
    ]
    snapshot("errors_of_aws.txt", "\n".join(paragraphs))
