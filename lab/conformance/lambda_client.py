"""Lambda's Invoke in memory, for a starter that calls the effect's function."""

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from lab.conformance.process import Hazard, Invocation, ProcessResult
from lab.conformance.world import World


@dataclass(frozen=True, slots=True)
class LambdaClient:
    """The running process's client of Lambda, which never calls twice, like the one that ships.

    Hazards: throttled; the answer lost; deployed before it; an answer that is unclear.

    Attributes:
        start: starts the function.
        deploy: publishes another version of it.
        longest_wait: seconds that it waits for an answer.
    """

    world: World
    start: Invocation
    deploy: Callable[[], None]
    longest_wait: float

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

        def deployed() -> None:
            self.deploy()
            start()

        self.world.step(
            f"invokes {name}: {request['operation']}",
            start,
            otherwise={
                Hazard.THROTTLED: throttled,
                Hazard.ANSWER_LOST: lost,
                Hazard.DEPLOYED: deployed,
            },
        )
        if not self.world.wait(lambda: bool(endings), self.longest_wait):
            raise ReadTimeoutError(endpoint_url="https://lambda")
        # Source: "Function errors", Developer Guide.
        failure = endings[0].failure("Runtime.ExitError")
        error = dict(zip(("errorType", "errorMessage"), failure, strict=True)) if failure else None
        payload = error
        if error is None:
            payload = receive_answer(self.world, name, request["operation"], endings[0].value)
        self.world.observe(repr((failure is not None, payload)))
        return {
            "Payload": io.BytesIO(json.dumps(payload).encode()),
            **({"FunctionError": "Unhandled"} if failure else {}),
        }


def receive_answer(world: World, name: str, operation: str, answer: Any) -> Any:
    """An invocation's answer, as it comes in.

    Or one that is no clear yes to `perform`, or neither yes nor no to `find`.
    """
    if not world.may_go_wrong(Hazard.UNCLEAR):
        return answer

    def unclear() -> Any:
        performed = False if operation == "perform" else None
        answers: tuple[Any, ...] = (
            {},
            {"performed": performed, "effect": None},
            # A list of one, which JSONata takes for what is in it.
            [{"performed": operation == "perform", "effect": {}}],
        )
        return world.pick(answers)

    return world.step(f"hears {name}", lambda: answer, otherwise={Hazard.UNCLEAR: unclear})
