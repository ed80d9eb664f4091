"""Events of events/, given by `sam local invoke` to what sam built, against the embedded AWS.

Asserted on answers, as SAM exits 0 whatever they are; tests/unit/test_events.py gives the handlers
all of them. SAM does not know which runtime the package was built for, and hands a container only
what is declared: the variables of the deployed function are written into a template for it.
"""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from actonce.embedded import sam
from actonce.embedded.lifecycle import State
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import PROJECT, Paths
from tests.embedded.waiting import wait_until
from tests.support.event_cases import EVENTS, read_event

ENGINE_REQUIRED = "ACTONCE_REQUIRE_CONTAINERS"
"""Set to 1 where a missing engine is a failure and not a reason to skip."""

# Before the embedded AWS, which nobody needs where there is no engine.
pytestmark = [pytest.mark.container, pytest.mark.long, pytest.mark.usefixtures("gateway")]

Invoke = Callable[[str, str], Any]


@pytest.fixture(scope="session")
def gateway() -> str:
    """This machine's address on the network that SAM starts containers in."""
    inspect = [
        "docker",
        "network",
        "inspect",
        "bridge",
        "--format",
        "{{(index .IPAM.Config 0).Gateway}}",
    ]
    try:
        return subprocess.run(inspect, capture_output=True, check=True, text=True).stdout.strip()
    except (FileNotFoundError, subprocess.CalledProcessError):
        if os.environ.get(ENGINE_REQUIRED) == "1":
            raise
        pytest.skip("sam local invoke needs a container engine")


@pytest.fixture(scope="session")
def address(state: State, gateway: str) -> Iterator[str]:
    """The embedded AWS, which listens on the loopback only, as containers reach it."""

    def copy(source: socket.socket, target: socket.socket) -> None:
        while chunk := source.recv(65_536):
            target.sendall(chunk)
        target.shutdown(socket.SHUT_WR)

    def serve() -> None:
        while True:
            near, _ = listener.accept()
            far = socket.create_connection(("127.0.0.1", state.port))
            for pair in ((near, far), (far, near)):
                threading.Thread(target=copy, args=pair, daemon=True).start()

    with socket.create_server((gateway, 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield f"http://{gateway}:{listener.getsockname()[1]}"


@pytest.fixture(scope="session")
def invoke(embedded_paths: Paths, state: State, stack: Stack, address: str) -> Invoke:
    """Gives an event of events/ to a function in a container; its answer."""
    template = yaml.safe_load((embedded_paths.build / "template.yaml").read_text())
    template["Parameters"]["PythonRuntime"]["Default"] = f"python3.{sys.version_info.minor}"
    names = {
        "StarterFunction": stack.starter_function,
        "AppointmentsFunction": stack.appointments_function,
    }
    for logical_id, name in names.items():
        deployed = stack.lambda_.get_function_configuration(FunctionName=name)["Environment"]
        told = {**deployed["Variables"], "AWS_ENDPOINT_URL": address}
        template["Resources"][logical_id]["Properties"]["Environment"] = {"Variables": told}
    file = embedded_paths.build / "in-containers.yaml"
    file.write_text(yaml.safe_dump(template, sort_keys=False))

    def run(function: str, event: str) -> Any:
        arguments = ["local", "invoke", function, "--event", str(EVENTS / f"{event}.json")]
        arguments += ["--template", str(file), "--config-file", str(PROJECT / "samconfig.toml")]
        answer = subprocess.run(
            [sys.executable, "-m", "samcli", *arguments, "--skip-pull-image"],
            # SAM asks STS who calls.
            env=sam.environment(AWS_ENDPOINT_URL_STS=state.endpoint_url),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            text=True,
        )
        assert answer.stdout.strip(), answer.stderr
        return json.loads(answer.stdout.strip().splitlines()[-1])

    return run


def test_the_starter_starts_and_refuses(invoke: Invoke, stack: Stack) -> None:
    assert invoke("StarterFunction", "mixed_batch") == {"batchItemFailures": []}
    first = json.loads(read_event("mixed_batch")["Records"][0]["body"])
    arn = stack.execution_arn(first["message_id"])
    assert stack.stepfunctions.describe_execution(executionArn=arn)
    look = {"QueueUrl": stack.unstarted_queue, "VisibilityTimeout": 0}
    wait_until(lambda: stack.sqs.receive_message(**look).get("Messages"))  # type: ignore[arg-type]


def test_perform_books_what_find_then_finds(invoke: Invoke) -> None:
    nothing = invoke("AppointmentsFunction", "effect_find_nothing")
    assert nothing == {"performed": False, "effect": None}
    performed = invoke("AppointmentsFunction", "effect_perform")
    assert performed["effect"]["practice"] == "north"
    found = invoke("AppointmentsFunction", "effect_find")
    assert found["performed"]
    assert found["effect"]["appointments"] >= 1


def test_the_name_of_an_error_is_the_one_that_the_state_machine_matches(
    invoke: Invoke, stack: Stack
) -> None:
    stack.dynamodb.put_item(TableName=stack.appointments_table, Item=read_event("rows/closed_book"))
    for event, error in (
        ("effect_perform_rejected", "Rejected"),
        ("effect_perform_closed_book", "NotPerformed"),
    ):
        assert invoke("AppointmentsFunction", event)["errorType"] == error
