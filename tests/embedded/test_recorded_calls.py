"""Which calls the functions and the state machines make, on every path; `calls.txt` keeps them.

tests/templates/test_permissions.py judges them by the templates.
"""

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from actonce.demo.run import wait_for_rest
from actonce.embedded import faults, lifecycle, serving
from actonce.embedded.injected.failing_services import write_rules
from actonce.embedded.lifecycle import State
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import PROJECT, Paths
from tests.embedded import command_line
from tests.embedded.homes import home
from tests.embedded.waiting import wait_for_execution, wait_until
from tests.support import java, recorded_calls, template
from tests.support.packages import packed
from tests.support.policies import Call
from tests.support.snapshots import Snapshot

pytestmark = [pytest.mark.embedded, pytest.mark.long, java.needed]

STREAMS = ("sent", "deliveries", "executions", "effects", "dead_letters")
JOB_SECONDS = 600.0  # Spark, on a machine that may be busy

THEIRS = """
def handler(event, context):
    done = event["operation"] == "perform" or event["message"]["message_id"].endswith("unheard")
    return {"performed": done, "effect": {}}
"""


@dataclass
class Recording:
    """The calls on an embedded AWS of its own, by deployment and path."""

    file: Path
    paths: Paths
    calls: dict[str, list[Call]] = field(default_factory=dict)
    deployment: str = ""
    state: State = field(init=False)
    stack: Stack = field(init=False)

    def deploy(self, name: str, **parameters: str) -> None:
        self.state, self.stack = lifecycle.up(self.paths, lambda _: None, parameters=parameters)
        self.ids = recorded_calls.logical_ids(self.stack, lifecycle.STACK_NAME)
        self.deployment, self.calls[name] = name, []

    @property
    def prefix(self) -> str:
        """Of the ids of this deployment's messages."""
        return self.deployment.replace(",", "").replace(" ", "-")

    @contextmanager
    def path(self, name: str) -> Iterator[None]:
        """What is done inside is a path, to its end."""
        self.begun = self.file.stat().st_size
        yield
        wait_for_rest(self.stack)
        self.calls[self.deployment] += recorded_calls.of_lines(self.lines(), name, self.ids)

    def lines(self) -> list[str]:
        """What was noted on this path so far."""
        return self.file.read_bytes()[self.begun :].decode().splitlines()

    def send(self, name: str, **more: str) -> None:
        body = {"message_id": f"{self.prefix}-{name}", **more}
        self.stack.sqs.send_message(
            QueueUrl=self.stack.requests_queue, MessageBody=json.dumps(body)
        )

    def walk(self) -> None:
        """A message's paths."""
        folder, prefix = self.paths.faults, self.prefix
        planned = {
            f"{prefix}-unheard": {"perform": ["after:Lambda.Unknown"]},
            f"{prefix}-rejected": {"perform": ["before:Rejected"] * 2},
            f"{prefix}-waits": {"perform": ["before:Rejected"] * 2},
        }
        with faults.around_functions(folder, planned):
            with self.path("a message"):
                self.send("one")
            with self.path("the same message again"):
                self.send("one")
            with self.path("another content by its id"):
                self.send("one", practice="other")
            with self.path("an answer is lost"):
                self.send("unheard")
            with self.path("a delivery fails"):
                fails = {"call": "DynamoDB", "body": f"{prefix}-back", "quota": None}
                write_rules(folder, [fails | {"meets": [500, "InternalServerError"]}])
                self.send("back")
                wait_until(lambda: "ChangeMessageVisibility" in str(self.lines()))
                write_rules(folder, ())
            with self.path("an effect is rejected"):
                self.send("rejected")
                self.send("waits")
            with self.path("a person decides"):
                note = ["--note", "By telephone."]
                command_line.decide(self.state, "resolve", f"{prefix}-rejected", *note)


@contextmanager
def recording(
    factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, *, audited: bool
) -> Iterator[Recording]:
    paths = home(factory, built=not audited)
    if audited:
        paths = Paths(paths.home, PROJECT / "examples" / "audited", is_project=True)
    file = factory.mktemp("calls") / "calls.jsonl"
    file.touch()
    noted = recorded_calls.environment(file)
    monkeypatch.setattr(serving, "_server_environment", noted)
    try:
        yield Recording(file, paths)
    finally:
        lifecycle.down(paths)


def audit(made: Recording) -> None:
    """The paths of the audit: of a day with its code and without, and of a schedule."""
    stack, s3 = made.stack, made.stack.aws.client("s3")
    machine = stack.outputs["AuditStateMachineArn"]

    def run(name: str, **state_input: str) -> None:
        started = stack.stepfunctions.start_execution(
            stateMachineArn=machine, name=name, input=json.dumps(state_input)
        )
        wait_for_execution(stack, started["executionArn"], JOB_SECONDS)

    now = datetime.now(UTC)
    yesterday = now.date() - timedelta(days=1)
    with made.path("a day is audited without the audit's code"):
        run("first", day=str(now.date()))
    with made.path("a day is recorded again"):
        run("again", day=str(now.date()))
    code = f"s3://{stack.outputs['AuditBucketName']}/code/"
    command_line.run(made.state, "audit", "package", "--to", code)
    for stream in STREAMS:
        s3.put_object(
            Bucket=stack.outputs["RecordsBucketName"],
            Key=f"{stream}/dt={yesterday}/nothing.jsonl.gz",
            Body=gzip.compress(b""),
        )
    with made.path("a schedule has a day audited"):
        run("fired", scheduled=f"{now:%Y-%m-%d}T03:00:00Z")
        day = f"{machine.replace(':stateMachine:', ':execution:')}:audit-{yesterday}"
        ended = wait_for_execution(stack, day, JOB_SECONDS)
        assert ended.get("error") != "NotAudited", ended


def make_theirs(stack: Stack) -> dict[str, str]:
    """Make a team's own function and queue; the parameters that name the function."""
    trust = {"Statement": []}  # type: ignore[var-annotated]
    role = stack.aws.client("iam").create_role(
        RoleName="TheirRole", AssumeRolePolicyDocument=json.dumps(trust)
    )
    stack.lambda_.create_function(
        FunctionName="theirs",
        Runtime=lifecycle._python_runtime(),  # type: ignore[arg-type]
        Role=role["Role"]["Arn"],
        Handler="theirs.handler",
        Timeout=4,
        Code={"ZipFile": packed({"theirs.py": THEIRS})},
    )
    arn = stack.lambda_.publish_version(FunctionName="theirs")["FunctionArn"]
    stack.sqs.create_queue(QueueName="orders", Attributes={"VisibilityTimeout": "18"})
    return {"EffectFunctionArn": arn, "FindFunctionArn": arn}


def policies_of(file: Path) -> list[dict[str, Any]]:
    return list(template.statements(template.load(file)))


def test_the_calls_are_as_recorded(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, snapshot: Snapshot
) -> None:
    with recording(tmp_path_factory, monkeypatch, audited=True) as made:
        made.deploy("audited", AuditEvery="15 minutes")
        built = [*map(policies_of, made.paths.build.rglob("template.yaml"))]
        for judged in (
            "template.yaml",
            "templates/alarms.yaml",
            "templates/records.yaml",
            "templates/audit.yaml",
        ):
            assert policies_of(PROJECT / judged) in built
        made.walk()
        audit(made)
        calls = made.calls
    with recording(tmp_path_factory, monkeypatch, audited=False) as made:
        made.deploy("first attempts", StartExecutions="on-trouble")
        made.walk()
        theirs = make_theirs(made.stack)
        made.deploy("first attempts, their function", StartExecutions="on-trouble", **theirs)
        made.walk()
        named = {"StartExecutions": "always", "RequestsQueueName": "orders"}
        made.deploy("their function and queue", **named, **theirs)
        made.walk()
        calls |= made.calls
    snapshot("calls.txt", recorded_calls.written(calls))
