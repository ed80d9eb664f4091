"""Lambda's Invoke in memory, for a consumer whose effect is another function."""

import io
import json
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from lab.conformance.process import Hazard, Invocation, ProcessResult
from lab.conformance.world import World

LONGEST_WAIT = 20.0
"""Seconds that the client waits for an answer; a test compares it with the one that ships."""


@dataclass(frozen=True, slots=True)
class LambdaClient:
    """The running process's client of Lambda, which never calls twice, like the one that ships.

    Hazards: throttled; the answer lost.
    """

    world: World
    start: Invocation

    def invoke(self, *, FunctionName: str, Payload: str) -> dict[str, Any]:  # noqa: N803 - AWS's
        """See Invoke, API reference of AWS Lambda; `RequestResponse`."""
        request = json.loads(Payload)
        name = f"{FunctionName.partition(':')[0]} {self.world.new_id()}"
        endings: list[ProcessResult] = []

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
        # Source: "Function errors", Developer Guide.
        failure = endings[0].failure("Runtime.ExitError")
        error = dict(zip(("errorType", "errorMessage"), failure, strict=True)) if failure else None
        payload = endings[0].value if error is None else error
        self.world.observe(repr((failure is not None, payload)))
        return {
            "Payload": io.BytesIO(json.dumps(payload).encode()),
            **({"FunctionError": "Unhandled"} if failure else {}),
        }
