"""A restored table forgets, and what docs/operations.md says of that puts it right."""

import functools
import json
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from actonce.embedded import lifecycle
from actonce.embedded.lifecycle import State
from actonce.messages.story import read_story
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import PROJECT
from tests.embedded.command_line import environment, run
from tests.embedded.homes import home
from tests.embedded.waiting import wait_until
from tests.support.commands import succeeds
from tests.support.tables import make_table

pytestmark = [pytest.mark.embedded, pytest.mark.long]

PAGE = (PROJECT / "docs" / "operations.md").read_text("utf-8")
SECTION = PAGE.partition("\n### When a table is restored\n")[2].partition("\n### ")[0]


def of_page(language: str) -> str:
    (block,) = re.findall(rf"^```{language}\n(.*?)^```", SECTION, re.M | re.S)
    return str(block)


Row = dict[str, Any]


@dataclass
class Restoring:
    """A stack, and the commands of the page."""

    state: State
    stack: Stack
    folder: Path
    since: str = ""
    restored: str = "restored"
    effects_table: str = ""
    key: str = "message_id"

    def run(self, *commands: str) -> None:
        """Run the page's commands that begin so."""
        names = {
            "FINGERPRINTS": self.stack.fingerprints_table,
            "EFFECTS": self.effects_table or self.stack.effects_table,
            "message_id": self.key,
            "STARTER": self.stack.starter_function,
            "2026-03-01T09:00:00Z": self.since,
            "restored": self.restored,
        }
        for command in commands:
            (line,) = (one for one in of_page("sh").splitlines() if one.startswith(command))
            program, *arguments = (names.get(one, one) for one in shlex.split(line))
            if program == "actonce":
                answer = run(self.state, *arguments)
                assert answer.returncode == 0, answer.stderr
            elif program == "python":
                script = str(PROJECT / arguments[0])
                to_here = environment(self.state.endpoint_url)
                succeeds([sys.executable, script, *arguments[1:]], environment=to_here)
            else:
                assert (program, arguments[0]) == ("aws", "dynamodb")
                self._call(*arguments[1:])

    def _call(self, operation: str, *options: str) -> None:
        """What the AWS CLI calls, which is not everywhere."""
        call: Any = getattr(self.stack.dynamodb, operation.replace("-", "_"), None)
        if operation == "wait":
            call = self.stack.dynamodb.get_waiter("table_exists").wait
            assert options[0] == "table-exists"
            options = options[1:]
        names = (re.sub("-+(.)", lambda it: it[1].upper(), one) for one in options[::2])
        call(**dict(zip(names, options[1::2], strict=True)))

    def send(self, message_id: str, practice: str = "main") -> None:
        body = json.dumps({"message_id": message_id, "practice": practice})
        self.stack.sqs.send_message(QueueUrl=self.stack.requests_queue, MessageBody=body)

    def ends(self, message_id: str) -> list[str]:
        """What became of each delivery so far, as their log lines say."""
        ends = ("started", "performed", "suppressed", "refused")
        lines = read_story(self.stack, message_id).lines
        return [line.get("reason") or line["end"] for line in lines if line["end"] in ends]

    def wait_for(self, message_id: str, *ends: str) -> None:
        wait_until(lambda: sorted(self.ends(message_id)) == sorted(ends))

    def effects(self, message_id: str) -> int:
        answer = self.stack.dynamodb.query(
            TableName=self.stack.effects_table,
            KeyConditionExpression="message_id = :id",
            ExpressionAttributeValues={":id": {"S": message_id}},
            ConsistentRead=True,
        )
        return answer["Count"]

    def acted_on(self, *message_ids: str) -> None:
        """Send them, and wait until each has its effect and nothing more is to come."""
        for message_id in message_ids:
            self.send(message_id)
        for message_id in message_ids:
            first = "started" if self.stack.start_executions == "always" else "performed"
            self.wait_for(message_id, "started" if self.stack.ledger_table else first)
            wait_until(functools.partial(self.is_done, message_id))
            assert self.effects(message_id) == 1

    def is_done(self, message_id: str) -> bool:
        if self.stack.ledger_table or self.stack.start_executions == "on-trouble":
            return bool(self.row(message_id)["status"] == {"S": "COMPLETE"})
        arn = self.stack.execution_arn(message_id)
        answer = self.stack.stepfunctions.describe_execution(executionArn=arn)
        return answer["status"] == "SUCCEEDED"

    def row(self, message_id: str, table: str = "") -> Row:
        answer = self.stack.dynamodb.get_item(
            TableName=table or self.stack.fingerprints_table,
            Key={"message_id": {"S": message_id}},
            ConsistentRead=True,
        )
        return answer.get("Item", {})

    def put(self, row: Row, table: str = "") -> None:
        self.stack.dynamodb.put_item(TableName=table or self.stack.fingerprints_table, Item=row)

    def lose(self, *message_ids: str) -> None:
        for message_id in message_ids:
            self.stack.dynamodb.delete_item(
                TableName=self.stack.fingerprints_table, Key={"message_id": {"S": message_id}}
            )

    def restore(self) -> None:
        """The table as it is now; on AWS as it was at a time that is named later."""
        self.since = datetime.now(UTC).isoformat()
        self.run("aws dynamodb restore-table", "aws dynamodb wait")

    def put_back(self) -> None:
        self.run(
            "actonce pause",
            "python examples/restore/restore.py",
            "actonce resume",
            "aws dynamodb delete-table",
        )


@pytest.fixture
def restoring(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> Iterator[Restoring]:
    paths = home(tmp_path_factory)
    try:
        up = lifecycle.up(paths, lambda _: None, parameters=getattr(request, "param", {}))
        yield Restoring(*up, tmp_path)
    finally:
        lifecycle.down(paths)


def test_a_fingerprints_table_misses_conflicts_and_repeats_what_is_forgotten_until_rows_are_back(
    restoring: Restoring,
) -> None:
    it = restoring
    it.acted_on("kept")
    it.restore()
    it.acted_on("since", "unmended")
    # Step Functions has forgotten their executions, and only their effects are left.
    appointment = {"appointment_id": {"S": "appointment-1"}}
    for message_id in ("old", "old-unmended"):
        row = {"message_id": {"S": message_id}, **appointment}
        it.stack.dynamodb.put_item(TableName=it.stack.effects_table, Item=row)
    was = {name: it.row(name) for name in ("kept", "since", "unmended")}
    it.lose(*was)

    it.send("unmended", practice="another")
    it.send("old-unmended")
    it.wait_for("unmended", "started", "suppressed")  # a conflict is missed
    wait_until(lambda: it.effects("old-unmended") == 2)  # and this was acted on twice

    it.put_back()

    for name, row in was.items():
        now = it.row(name)
        seen = now.pop("first_seen")["S"], row.pop("first_seen")["S"]
        assert now == row
        assert seen == (seen[1], seen[1]) if name == "kept" else seen[0] >= seen[1]
    for name in was:
        it.send(name)
        it.send(name, practice="another")
    it.send("old")
    for name in ("kept", "since"):
        it.wait_for(name, "started", "suppressed", "conflict")
        assert it.effects(name) == 1
    it.wait_for("unmended", "started", "suppressed", "suppressed", "conflict")
    it.wait_for("old", "conflict")
    assert it.effects("old") == 1


def given_back(row: Row) -> Row:
    """A lease's row as it was before it was completed, when nothing had happened."""
    left = {name: row[name] for name in row if name not in ("attempt_id", "outcome", "effect")}
    return left | {"status": {"S": "IN_PROGRESS"}, "given_back": {"N": "1"}}


@pytest.mark.parametrize("restoring", [{"Strategy": "lease"}], indirect=True)
def test_a_lease_acts_twice_until_rows_are_back(restoring: Restoring) -> None:
    it = restoring
    it.acted_on("kept", "begun", "begun-unmended")
    it.restore()
    it.acted_on("since", "since-unmended")
    for message_id in ("begun", "begun-unmended"):
        it.put(given_back(it.row(message_id)), "restored")
        it.lose(message_id)
    was = it.row("kept")
    it.lose("kept", "since", "since-unmended")
    # Completed since, by a machine whose clock is behind: at the same time, by what it says.
    completed = was | {"message_id": {"S": "completed"}}
    it.put(completed)
    it.put(given_back(completed) | {"version": {"S": "earlier"}}, "restored")

    it.put(it.row("begun-unmended", "restored"))
    for name in ("begun-unmended", "since-unmended"):
        it.send(name)
        it.wait_for(name, "started", "started")
        assert it.effects(name) == 2

    it.put_back()

    assert it.row("kept") == was
    assert it.row("completed") == completed
    for name in ("kept", "begun", "since"):
        it.send(name)
    wait_until(lambda: it.row("begun")["status"]["S"] == "COMPLETE")
    assert it.row("begun")["outcome"]["S"] == "found"
    it.wait_for("kept", "started", "suppressed")
    it.wait_for("since", "started", "conflict")
    assert [it.effects(name) for name in ("kept", "begun", "since")] == [1, 1, 1]

    # Under its own name, as where the table was gone.
    it.put(given_back(it.row("kept")) | {"message_id": {"S": "in place"}})
    it.restored = it.stack.fingerprints_table
    it.run("python examples/restore/restore.py")
    assert it.row("in place")["outcome_unknown"] == {"BOOL": True}
    assert it.row("kept") == was

    # Effects by a number, in a table that has other items, too.
    it.effects_table, it.key = "orders", "order"
    one_more = {"other": {"S": "a counter"}}
    numbers = [{"order": {"N": number}} for number in ("5", "1E+3", "5e-1")]
    items = [one_more, *numbers]
    make_table(it.stack.dynamodb, "orders", "id", items=[
        {"id": {"S": f"o-{number}"}} | item for number, item in enumerate(items)
    ])  # fmt: skip
    it.run("python examples/restore/restore.py")
    for message_id in ("5", "1000", "0.5"):
        assert it.row(message_id)["fingerprint"] == {"S": "restored"}


@pytest.mark.parametrize("restoring", [{"StartExecutions": "on-trouble"}], indirect=True)
def test_first_attempts_are_made_again_until_rows_are_back(restoring: Restoring) -> None:
    it = restoring
    it.acted_on("kept", "begun")
    it.restore()
    # As it was before the attempt that performed, when nothing had happened.
    row = it.row("begun")
    row = {name: row[name] for name in row if name not in ("outcome", "effect")}
    it.put(row | {"status": {"S": "IN_PROGRESS"}, "stage": {"S": "released"}}, "restored")
    it.acted_on("since", "since-unmended")
    was = it.row("kept")
    it.lose("kept", "since", "since-unmended")

    it.send("since-unmended")
    it.wait_for("since-unmended", "performed", "performed")
    assert it.effects("since-unmended") == 2

    it.lose("begun")
    it.put_back()

    assert it.row("kept") == was
    assert it.row("begun")["stage"] == {"S": "started"}
    for name in ("kept", "begun", "since"):
        it.send(name)
    it.wait_for("begun", "performed", "started")
    it.wait_for("kept", "performed", "suppressed")
    it.wait_for("since", "performed", "conflict")
    arn = it.stack.execution_arn("begun")
    describe = it.stack.stepfunctions.describe_execution
    wait_until(lambda: describe(executionArn=arn)["status"] == "SUCCEEDED")
    assert json.loads(describe(executionArn=arn)["output"])["outcome"] == "found"
    assert [it.effects(name) for name in ("kept", "begun", "since")] == [1, 1, 1]
