"""A backfill, run as a person runs it, killed in the middle included."""

import json
import signal
import subprocess
import uuid
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from actonce.embedded.lifecycle import State
from actonce.messages.delivery_log import delivery_lines
from actonce.queues.scan import counts
from actonce.stack.clients import Stack
from pipeline.backfill.send import SENDERS
from pipeline.backfill.work import confirmed_in
from pipeline.sqs import MAX_BATCH
from tests import java
from tests.embedded.command_line import begin, run
from tests.embedded.hazards import effects_by_practice
from tests.embedded.waiting import wait_until

pytestmark = java.needed

ENDS = ("rows", "sent", "already_sent", "not_sent", "duplicates", "conflicts", "quarantined")


def ends_of(summary: Mapping[str, Any]) -> list[int]:
    numbers = [summary[name] for name in ENDS]
    assert numbers[0] == sum(numbers[1:])
    return numbers


@pytest.mark.long
def test_a_killed_backfill_goes_on_and_every_message_is_acted_on_once(
    state: State, stack: Stack, tmp_path: Path
) -> None:
    messages = [f"{uuid.uuid4()}-{number}" for number in range(200)]
    lines = [json.dumps({"id": one}) for one in messages]
    lines += [*lines[:20], json.dumps({"id": messages[0], "other": True}), "no JSON"]
    archive, work = tmp_path / "a.jsonl", tmp_path / "work"
    archive.write_text("\n".join(lines))
    arguments = ["backfill", str(archive), "--message-id", "id", "--work", str(work)]
    dry = run(state, *arguments, "--dry-run", "--json")
    assert (dry.returncode, ends_of(json.loads(dry.stdout))[1:]) == (1, [0, 0, 200, 20, 1, 1])
    assert not (work / "sent").exists()
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with begin(state.endpoint_url, *arguments, "--rate", "40", **options) as killed:
        wait_until(lambda: killed.poll() is not None or confirmed_in(work) >= 60, 240)
        killed.send_signal(signal.SIGKILL)
        assert killed.wait() == -signal.SIGKILL, "it ended before it could be killed"

    ended = run(state, *arguments, "--rate", "400", "--json")
    assert ended.returncode == 1  # a conflict, and a line that is none
    assert "1 conflicts, listed in" in ended.stderr.splitlines()[-1]
    (conflict,) = map(json.loads, (work / "conflicts.jsonl").read_text().splitlines())
    assert (conflict["line"], conflict["first_line"]) == (221, 1)
    (bad,) = map(json.loads, (work / "quarantine.jsonl").read_text().splitlines())
    assert (bad["line"], "not JSON" in bad["reason"]) == (222, True)
    summary = json.loads(ended.stdout)
    assert summary["already_sent"] >= 60
    already = summary["already_sent"]
    assert ends_of(summary) == [222, len(messages) - already, already, 0, 20, 1, 1]
    recorded = [
        json.loads(line)
        for path in work.glob("sent/dt=*/*.jsonl")
        for line in path.read_text().splitlines()
    ]
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
    assert len(_delivered(stack, messages)) <= len(messages) + SENDERS * MAX_BATCH


def _delivered(stack: Stack, messages: list[str]) -> set[str]:
    return {
        line["sqs_message_id"]
        for line in delivery_lines(stack)
        if line.get("message_id") in messages
    }
