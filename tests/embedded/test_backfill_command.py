"""A backfill, planned and sent as a person does it, killed in the middle included."""

import json
import signal
import subprocess
import uuid
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from actonce.embedded.lifecycle import State
from actonce.messages.delivery_log import delivery_lines
from actonce.queues.scan import counts
from actonce.queues.sending import BATCHES_IN_FLIGHT, MAX_BATCH
from actonce.stack.clients import Stack
from tests.embedded.command_line import begin, run, run_json
from tests.embedded.hazards import effects_by_practice
from tests.embedded.waiting import wait_until
from tests.support import java

pytestmark = java.needed


@pytest.mark.long
def test_what_a_killed_send_of_a_backfill_left_is_sent_and_every_message_acted_on_once(
    state: State, stack: Stack, tmp_path: Path
) -> None:
    messages = [f"{uuid.uuid4()}-{number}" for number in range(200)]
    lines = [json.dumps({"id": one}) for one in messages]
    lines += [*lines[:20], json.dumps({"id": messages[0], "other": True}), "no JSON"]
    archive, plan = tmp_path / "a.jsonl", tmp_path / "plan"
    archive.write_text("\n".join(lines))
    planned = run(state, "backfill", str(archive), "--message-id", "id", "--to", str(plan))
    assert planned.returncode == 1  # a conflict, and a line that is none
    assert json.loads((plan / "counts.json").read_text()) == {
        "rows": 222, "messages": 200, "duplicates": 20, "conflicts": 1, "quarantined": 1
    }  # fmt: skip
    _, *words = planned.stdout.splitlines()[-1].split()
    assert words[:2] == ["send", str(plan / "messages")]

    slowly = [*words[:3], "40", *words[4:]]
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with begin(state.endpoint_url, *slowly, "--yes", **options) as killed:
        wait_until(lambda: killed.poll() is not None or len(_recorded(plan)) >= 60, 240)
        killed.send_signal(signal.SIGKILL)
        assert killed.wait() == -signal.SIGKILL, "it ended before it could be killed"
    already = len(_recorded(plan))
    summary = run_json(state, *words, "--yes")
    assert (summary["already_sent"], summary["sent"]) == (already, len(messages) - already)
    recorded = _recorded(plan)
    assert Counter(line["message_id"] for line in recorded) == Counter(messages)

    def effects() -> Counter[str]:
        done = effects_by_practice(stack)["main"]
        return Counter(message_id for message_id, _ in done if message_id in messages)

    wait_until(lambda: len(effects()) == len(messages), 240)
    wait_until(lambda: counts(stack.sqs, stack.requests_queue) == (0, 0), 240)
    assert effects() == Counter(messages)
    # What was sent twice was suppressed, and is not more than was in flight when it was killed.
    confirmed_ids = {line["sqs_message_id"] for line in recorded}
    wait_until(lambda: confirmed_ids <= _delivered(stack, messages))
    assert len(_delivered(stack, messages)) <= len(messages) + BATCHES_IN_FLIGHT * MAX_BATCH


def _recorded(folder: Path) -> list[dict[str, Any]]:
    """The record's lines; of a batch that is being written there are none."""
    found = []
    for path in folder.glob("sent/dt=*/*.jsonl.gz"):
        packed = path.read_bytes()
        while packed:
            member = zlib.decompressobj(wbits=31)
            text = member.decompress(packed)
            packed = member.unused_data
            found += [json.loads(line) for line in text.splitlines()] if member.eof else []
    return found


def _delivered(stack: Stack, messages: list[str]) -> set[str]:
    return {
        line["sqs_message_id"]
        for line in delivery_lines(stack)
        if line.get("message_id") in messages
    }
