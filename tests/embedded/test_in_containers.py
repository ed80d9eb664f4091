"""Events of events/, in a container; asserted on answers, as SAM exits 0 whatever they are.

tests/functions/test_events.py gives the handlers all of them.
"""

import json
import os
import sys
from collections.abc import Callable

import pytest

from actonce.embedded import sam_local
from actonce.embedded.lifecycle import State
from actonce.embedded.sam_local import Answer
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from actonce.terminal.errors import Failed
from tests.embedded.waiting import wait_until
from tests.support import commands
from tests.support.event_cases import EVENTS, read_event

ENGINE_REQUIRED = "ACTONCE_REQUIRE_CONTAINERS"
"""Set to 1 where a missing engine is a failure and not a reason to skip."""

# Before the embedded AWS, which nobody needs where there is no engine.
pytestmark = [pytest.mark.container, pytest.mark.long, pytest.mark.usefixtures("engine")]

Invoke = Callable[[str, str], Answer]


@pytest.fixture(scope="session")
def engine() -> None:
    """A container engine that answers; the test is skipped where there is none."""
    try:
        sam_local._docker("info")
    except Failed as missing:
        if os.environ.get(ENGINE_REQUIRED) == "1":
            raise
        pytest.skip(f"sam local invoke. {missing}")


@pytest.fixture(scope="session")
def invoke(embedded_paths: Paths, state: State, stack: Stack) -> Invoke:
    """Gives an event of events/ to a function in a container."""

    def run(function: str, event: str) -> Answer:
        file = EVENTS / f"{event}.json"
        return sam_local.invoke(embedded_paths, state, stack, function, file, lambda _: None)

    return run


def test_the_starter_starts_and_refuses(invoke: Invoke, stack: Stack) -> None:
    answer = invoke("StarterFunction", "mixed_batch")
    assert answer == Answer({"batchItemFailures": []}, raised=False)
    first = json.loads(read_event("mixed_batch")["Records"][0]["body"])
    arn = stack.execution_arn(first["message_id"])
    assert stack.stepfunctions.describe_execution(executionArn=arn)
    look = {"QueueUrl": stack.unstarted_queue, "VisibilityTimeout": 0}
    wait_until(lambda: stack.sqs.receive_message(**look).get("Messages"))  # type: ignore[arg-type]


@pytest.mark.long
@pytest.mark.usefixtures("stack")
def test_the_command_prints_the_answer_and_fails_when_the_handler_raised(
    embedded_paths: Paths,
) -> None:
    event = str(EVENTS / "effect_perform_rejected.json")
    answer = commands.run(
        [sys.executable, "-m", "actonce.cli.app", "sam-local", "AppointmentsFunction", event],
        environment=os.environ | {"ACTONCE_DIR": str(embedded_paths.home)},
    )
    assert answer.returncode == 1, answer.stderr
    assert json.loads(answer.stdout)["errorType"] == "Rejected"
    assert "sam local invoke AppointmentsFunction" in answer.stderr
    assert "AppointmentsFunction raised Rejected." in answer.stderr
