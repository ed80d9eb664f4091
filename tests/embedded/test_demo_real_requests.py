"""Real double bookings through the demo, and the demo's count against the audit's."""

import json
from collections import Counter

import pytest

from actonce.embedded import lifecycle
from actonce.stack.clients import Aws, Stack
from actonce.stack.embedded_folder import Paths
from actonce_core.delivery import Delivery
from actonce_core.message import Message, MessageReader
from tests import java
from tests.embedded.running_demo import demo, start
from tests.support import appointments

pytestmark = pytest.mark.embedded


VARIANTS = [
    pytest.param(False, "", 15, 0, id="without SMS_received"),
    pytest.param(True, "", 6, 9, id="with SMS_received"),
    pytest.param(True, "{age: Age, where: Neighbourhood}", 15, 0, id="with it, not as content"),
]


@appointments.needed
@pytest.mark.parametrize(("sms_received", "content_from", "duplicates", "conflicts"), VARIANTS)
def test_real_double_bookings_are_duplicates_or_conflicts_by_their_content(
    sms_received: bool, content_from: str, duplicates: int, conflicts: int
) -> None:
    reader = MessageReader(content_from=content_from)
    first: dict[str, str] = {}
    met = Counter[str]()
    for line in appointments.as_json_lines(sms_received=sms_received).splitlines():
        message = reader.read(Delivery("", line, {}, {}))
        assert isinstance(message, Message)
        known = first.setdefault(message.message_id, message.fingerprint)
        met["same" if known == message.fingerprint else "other"] += 1
    assert len(first) == 985
    assert met == {"same": 985 + duplicates} | ({"other": conflicts} if conflicts else {})


@java.needed
@pytest.mark.long
def test_the_audit_finds_what_was_done_behind_the_systems_back(paths: Paths) -> None:
    """That it agrees with the demo's own count where nothing is wrong: test_readme.py."""
    earlier = demo(paths, "--keep", "--faults", "none", "--messages", "20")

    # One effect again, one gone.
    state = lifecycle.running(paths)
    assert state is not None
    stack = Stack.find(Aws(state.endpoint_url), lifecycle.STACK_NAME)
    items = stack.dynamodb.scan(TableName=stack.appointments_table)["Items"]
    first, last, *_ = [item for item in items if item["appointment_id"]["S"].startswith("app")]
    stack.dynamodb.put_item(
        TableName=stack.appointments_table,
        Item=first | {"appointment_id": {"S": "appointment-by-hand"}},
    )
    stack.dynamodb.delete_item(
        TableName=stack.appointments_table,
        Key={"message_id": last["message_id"], "appointment_id": last["appointment_id"]},
    )
    process = start(paths, "--audit", "--keep", "--messages", "1", "--faults", "none")
    _, err = process.communicate(timeout=400)
    assert process.returncode == 1
    assert "The audit of the records agrees" in err or "lost" in err
    summary = json.loads((paths.records / "audit" / "summary.json").read_text())
    alarms = {alarm["message_id"]: alarm["verdict"] for alarm in summary["alarms"]}
    # Those of the real requests above.
    conflicts = [alarms.pop(key) for key, verdict in [*alarms.items()] if verdict == "conflict"]
    assert len(conflicts) == earlier["refused"].get("conflict", 0)
    assert alarms == {first["message_id"]["S"]: "performed_again", last["message_id"]["S"]: "lost"}
    assert summary["exit_status"] == 1
