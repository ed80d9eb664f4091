"""One run of the demo: bring the stack up, send, wait until nothing moves any more, count."""

import contextlib
import fcntl
import io
import json
import shutil
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from actonce.demo import outcome, records, requests, second_count
from actonce.demo.own import OwnEffect
from actonce.demo.second_count import Say
from actonce.embedded import faults, functions, lifecycle
from actonce.messages.dead_letters import list_dead_letters
from actonce.messages.filters import EntryFilter
from actonce.operate.decisions.deciding import decide
from actonce.queues.scan import QueueReader, counts
from actonce.queues.sending import Accepted, Line, LineResult, Sender, read_lines, with_fifo_ids
from actonce.queues.sent_record import SentRecord
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths, State
from actonce.terminal import output as console
from actonce.terminal.errors import Failed, Interrupted, UsageError
from actonce_core.delivery import Delivery
from actonce_core.message import MessageReader, Refusal

QUIET_SECONDS = 120.0
"""How long nothing may move before the demo gives up; an unknown outcome takes far less."""

POLL_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Settings:
    """What was asked for; see `actonce demo --help`.

    Attributes:
        quiet_seconds: see `wait_for_rest`.
        around: is entered, inside the faults, while messages are sent and acted on.
        own: a team's own effect; None for the example.
    """

    messages: int
    seed: int
    level: faults.Level
    file: Path | None
    keep: bool
    parameters: dict[str, str] | None
    audit: bool = False
    quiet_seconds: float = QUIET_SECONDS
    around: Callable[[Stack], contextlib.AbstractContextManager[object]] = contextlib.nullcontext
    own: OwnEffect | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """A run: its outcome, the interruptions that were met, by kind, and the audit's count.

    Attributes:
        example: a message with a long story, as an argument of `actonce where`.
    """

    outcome: outcome.Outcome
    interruptions: Counter[str]
    second: second_count.SecondCount | None
    example: str | None = None


def run(settings: Settings, paths: Paths, say: Say = console.say) -> Result:
    """Run the demo.

    Args:
        settings: what was asked for.
        paths: of the embedded AWS.
        say: is called with each step.

    Raises:
        UsageError: another demo runs on this embedded AWS, something else brought it up, or the
            stack's effect is outside the stack.
        Interrupted: by Ctrl-C; what the demo brought up is down again.
        Failed: the stack did not come up, or its messages did not come to rest.
    """
    with _alone(paths):
        return _run_alone(settings, paths, say)


@contextlib.contextmanager
def _alone(paths: Paths) -> Iterator[None]:
    """Lock the embedded AWS for one demo: a second would start it afresh under the first."""
    paths.home.mkdir(parents=True, exist_ok=True)
    with (paths.home / "demo.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"Another demo runs in {paths.home}: wait for its end, or name another folder with "
                "ACTONCE_DIR."
            ) from None
        yield


def _run_alone(settings: Settings, paths: Paths, say: Say) -> Result:
    state = lifecycle.running(paths)
    was_up = state is not None
    kept = state.parameters if state is not None else {}
    wanted = kept if settings.parameters is None else settings.parameters
    if wanted.get("EffectFunctionArn") and not paths.is_project:
        raise UsageError(
            "A function beside the stack (EffectFunctionArn) is no longer there once the demo has "
            "started afresh: nest ActOnce in a project that has it, and run the demo there."
        )
    lifecycle.check(paths, wanted)
    if not settings.keep and state is not None and state.deployed and not _is_a_demos(paths, state):
        raise UsageError(
            "The demo starts afresh, and no demo has brought up what is on the embedded AWS: "
            "actonce down throws it away, --keep goes on from it, ACTONCE_DIR names another folder."
        )
    try:
        state, stack = lifecycle.up(
            paths, say, parameters=settings.parameters, fresh=not settings.keep
        )
        if not settings.keep:
            paths.demo.write_text(json.dumps({"pid": state.pid}))
            shutil.rmtree(paths.records, ignore_errors=True)
        id_from, reader = _reader_of(stack)
        if not id_from.startswith("body:"):
            raise UsageError(
                "The demo knows a message by an id in its body, and this stack takes it from "
                f"{id_from} (MessageIdFrom): send with actonce send."
            )
        if settings.own is not None and settings.file is None:
            own = replace(settings.own, message_id_from=id_from)
            own.check(reader)
            settings = replace(settings, own=own)
        source, planned = _traffic(settings, reader)
        record = SentRecord(paths.records, str(settings.file or "generated"), reader)
        with faults.around_functions(paths.faults, planned), settings.around(stack):
            say("Warming the functions")
            functions.warm(stack)
            say("Sending, and waiting for rest")
            started = time.monotonic()
            sent = send(stack, reader, source, record)
            rehearsal = second_count.rehearse(paths.records) if settings.audit else None
            expected = len({message.execution_name for message in sent} - {None})
            wait_for_rest(stack, expected, quiet_seconds=settings.quiet_seconds)
            by_operator = Counter[str]()
            if settings.level is faults.Level.MANY:
                say("An operator has every other dead letter tried again")
                by_operator["operator retried"] = _retry_every_other(stack)
                wait_for_rest(stack, expected, quiet_seconds=settings.quiet_seconds)
            seconds = time.monotonic() - started
        say("Counting")
        ids = [one.message_id for one in sent if one.message_id and one.execution_name]
        found = records.read(stack, settings.own, ids)
        counted = outcome.judge(sent, found, seconds)
        second = None
        if rehearsal is not None:
            rehearsal.result()
            second = second_count.count_again(stack, paths.records, counted, say, settings.own)
    except KeyboardInterrupt as error:
        raise _interrupted(paths, was_up=was_up) from error
    interruptions = faults.injected(paths.faults) + by_operator
    return Result(counted, interruptions, second, outcome.to_look_at(sent, found))


def _retry_every_other(stack: Stack) -> int:
    """Retry every other dead letter as an operator does; how many were decided.

    Most of them are acted on then, for a fault is met once; unknown outcomes are looked up.
    """
    with QueueReader(stack.sqs, stack.dead_letter_queue) as queue:
        shown = list_dead_letters(stack, queue, EntryFilter({})).entries
    chosen = sorted((one.execution_name, one.entry) for one in shown)[::2]
    answers = [decide(stack, name, "retry", "the demo's operator", one) for name, one in chosen]
    return sum(answer.decided for answer in answers)


def _is_a_demos(paths: Paths, state: State) -> bool:
    """Whether a demo has brought up the server that runs."""
    try:
        return bool(json.loads(paths.demo.read_text())["pid"] == state.pid)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _interrupted(paths: Paths, *, was_up: bool) -> Interrupted:
    """Stop what was not running before, and say what runs."""
    if was_up:
        return Interrupted(
            "Interrupted. actonce demo begins anew; actonce down stops the embedded AWS."
        )
    lifecycle.down(paths)
    return Interrupted(
        "Interrupted. The embedded AWS that it had brought up is down. actonce demo begins anew."
    )


def _traffic(settings: Settings, reader: MessageReader) -> tuple[bytes, faults.Plan]:
    """What the demo sends, as the lines of a file, and the faults that calls meet."""
    if settings.file is None:
        generate = requests.generate if settings.own is None else settings.own.generate
        traffic = generate(settings.messages, settings.seed)
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


def send(
    stack: Stack, reader: MessageReader, source: bytes, record: SentRecord | None = None
) -> list[outcome.SentMessage]:
    """Send the lines of a file, and return what SQS accepted.

    Args:
        stack: to whose queue.
        reader: of the stack's messages.
        source: the file's bytes.
        record: to which accepted messages are appended.
    """
    sent: list[outcome.SentMessage] = []
    with console.progress("Sent", source.count(b"\n") + 1) as bar:

        def report(ends: Sequence[LineResult]) -> None:
            accepted = [end for end in ends if isinstance(end, Accepted)]
            if accepted and record is not None:
                record.append(accepted)
            for end in ends:
                if isinstance(end, Accepted):
                    sent.append(_identify(reader, end.line.body, end.sqs_message_id))
                else:
                    console.err.print(
                        f"Line {end.number} was not sent. {end.reason}", style="red", markup=False
                    )
            bar.update(len(sent))

        lines = read_lines(io.BytesIO(source))
        if stack.is_fifo:
            # Each sending has a deduplication id of its own, like a re-send after more than five
            # minutes: SQS does not deduplicate it, so what is behind the queue has to.
            lines = with_fifo_ids(lines, _practice, lambda _: uuid.uuid4().hex)
        Sender(stack.sqs, stack.requests_queue).send_all(lines, report)
    return sent


def _practice(body: str) -> str:
    try:
        return str(json.loads(body)["practice"])
    except (ValueError, TypeError, KeyError):
        return "none"


def _reader_of(stack: Stack) -> tuple[str, MessageReader]:
    """Where the deployed starter reads a message's id, and a reader that reads as it does."""
    configuration = stack.lambda_.get_function_configuration(FunctionName=stack.starter_function)
    variables = configuration["Environment"]["Variables"]
    id_from = variables["MESSAGE_ID_FROM"]
    return id_from, MessageReader(id_from, variables["CONTENT_FROM"])


def _identify(reader: MessageReader, body: str, sqs_message_id: str) -> outcome.SentMessage:
    message = reader.read(Delivery(sqs_message_id, body, {}, {}))
    if isinstance(message, Refusal):
        return outcome.SentMessage(sqs_message_id, message.message_id, None)
    return outcome.SentMessage(sqs_message_id, message.message_id, message.execution_name)


def wait_for_rest(stack: Stack, expected: int = 0, *, quiet_seconds: float = QUIET_SECONDS) -> None:
    """Wait until no message is under way: each is done, refused, or waits for a decision.

    Args:
        stack: with its queues.
        expected: executions there may be, for the progress bar.
        quiet_seconds: longest wait for anything to move.

    Raises:
        Failed: nothing moved for too long.
    """
    last, since = None, time.monotonic()
    with console.progress("Acted on", expected) as bar:
        while True:
            started = time.monotonic()
            queued = sum(counts(stack.sqs, stack.requests_queue))
            running = records.execution_names(stack, "RUNNING")
            waiting = records.waiting(stack) if not queued and running else set()
            if not queued and running <= waiting:
                return
            now = (queued, frozenset(running))
            if now != last:
                last, since = now, time.monotonic()
            elif time.monotonic() - since > quiet_seconds:
                raise Failed(
                    f"Nothing has moved for {quiet_seconds:.0f} s: {queued} messages in "
                    f"RequestsQueue, {len(running - waiting)} executions under way, such as "
                    f"{min(running - waiting, default='none')}."
                )
            # What waits in the queue may be a duplicate, so the bar counts it as not acted on.
            bar.update(max(0, expected - len(running) - queued))
            # Polling may take long, and must leave time for the work itself.
            time.sleep(max(POLL_SECONDS, time.monotonic() - started))
