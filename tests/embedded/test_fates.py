"""Messages of different fates: AWS, `actonce where` and the console's page agree on each."""

import html
import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from actonce.demo import records
from actonce.embedded import faults
from actonce.embedded.lifecycle import State
from actonce.messages.delivery_log import delivery_lines
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from actonce_core.execution import execution_name
from tests.console.client import Client, console_of
from tests.embedded.command_line import decide, run, run_json
from tests.embedded.hazards import effects_by_practice
from tests.embedded.waiting import wait_for_execution, wait_until

Send = Callable[[Any], None]


@dataclass(frozen=True)
class Fate:
    """What is to be told of a message: `status` is AWS's, `advice` a part of what to do now."""

    state: str
    status: str
    outcome: str | None
    effects: int
    advised: str | None = None
    advice: str | None = None


DONE = ("SUCCEEDED", "performed", 1)
LOST = "after:Lambda.Unknown"
FATES = {
    "once": Fate("performed", *DONE),
    "conflict": Fate("performed", *DONE, advice="actonce unstarted show"),
    "rejected": Fate("rejected", "FAILED", "rejected", 0),
    "waiting": Fate("waiting_for_decision", "RUNNING", None, 0, "reject", "Reject it"),
    "found": Fate("found", "SUCCEEDED", "found", 1),
    "aborted": Fate("aborted", "ABORTED", None, 0, "retry", "actonce dead-letters retry"),
    "look-up-down": Fate("waiting_for_decision", "RUNNING", None, 1, "resolve", "has its effect"),
}
REFUSED = ("rejected", "waiting", "aborted")


@pytest.fixture(scope="module")
def ids() -> dict[str, str]:
    """Of each message; one of any characters, whose execution has another name."""
    some = {fate: f"{fate}-{uuid.uuid4()}" for fate in FATES}
    return some | {"once": f'Zoë/"{some["once"]}" [1] * {"x" * 100}'}


@pytest.fixture(scope="module")
def fates(
    embedded_paths: Paths, state: State, stack: Stack, send: Send, ids: dict[str, str]
) -> Iterator[None]:
    """Each message has met its fate."""
    planned = {
        ids["found"]: {"perform": [LOST]},
        ids["look-up-down"]: {"perform": [LOST], "find": ["before:killed"] * 50},
    }

    with faults.around_functions(embedded_paths.faults, planned):
        for fate, message_id in ids.items():
            send({"message_id": message_id, "practice": 7 if fate in REFUSED else "main"})
        letters = {ids[fate] for fate in (*REFUSED, "look-up-down")}
        wait_until(lambda: letters <= records.waiting(stack))
        result = decide(state, "reject", ids["rejected"], "--note", "by telephone")
        assert result["end"] == "decided", result
        stack.stepfunctions.stop_execution(executionArn=arn(stack, ids["aborted"]))
        for fate, ended in FATES.items():
            if ended.status != "RUNNING":
                wait_for_execution(stack, arn(stack, ids[fate]))
        send({"message_id": ids["conflict"], "practice": "another"})
        refused = (ids["conflict"], "refused")
        wait_until(
            lambda: (
                refused in {(one.get("message_id"), one["end"]) for one in delivery_lines(stack)}
            )
        )
        yield


@pytest.fixture(scope="module")
def console(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Client:
    return console_of(stack, tmp_path_factory.mktemp("discarded"), options="")


@pytest.fixture(scope="module")
def listed(state: State, fates: None) -> dict[str, Any]:  # noqa: ARG001 - they are listed
    """What `actonce list` says of each message, by its id."""
    messages = run_json(state, "list", "--limit", "100")["messages"]
    return {one["message_id"]: one for one in messages}


def arn(stack: Stack, message_id: str) -> str:
    return stack.execution_arn(execution_name(message_id))


@pytest.mark.embedded
@pytest.mark.usefixtures("fates")
@pytest.mark.parametrize("fate", FATES)
def test_where_console_and_aws_tell_the_same(
    state: State,
    stack: Stack,
    ids: dict[str, str],
    console: Client,
    listed: dict[str, Any],
    fate: str,
) -> None:
    expected, message_id = FATES[fate], ids[fate]
    result = run_json(state, "where", message_id)["summary"]
    names = ("state", "status", "outcome", "effects", "advised")
    assert tuple(result[name] for name in names) == (
        expected.state,
        expected.status,
        expected.outcome,
        expected.effects,
        expected.advised,
    )
    assert (result["advice"] is None) is (expected.advice is None)
    assert (expected.advice or "") in (result["advice"] or "")
    assert (result["conflicts"] is not None) is (fate == "conflict")

    described = stack.stepfunctions.describe_execution(executionArn=arn(stack, message_id))
    assert described["status"] == result["status"]
    outcome = json.loads(described.get("output", "{}")).get("outcome")
    assert outcome == (None if fate == "rejected" else result["outcome"])
    assert (described.get("error") == "RejectedByOperator") is (result["state"] == "rejected")
    books = effects_by_practice(stack).values()
    assert [one for book in books for one, _ in book].count(message_id) == result["effects"]

    console.read_queues()
    page = console.get("/message/log", id=listed[message_id]["id"])
    shown = html.unescape(page.text)
    assert page.status == 200
    execution_is = f"Its execution is {result['status']}."
    # What differs is shown there, and by no command.
    advice = (result["advice"] or "").partition(" What differs is shown by ")[0]
    for one in (result["label"], execution_is, result["sentence"], advice):
        assert one in shown
    assert any("/unstarted/entry" in link for link in page.links) is (fate == "conflict")

    assert [listed[message_id][name] for name in names[:2]] == [result["state"], result["status"]]


@pytest.mark.embedded
@pytest.mark.usefixtures("fates")
def test_no_decision_is_taken_on_what_was_aborted(
    state: State, stack: Stack, ids: dict[str, str]
) -> None:
    answer = run(state, "dead-letters", "retry", ids["aborted"])

    assert answer.returncode == 1
    assert "Decided" not in answer.stdout
    assert "Nobody had decided" in answer.stderr
    assert ids["aborted"] in records.waiting(stack)

    # Its letter is in the queue, and nothing waits for a decision on it.
    result = run_json(state, "dead-letters", "list")
    listed = {one["message_id"] for one in result["dead_letters"]}
    assert ids["waiting"] in listed
    assert ids["aborted"] not in listed
    assert result["ended"]["aborted"] >= 1
    shown = run(state, "dead-letters", "show", ids["aborted"])
    assert f"actonce dead-letters retry {ids['aborted']}" in shown.stdout
    assert "To decide" not in shown.stderr
