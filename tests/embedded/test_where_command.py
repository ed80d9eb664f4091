import json
import os
import uuid
from collections.abc import Callable
from typing import Any

from actonce.embedded.lifecycle import State
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from actonce_core.execution import execution_name
from tests.actonce_server import run_actonce
from tests.embedded.command_line import run, run_json
from tests.embedded.waiting import wait_for_execution, wait_until

Send = Callable[[Any], None]
Deliveries = Callable[[str], list[dict[str, Any]]]


def ends(story: dict[str, Any]) -> list[str]:
    return [delivery["end"] for delivery in story["deliveries"]]


def test_a_storys_parts_agree_and_are_in_order_of_time(
    state: State, stack: Stack, send: Send, deliveries: Deliveries, message_id: str
) -> None:
    send({"message_id": message_id, "x": 1})
    wait_for_execution(stack, stack.execution_arn(message_id))
    send({"x": 1, "message_id": message_id})
    send({"x": 2, "message_id": message_id})
    wait_until(lambda: len(deliveries(message_id)) == 3)

    story = run_json(state, "where", message_id)
    assert story["message_id"] == story["execution_name"] == message_id
    assert ends(story)[0] == "started"
    assert ends(story)[1:] == ["suppressed"]
    assert [line["reason"] for line in story["conflicts"]] == ["conflict"]
    told = run(state, "where", message_id).stdout
    assert "1 of 2 deliveries suppressed." in told
    assert "1 more delivery brought another content with this id, and was refused" in told
    assert story["fingerprint"]["fingerprint"] == story["deliveries"][0]["fingerprint"]
    assert (story["execution"]["status"], story["execution"]["outcome"]) == (
        "SUCCEEDED",
        "performed",
    )
    states = [step["state"] for step in story["execution"]["steps"] if step["what"] == "entered"]
    assert states == ["PerformEffect"]
    (effect,) = story["effects"]
    assert effect["practice"] == "main"
    assert "request" not in effect
    (entry,) = story["unstarted"]
    assert (entry["reason"], entry["message_id"]) == ("conflict", message_id)
    assert story["dead_letters"] == []
    times = [moment["at"] for moment in story["timeline"]]
    assert times == sorted(times)
    assert {moment["where"] for moment in story["timeline"]} == {
        "Fingerprints",
        "StarterFunction",
        "PerformEffect",
        "Appointments",
        "UnstartedQueue",
        "execution",
    }


def test_an_id_of_any_characters_is_found_by_itself_and_by_its_executions_name(
    state: State, send: Send
) -> None:
    message_id = f'Zoë/"{uuid.uuid4()}" [1] * {"x" * 100}'
    send({"message_id": message_id})

    def story_with_effect() -> Any:
        story = run(state, "where", "--json", "--", message_id)
        found = json.loads(story.stdout) if story.returncode == 0 else {}
        return found if found.get("effects") and found.get("deliveries") else None

    story = wait_until(story_with_effect)
    assert story["execution_name"].startswith("sha256-")
    by_name = run_json(state, "where", story["execution_name"])
    assert by_name["message_id"] == message_id
    assert by_name["effects"] == story["effects"]


def test_a_message_too_large_to_be_read_is_found_where_it_lies(
    state: State, send: Send, message_id: str
) -> None:
    send({"message_id": message_id, "x": "y" * 300_000})
    wait_until(lambda: run(state, "where", message_id).returncode == 0)
    story = run_json(state, "where", message_id)
    assert story["deliveries"] == []  # the starter did not read its id
    assert story["execution"] is None
    assert story["unstarted"][0]["reason"] == "too_large"


def test_a_dead_letter_and_its_decision_are_told(
    state: State, stack: Stack, send: Send, message_id: str
) -> None:
    send({"message_id": message_id, "practice": 7})

    def waiting() -> bool:
        story = run(state, "where", message_id)
        return "waits for a decision" in story.stdout

    wait_until(waiting)
    (stay,) = run_json(state, "where", message_id)["dead_letters"]
    assert (stay["reason"], stay["error"], stay["awaiting_decision"]) == (
        "rejected",
        "Rejected",
        True,
    )
    decided = run(state, "dead-letters", "resolve", message_id, "--note", "by telephone")
    assert decided.returncode == 0, decided.stderr
    wait_for_execution(stack, stack.execution_arn(message_id))

    story = run_json(state, "where", message_id)
    (stay,) = story["dead_letters"]
    assert not stay["awaiting_decision"]
    assert (stay["decision"]["decision"], stay["decision"]["note"]) == ("resolve", "by telephone")
    assert stay["decision"]["decided_by"].startswith("arn:aws:")
    assert story["execution"]["outcome"] == "resolved"
    assert "decided: resolve" in {moment["what"] for moment in story["timeline"]}


def test_what_list_tells_names_a_message_to_where(
    state: State, stack: Stack, send: Send, message_id: str
) -> None:
    spoken = f"{message_id} ü"
    for one in (message_id, spoken):
        send({"message_id": one})
        wait_for_execution(stack, stack.execution_arn(execution_name(one)))

    told = run_json(state, "list", "--since", "1h", "--status", "succeeded", "--limit", "1000")
    ids = {one["message_id"]: one["id"] for one in told["messages"]}

    assert ids[message_id] == message_id
    assert run_json(state, "where", ids[spoken])["message_id"] == spoken


def test_the_embedded_aws_of_the_folder_is_meant_whatever_profile_and_region_are_set(
    embedded_paths: Paths, state: State
) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "ACTONCE_DIR": str(embedded_paths.home),
        "ACTONCE_STACK_NAME": "of-another-place",
        "AWS_PROFILE": "not-there",
        "AWS_REGION": "eu-west-1",
    }
    answer = run_actonce(("status", "--json"), environment)
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["stack"] == "actonce"
    assert answer.stderr == f"On the embedded AWS at {state.endpoint_url}, stack actonce\n"
