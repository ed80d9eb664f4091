"""One run of the demo: up, send, wait until all has come to rest, count."""

import io
import json
import shutil
import sys
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from actonce import console
from actonce.aws import Stack
from actonce.demo import faults, outcome, records, requests, second_count
from actonce.deployed import Delivery, MessageReader, Refusal
from actonce.embedded import lifecycle
from actonce.embedded.paths import Paths
from actonce.errors import Failed
from actonce.fifo_sending import FifoIds, FifoSender
from actonce.sending import Accepted, End, Line, Sender, read_lines
from actonce.sent_record import SentRecord

QUIET_SECONDS = 120.0
"""Longest wait for anything to move; rounds of an unknown outcome take far less."""

POLL_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Settings:
    """What was asked for; see `actonce demo --help`."""

    messages: int
    seed: int
    level: faults.Level
    file: Path | None
    keep: bool
    parameters: dict[str, str] | None
    audit: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """A run: its outcome, the interruptions that were met, by kind, and the audit's count."""

    outcome: outcome.Outcome
    interruptions: Counter[str]
    second: second_count.SecondCount | None


def run(settings: Settings, paths: Paths) -> Result:
    """Run the demo.

    Raises:
        Failed: the stack did not come up, or its messages did not come to rest.
    """
    was_up = lifecycle.running(paths) is not None
    if not settings.keep:
        for folder in (paths.sent, paths.records):
            shutil.rmtree(folder, ignore_errors=True)
    try:
        _, stack = lifecycle.up(
            paths, console.say, parameters=settings.parameters, fresh=not settings.keep
        )
        reader = _reader(stack)
        source, planned = _traffic(settings, reader)
        record = SentRecord(paths.sent, str(settings.file or "generated"), reader)
        with faults.deployed(stack, paths.faults, planned):
            console.say("Warming the functions")
            lifecycle.warm(stack)
            started = time.monotonic()
            sent = _send(stack, reader, source, record)
            expected = len({message.execution_name for message in sent} - {None})
            wait_for_rest(stack, expected=expected)
            seconds = time.monotonic() - started
        # An execution goes on by itself, so executions that were started in order end in any.
        ordered = stack.is_fifo and stack.ledger_table is not None
        counted = outcome.judge(sent, records.read(stack), seconds, ordered=ordered)
        second = None
        if settings.audit:
            console.say("Collecting the records and auditing them")
            second = second_count.count_again(
                stack, paths.records, paths.sent, _first_sent(paths.sent), counted
            )
    except KeyboardInterrupt:
        if not was_up:
            lifecycle.down(paths)
        raise
    return Result(counted, faults.injected(paths.faults) if planned else Counter(), second)


def _first_sent(folder: Path) -> datetime:
    """Midnight before the first record; `--keep` goes on from days ago."""
    days = [path.name.removeprefix("dt=") for path in (folder / "sent").glob("dt=*")]
    return datetime.fromisoformat(min(days)).replace(tzinfo=UTC) if days else datetime.now(UTC)


def _traffic(settings: Settings, reader: MessageReader) -> tuple[bytes, faults.Plan]:
    """What is sent, as the lines of a file, and what is interrupted."""
    if settings.file is None:
        traffic = requests.generate(settings.messages, settings.seed)
        planned = faults.plan(
            traffic.message_ids, settings.level, settings.seed, deliver_again=True
        )
        return "\n".join(traffic.bodies).encode(), planned
    stdin = str(settings.file) == "-"
    source = sys.stdin.buffer.read() if stdin else settings.file.read_bytes()
    if settings.level is faults.Level.NONE:
        return source, {}
    lines = [line for line in read_lines(io.BytesIO(source)) if isinstance(line, Line)]
    ids = dict.fromkeys(_identify(reader, line.body, "").message_id for line in lines)
    message_ids = [message_id for message_id in ids if message_id]
    return source, faults.plan(message_ids, settings.level, settings.seed, deliver_again=False)


def _send(
    stack: Stack, reader: MessageReader, source: bytes, record: SentRecord
) -> list[outcome.Sent]:
    sent: list[outcome.Sent] = []
    with console.progress("Sent", source.count(b"\n") + 1) as bar:

        def report(ends: Sequence[End]) -> None:
            accepted = [end for end in ends if isinstance(end, Accepted)]
            if accepted:
                record.append(accepted)
            for end in ends:
                if isinstance(end, Accepted):
                    sent.append(_identify(reader, end.line.body, end.sqs_message_id))
                else:
                    console.err.print(
                        f"Line {end.number} was not sent. {end.reason}", style="red", markup=False
                    )
            bar.update(len(sent))

        _sender(stack).send_all(io.BytesIO(source), report)
    return sent


def _sender(stack: Stack) -> Sender:
    if not stack.is_fifo:
        return Sender(stack.sqs, stack.requests_queue)
    # A deduplication id of its own for every sending: a re-send after more than five minutes, which
    # SQS does not deduplicate, so that what stands behind the queue has to.
    ids = FifoIds(group=_practice, deduplication_id=lambda _: uuid.uuid4().hex)
    return FifoSender(stack.sqs, stack.requests_queue, ids, warn=console.say)


def _practice(body: str) -> str:
    try:
        return str(json.loads(body)["practice"])
    except (ValueError, TypeError, KeyError):
        return "none"


def _reader(stack: Stack) -> MessageReader:
    """Reads messages as the deployed starter does."""
    configuration = stack.lambda_.get_function_configuration(FunctionName=stack.starter_function)
    variables = configuration["Environment"]["Variables"]
    return MessageReader(variables["MESSAGE_ID_FROM"], variables["CONTENT_FROM"])


def _identify(reader: MessageReader, body: str, sqs_message_id: str) -> outcome.Sent:
    message = reader.read(Delivery(sqs_message_id, body, {}, {}))
    if isinstance(message, Refusal):
        return outcome.Sent(sqs_message_id, message.message_id, None)
    return outcome.Sent(sqs_message_id, message.stored_message_id, message.execution_name)


def wait_for_rest(stack: Stack, *, expected: int) -> None:
    """Wait until no message is under way: each is done, refused, or waits for a decision.

    Args:
        stack: to watch.
        expected: executions there may be, for the progress bar.

    Raises:
        Failed: nothing moved for `QUIET_SECONDS`.
    """
    last, since = None, time.monotonic()
    with console.progress("Acted on", expected) as bar:
        while True:
            queued = depth(stack, stack.requests_queue)
            running = records.execution_names(stack, "RUNNING")
            waiting = records.waiting(stack) if not queued and running else set()
            if not queued and running <= waiting:
                return
            now = (queued, frozenset(running))
            if now != last:
                last, since = now, time.monotonic()
            elif time.monotonic() - since > QUIET_SECONDS:
                raise Failed(
                    f"Nothing has moved for {QUIET_SECONDS:.0f} s: {queued} messages in "
                    f"RequestsQueue, {len(running - waiting)} executions under way, such as "
                    f"{min(running - waiting, default='none')}."
                )
            # What waits in the queue may be a duplicate, so the bar can only say: not yet.
            bar.update(max(0, expected - len(running) - queued))
            time.sleep(POLL_SECONDS)


def depth(stack: Stack, queue_url: str) -> int:
    """Messages in a queue, those in flight included."""
    attributes = stack.sqs.get_queue_attributes(
        QueueUrl=queue_url,
        AttributeNames=[
            "ApproximateNumberOfMessages",
            "ApproximateNumberOfMessagesNotVisible",
        ],
    )["Attributes"]
    return sum(int(number) for number in attributes.values())
