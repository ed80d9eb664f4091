"""An effect that is a team's own Lambda function, in whatever language.

The state machine calls such a function itself. A starter that makes the first attempt calls it
through this module, with the same request, and understands the answer in the same way.
"""

import json
import threading
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from actonce_core.effect import NotPerformed, Rejected

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

SECONDS_BEFORE_A_FUNCTION_BEGINS = 5
"""How much longer than the function's time-out to wait, as the state machine does."""

LARGEST_ANSWER = 256 * 1024
"""Bytes; Step Functions takes no larger one ("Quotas"), and Lambda lets a function answer 6 MB."""

# Ten parsed answers would take ten times the memory, and are parsed no faster.
_ONE_AT_A_TIME = threading.Lock()


def client_config(effect_timeout: float) -> dict[str, Any]:
    """Of a Lambda client that calls once, and waits for as long as an answer may come.

    They are the arguments of botocore's `Config`.

    Args:
        effect_timeout: seconds; at least the function's time-out.
    """
    return {
        "connect_timeout": 1,
        "read_timeout": effect_timeout + SECONDS_BEFORE_A_FUNCTION_BEGINS,
        "tcp_keepalive": True,  # or a connection that is silent for minutes may be dropped
        # After a lost answer the SDK would call again, and repeat the effect.
        "retries": {"mode": "standard", "total_max_attempts": 1},
    }


class InvokedEffect:
    """Performs and finds by invoking functions that keep the contract (docs/your-own-effect.md).

    Invariants: a call is made once. It counts as not performed only if the function says so, or
    Lambda that it did not run the function. Without a clear answer the outcome is unknown.

    Args:
        effect_function: ARN of the function that performs.
        find_function: of the function that finds, maybe the same; empty if there is none: then
            every unknown outcome needs a person's decision. `find` is never tried on another
            function, because one that ignores `operation` would act.
    """

    def __init__(
        self,
        lambda_: "LambdaClient",
        effect_function: str,
        find_function: str,
    ) -> None:
        self._lambda = lambda_
        self._effect_function = effect_function
        self._find_function = find_function

    def perform(self, request: dict[str, Any]) -> dict[str, Any]:
        """Have the function perform it; `request` is that of `Effect.perform`.

        Raises:
            NotPerformed, Rejected: the function says so, by the name of its error.
            Exception: anything else; the outcome is unknown.
        """
        message = dict(request)
        attempt = {"attempt": message.pop("attempt")} if "attempt" in message else {}
        event = {"operation": "perform", **attempt, "message": message}
        try:
            answer = self._invoke(self._effect_function, event)
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code in ("TooManyRequestsException", "ResourceNotFoundException"):
                raise NotPerformed(f"Lambda did not run the function: {code}") from error
            raise
        if answer.get("performed") is True and "effect" in answer:
            return _description(answer)
        raise RuntimeError("the function did not answer that it was performed")

    def find(self, message_id: str) -> dict[str, Any] | None:
        """Have the function look it up.

        Raises:
            LookupError: there is no function for it.
            Exception: it could not be looked up.
        """
        if not self._find_function:
            raise LookupError("No function is named to look it up (FindFunctionArn)")
        answer = self._invoke(
            self._find_function, {"operation": "find", "message": {"message_id": message_id}}
        )
        if answer.get("performed") is True:
            return _description(answer)
        if answer.get("performed") is False:
            return None
        raise RuntimeError("the function answered neither true nor false")

    def _invoke(self, function: str, event: dict[str, Any]) -> dict[str, Any]:
        response = self._lambda.invoke(FunctionName=function, Payload=json.dumps(event))
        text = response["Payload"].read(LARGEST_ANSWER + 1)
        response["Payload"].close()
        if len(text) > LARGEST_ANSWER:
            raise RuntimeError(f"the function answered more than {LARGEST_ANSWER} bytes")
        with _ONE_AT_A_TIME:
            answer = json.loads(text) if text else None
        if "FunctionError" in response:
            _raise(answer if isinstance(answer, dict) else {})
        return answer if isinstance(answer, dict) else {}


def _description(answer: dict[str, Any]) -> dict[str, Any]:
    effect = answer.get("effect")
    return effect if isinstance(effect, dict) else {"effect": effect}


def _raise(error: dict[str, Any]) -> None:
    """Raise a function's error; see "Function errors", AWS Lambda Developer Guide."""
    kind = str(error.get("errorType", "an error without a type"))
    text = str(error.get("errorMessage", ""))
    if kind == "NotPerformed":
        raise NotPerformed(text)
    if kind == "Rejected":
        raise Rejected(text)
    raise RuntimeError(f"{kind}: {text}")
