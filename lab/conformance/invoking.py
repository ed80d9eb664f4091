"""Lambda's Invoke in memory, for a consumer that has another function perform its effect."""

import io
import json
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from lab.conformance.process import TIME_IS_OVER, Ended, Hazard, Invocation
from lab.conformance.world import World

LONGEST_WAIT = 20.0
"""Seconds that the client waits for an answer; a test holds it against the one that ships."""


@dataclass(frozen=True, slots=True)
class Invoking:
    """A client of Lambda, for the process that is running.

    Hazards: throttled; the answer lost. The client that ships makes no call twice.
    """

    world: World
    start: Invocation

    def invoke(self, *, FunctionName: str, Payload: str) -> dict[str, Any]:  # noqa: N803 - AWS's
        """See Invoke, API reference of AWS Lambda; `RequestResponse`."""
        request = json.loads(Payload)
        name = f"{FunctionName.partition(':')[0]} {self.world.new_id()}"
        endings: list[Ended] = []

        def start() -> None:
            self.start(FunctionName, name, request, endings.append)

        def throttled() -> None:
            raise ClientError(
                {"Error": {"Code": "TooManyRequestsException", "Message": "Rate Exceeded."}},
                "Invoke",
            )

        def lost() -> None:
            start()
            raise ReadTimeoutError(endpoint_url="https://lambda")

        self.world.step(
            f"invokes {name}: {request['operation']}",
            start,
            otherwise={Hazard.THROTTLED: throttled, Hazard.ANSWER_LOST: lost},
        )
        if not self.world.wait(lambda: bool(endings), LONGEST_WAIT):
            raise ReadTimeoutError(endpoint_url="https://lambda")
        answer = _answer(endings[0])
        self.world.observe(repr(answer))
        is_error, payload = answer
        return {
            "Payload": io.BytesIO(json.dumps(payload).encode()),
            **({"FunctionError": "Unhandled"} if is_error else {}),
        }


def _answer(ended: Ended) -> tuple[bool, Any]:
    """Whether it is an error, and the payload. Source: "Function errors", Developer Guide."""
    if ended.killed_by is not None:
        is_late = ended.killed_by == TIME_IS_OVER
        kind = "Sandbox.Timedout" if is_late else "Runtime.ExitError"
        return True, {"errorType": kind, "errorMessage": ended.killed_by}
    if ended.error is not None:
        kind = type(ended.error).__name__
        return True, {"errorType": kind, "errorMessage": str(ended.error)}
    return False, ended.value
