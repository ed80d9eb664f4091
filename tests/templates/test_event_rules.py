"""docs/events.md and examples/notifications are true of the events that are put."""

import json
import re
from typing import Any

import pytest

from actonce_core.events import EventBus
from actonce_core.execution import execution_name
from actonce_core.message import Refusal
from actonce_core.reason import Reason
from actonce_core.result import DeliveryResult
from tests.support import asl, audit_machine
from tests.support.deliveries import delivery
from tests.support.template import load, of_type

PAGE = (asl.PROJECT / "docs" / "events.md").read_text()
NOTIFICATIONS = asl.PROJECT / "examples" / "notifications"
EXAMPLES: dict[str, dict[str, Any]] = {
    example["detail-type"]: example["detail"]
    for example in json.loads((NOTIFICATIONS / "events.json").read_text())
}
RULES = of_type(load(NOTIFICATIONS / "template.yaml"), "AWS::Events::Rule")

NOBODY_ELSES = {
    *("stack", "reason", "execution_name", "decision", "sqs_message_id", "day", "exit_status"),
}
"""Fields of which no producer and no function chooses the text."""


def put() -> dict[str, set[str]]:
    """The fields of each event that is put, by its detail-type."""
    entries = [
        entry
        for definition in (asl.definition(), audit_machine.definition())
        for state in definition["States"].values()
        if state.get("Resource", "").endswith(":putEvents")
        for entry in state["Arguments"]["Entries"]
    ]
    events: list[Any] = []

    class Bus:
        def put_events(self, *, Entries: Any) -> dict[str, Any]:  # noqa: N803
            events.extend({**one, "Detail": json.loads(one["Detail"])} for one in Entries)
            return {"Entries": []}

    refused = DeliveryResult(Refusal(Reason.CONFLICT, "", "m"), None)
    EventBus(Bus, "shop").put([(delivery("{}"), refused)])
    return {one["DetailType"]: set(one["Detail"]) for one in [*entries, *events]}


def test_the_examples_have_the_fields_that_are_put() -> None:
    assert {kind: set(detail) for kind, detail in EXAMPLES.items()} == put()
    for detail in EXAMPLES.values():
        if message_id := detail.get("message_id"):
            assert detail["execution_name"] == execution_name(message_id)


def test_the_schema_explains_every_field() -> None:
    schema = PAGE.partition("\n## The schema\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`\w+`.*?) \|", schema, re.M)
    assert set(re.findall(r"`(\w+)`", " ".join(rows))) == set().union(*put().values())


@pytest.mark.parametrize("name", RULES)
def test_a_rule_of_the_example_writes_json_of_an_event_and_nothing_that_others_chose(
    name: str,
) -> None:
    pattern = RULES[name]["Properties"]["EventPattern"]
    (target,) = RULES[name]["Properties"]["Targets"]
    (kind,) = pattern["detail-type"]
    transformer = target["InputTransformer"]
    template = transformer["InputTemplate"]
    if isinstance(template, dict):
        template = template["Fn::Sub"].replace("${ChatTextField}", "text")

    for variable, path in transformer["InputPathsMap"].items():
        field = path.removeprefix("$.detail.")
        assert field in NOBODY_ELSES
        assert f"<{variable}>" in template
        template = template.replace(f"<{variable}>", str(EXAMPLES[kind][field]))

    assert pattern["source"] == ["actonce"]
    assert "<" not in template
    written = json.loads(template)
    if name.endswith("ToChat"):
        assert written["text"]
    else:
        assert {"title", "description", "source"} <= written.keys()
        assert json.loads(written["operationalData"]["/aws/dedup"]["value"])["dedupString"]


SHAPES = asl.PROJECT / "tests" / "pipeline" / "shapes"
MACHINE = "arn:aws:states:eu-central-1:123456789012:stateMachine:ProcessMessage"
OTHER = MACHINE.replace("ProcessMessage", "other")


def matches(pattern: dict[str, Any], event: dict[str, Any]) -> bool:
    """As EventBridge: each field has one of its values, and of `$or` one pattern matches.

    What else a pattern may say of a value is refused.
    """
    for name, wanted in pattern.items():
        if name == "$or":
            is_there = any(matches(one, event) for one in wanted)
        elif isinstance(wanted, dict):
            is_there = matches(wanted, event.get(name) or {})
        else:
            assert all(isinstance(one, str) for one in wanted), wanted
            is_there = event.get(name) in wanted
        if not is_there:
            return False
    return True


@pytest.mark.parametrize("status", ["RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"])
def test_each_change_of_an_execution_of_ours_is_recorded_and_of_no_other(status: str) -> None:
    (rule,) = of_type(
        load(asl.PROJECT / "templates" / "records.yaml"), "AWS::Events::Rule"
    ).values()
    text = json.dumps(rule["Properties"]["EventPattern"])
    pattern = json.loads(text.replace(json.dumps({"Ref": "ProcessMessageArn"}), f'"{MACHINE}"'))
    event = json.loads((SHAPES / "eventbridge_running.json").read_text())
    event["detail"] |= {"status": status}
    assert matches(pattern, event)
    event["detail"] |= {"stateMachineArn": OTHER}
    assert not matches(pattern, event)
