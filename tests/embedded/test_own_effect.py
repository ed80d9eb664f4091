"""A function that knows nothing of ActOnce, behind it by its ARN."""

import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actonce.embedded import lambda_runtime, lifecycle
from actonce.embedded.latest import unpublished
from actonce.embedded.lifecycle import State
from actonce.stack.clients import Aws, Stack
from actonce.stack.embedded_folder import PROJECT, Paths
from tests.embedded.command_line import run, run_json
from tests.embedded.waiting import wait_for_execution, wait_until

pytestmark = [pytest.mark.embedded, pytest.mark.long]

GIFT_CARDS = PROJECT / "examples" / "gift_cards" / "gift_cards.py"

# What a person does to a copy of the example to see the hazards.
FAULTS = """

_answered = handler


def handler(event, context):
    mark = os.path.join(os.environ["MARKS"], event["message"]["message_id"])
    body = json.loads(event["message"].get("body", "{}"))
    if event["operation"] == "perform" and body.get("fail_first"):
        if not os.path.exists(mark):
            open(mark, "w").close()
            raise RuntimeError("before it could act")
    answer = _answered(event, context)
    if event["operation"] == "perform" and body.get("lose_the_answer"):
        raise RuntimeError("the answer is lost")
    if event["operation"] == "find" and "cannot-look" in event["message"]["message_id"]:
        raise RuntimeError("the table cannot be read")
    return answer
"""


def zipped(paths: Paths, folder: Path) -> bytes:
    """The example as a package that the embedded AWS runs."""
    source = folder / "source"
    source.mkdir()
    (source / "gift_cards.py").write_text(GIFT_CARDS.read_text() + FAULTS)
    package = folder / "package"
    start = lambda_runtime.bootstrap(paths.runtime, paths.bytecode)
    lambda_runtime.provide_package(source, package, start)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        for file in package.iterdir():
            opened.write(file, file.name)
    shutil.rmtree(package)
    return archive.getvalue()


@pytest.fixture(scope="module")
def gift_cards(paths: Paths, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A version of the team's function, which is there before ActOnce stands in front of it."""
    state, _ = lifecycle.up(paths, lambda _: None, parameters={})
    aws = Aws(state.endpoint_url)
    aws.client("dynamodb").create_table(
        TableName="gift-cards",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "message_id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "message_id", "KeyType": "HASH"}],
    )
    made = aws.client("lambda").create_function(
        FunctionName="gift-cards",
        Runtime="provided.al2023",
        Role="arn:aws:iam::000000000000:role/gift-cards",
        Handler="gift_cards.handler",
        Code={"ZipFile": zipped(paths, tmp_path_factory.mktemp("gift-cards"))},
        Timeout=4,
        Environment={
            "Variables": {
                "GIFT_CARDS_TABLE": "gift-cards",
                "MARKS": str(tmp_path_factory.mktemp("marks")),
            }
        },
    )
    published = aws.client("lambda").publish_version(FunctionName=made["FunctionName"])
    return str(published["FunctionArn"])


@pytest.fixture(scope="module")
def deployed(paths: Paths, gift_cards: str) -> tuple[State, Stack]:
    own = {"EffectFunctionArn": gift_cards, "FindFunctionArn": gift_cards}
    return lifecycle.up(paths, lambda _: None, parameters=own)


def send(stack: Stack, body: dict[str, Any]) -> None:
    stack.sqs.send_message(QueueUrl=stack.requests_queue, MessageBody=json.dumps(body))


def cards(stack: Stack) -> dict[str, int]:
    rows = stack.dynamodb.scan(TableName="gift-cards", ConsistentRead=True)["Items"]
    return {row["message_id"]["S"]: int(row["amount"]["N"]) for row in rows}


def test_it_stands_in_front_of_a_function_that_knows_nothing_of_it(
    deployed: tuple[State, Stack], tmp_path: Path
) -> None:
    state, stack = deployed
    assert not stack.is_example
    for body in (
        {"message_id": "twice", "amount": 20},
        {"message_id": "twice", "amount": 20},
        {"message_id": "lost", "amount": 30, "lose_the_answer": True},
        {"message_id": "again", "amount": 35, "fail_first": True},
        {"message_id": "never", "amount": "20"},
        {"message_id": "cannot-look", "amount": 40, "lose_the_answer": True},
    ):
        send(stack, body)

    def outcome(message_id: str) -> str:
        ended = wait_for_execution(stack, stack.execution_arn(message_id), 60)
        told: str = json.loads(ended["output"])["outcome"]
        return told

    # Or found, where a new process took longer than the function's time-out.
    assert outcome("twice") in {"performed", "found"}
    assert outcome("lost") == "found"
    # Looked up in between, and not found: `{"performed": false}`.
    assert outcome("again") == "performed"

    def letters() -> Any:
        listed = run_json(state, "dead-letters", "list")["dead_letters"]
        return listed if len(listed) == 2 else None

    assert {(one["message_id"], one["reason"]) for one in wait_until(letters, 90)} == {
        ("never", "rejected"),
        ("cannot-look", "outcome_unknown"),
    }
    assert cards(stack) == {"twice": 20, "lost": 30, "again": 35, "cannot-look": 40}

    # By the word of the executions alone, and with the table as another witness.
    own = ("--effects-table", "gift-cards")
    for options, said, missing, effects in (
        ((), "by the word of its execution: {", 1, None),
        (own, "as the table gift-cards has it: {", 0, 4),
    ):
        shown = ("--effects-description", "card") if options else ()
        assert f"it was acted on, {said}" in run(state, "where", "twice", *options, *shown).stdout
        arguments = ("--to", str(tmp_path / str(missing)), "--day", "today", "--json")
        told = json.loads(run(state, "collect", *arguments, *options).stdout)
        assert len(told["missing"]) == missing
        assert told["days"][0]["lines"]["effects"] == effects
    # Its execution has not ended, and its card is there all the same.
    assert "waits for a decision" in run(state, "where", "cannot-look", *own).stdout


@pytest.fixture
def patient(deployed: tuple[State, Stack], gift_cards: str) -> Iterator[str]:
    """The function with a minute for a call, as one of a machine that is busy needs.

    Its stack repeats what took longer; who tries the contract calls once, and processes start slow.
    """
    _, stack = deployed
    function, latest = stack.aws.client("lambda"), unpublished(gift_cards)
    function.update_function_configuration(FunctionName=latest, Timeout=60)
    yield latest
    function.update_function_configuration(FunctionName=latest, Timeout=4)


def command(paths: Paths, *arguments: str) -> Any:
    """What a person in the folder of that embedded AWS is told."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    answer = subprocess.run(
        [sys.executable, "-m", "actonce.cli.app", *arguments, "--body", '{"amount": 20}', "--json"],
        env=kept | {"ACTONCE_DIR": str(paths.home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def test_its_contract_is_tried_on_it_where_it_is_deployed(paths: Paths, patient: str) -> None:
    # The machine may be busy.
    tried = ("--rejected", "{}", "--settle", "0.1", "--timeout", "60", "--yes")
    told = command(paths, "effect", "check", patient, "--find", patient, *tried)
    found = {one["check"]: one["status"] for one in told["checks"]}
    assert found["killed-in"] == found["two-at-once"] == found["rejected"] == "passed"
    assert found["killed-after"] == "not tried"


def test_a_demo_in_front_of_it_goes_on_from_what_is_there(paths: Paths, gift_cards: str) -> None:
    own = [f"-p{name}={gift_cards}" for name in ("EffectFunctionArn", "FindFunctionArn")]
    run_on = ("--keep", "--messages", "20", "--effects-table", "gift-cards", "--no-audit")
    outcome = command(paths, "demo", *own, *run_on)
    assert outcome["distinct"] == outcome["effects"] == 20
    assert outcome["sent"] > 20
    assert outcome["acted_on_twice"] == outcome["lost"] == 0
