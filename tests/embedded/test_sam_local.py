"""What `actonce sam-local` does before and after the container.

tests/embedded/test_in_containers.py has the rest.
"""

import platform
import socket
import threading

import pytest
import yaml

from actonce.embedded import sam_local
from actonce.embedded.forwarder import reachable_from_containers
from actonce.embedded.sam_local import Answer
from actonce.terminal.errors import Failed

BUILT = """\
Parameters:
  PythonRuntime: {Type: String, Default: python3.99}
  Architecture: {Type: String, Default: vax}
Resources:
  StarterFunction:
    Type: AWS::Serverless::Function
    Properties: {CodeUri: StarterFunction, Environment: {Variables: {TABLE: {Ref: Fingerprints}}}}
  AppointmentsFunction: {Type: "AWS::Serverless::Function", Properties: {CodeUri: Appointments}}
"""


def test_loopback_is_reached_by_the_gateway_until_the_block_ends() -> None:
    sent = b"0123456789" * 100_000

    def echo() -> None:
        near, _ = server.accept()
        with near:
            while chunk := near.recv(65_536):
                near.sendall(chunk)

    def send(client: socket.socket) -> None:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)

    with socket.create_server(("127.0.0.1", 0)) as server:
        echoing = threading.Thread(target=echo)
        echoing.start()
        with reachable_from_containers(server.getsockname()[1], "127.0.0.2") as address:
            host, _, port = address.partition(":")
            assert host == "127.0.0.2"
            with socket.create_connection((host, int(port)), timeout=60) as client:
                threading.Thread(target=send, args=[client], daemon=True).start()
                assert b"".join(iter(lambda: client.recv(65_536), b"")) == sent
        echoing.join()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)))


def test_a_gateway_inside_a_virtual_machine_is_refused() -> None:
    # 192.0.2.0/24 and its like are for documentation; this one is nobody's address.
    refused = reachable_from_containers(4566, "203.0.113.1")
    with pytest.raises(Failed, match="runs on this machine"), refused:
        pass


def test_a_container_is_told_the_deployed_names_and_where_aws_is() -> None:
    deployed = {"StarterFunction": {"TABLE": "table-1"}, "AppointmentsFunction": {}}

    template = yaml.safe_load(sam_local.with_variables(BUILT, deployed, "http://172.17.0.1:4566"))

    properties = {name: one["Properties"] for name, one in template["Resources"].items()}
    endpoint = {"AWS_ENDPOINT_URL": "http://172.17.0.1:4566"}
    assert properties["StarterFunction"]["Environment"]["Variables"] == {
        "TABLE": "table-1",
        **endpoint,
    }
    assert properties["AppointmentsFunction"]["Environment"]["Variables"] == endpoint
    assert properties["StarterFunction"]["CodeUri"] == "StarterFunction"
    assert template["Parameters"]["PythonRuntime"]["Default"] != "python3.99"
    # An image for another processor than this one's may not start.
    host = "arm64" if platform.machine() in ("aarch64", "arm64") else "x86_64"
    assert template["Parameters"]["Architecture"]["Default"] == host


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        ('said\n{"batchItemFailures": []}\n', Answer({"batchItemFailures": []}, raised=False)),
        ('{"errorType": "Rejected"}', Answer({"errorType": "Rejected"}, raised=True)),
        ("", None),
        ("Function 'F' timed out after 20 seconds", None),
    ],
)
def test_the_answer_is_the_last_line(output: str, answer: Answer | None) -> None:
    if answer is None:
        with pytest.raises(Failed, match="F gave no answer"):
            sam_local.read_answer(output, "F")
    else:
        assert sam_local.read_answer(output, "F") == answer


def test_a_missing_engine_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/no")
    with pytest.raises(Failed, match="docker"):
        sam_local._docker("info")
