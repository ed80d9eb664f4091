"""`actonce send`: a file's lines as messages."""

import contextlib
import io
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Annotated

import typer

from actonce.cli.options import Json, stack_options
from actonce.queues.folder import opened_folder
from actonce.queues.sending import (
    BYTE_ORDER_MARK,
    Accepted,
    Group,
    Line,
    LineResult,
    NoAnswer,
    NotSent,
    Sender,
    parse_group,
    read_lines,
    with_fifo_ids,
)
from actonce.queues.sent_record import Resumable, SentRecord
from actonce.stack.clients import Stack
from actonce.stack.endpoint import TargetOptions
from actonce.stack.message_ids import message_reader
from actonce.stack.target import find_stack
from actonce.terminal import output as console
from actonce.terminal.errors import Failed, UsageError
from actonce.terminal.words import pluralize
from actonce_core.delivery import Delivery
from actonce_core.message import MessageReader


@stack_options(asks=True)
def send(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="JSON Lines, a folder of them, or - for the input."),
    ],
    record: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the sent stream, for the audit, under DIR/sent/."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Do not send what an earlier run with --resume has recorded in DIR. Killed, say "
            "the same again.",
        ),
    ] = False,
    rate: Annotated[
        float | None,
        typer.Option(min=0.001, max=1_000_000, metavar="N", help="Messages a second, at most."),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            metavar="GROUP",
            help="For a FIFO queue: the message group, body:<JMESPath> or a text for all lines. "
            "The deduplication id is the body's SHA-256.",
        ),
    ] = None,
    *,
    at: TargetOptions,
    json: Json = False,
) -> None:
    """Send each line that is not blank as one message, verbatim.

    A message is a JSON object with its id where the stack's parameter MessageIdFrom says, by
    default {"message_id": "request-4711", ...}. What is none is sent as well, and refused by the
    stack: see actonce unstarted list.

    Lines that SQS does not take are named with their number and the reason, the others are sent,
    and the exit status is 1.

    Examples:

        actonce send requests.jsonl

        zcat requests.jsonl.gz | actonce send - --record records/ --json

        actonce send requests.jsonl --group body:practice

        actonce send 2016.backfill/messages --rate 50 --record 2016.backfill --resume
    """
    with _opened(file) as source, contextlib.ExitStack() as opened:
        stack = find_stack(at, changes=True)
        group_of = _group_of(stack, group)
        stream = None
        if record is not None:
            stream = _record(record, file, source if resume else None, stack)
            opened.callback(stream.close)
        elif resume:
            raise UsageError("--resume needs --record DIR, which says what was sent.")
        lines = read_lines(source)
        if group_of is not None:
            lines = with_fifo_ids(lines, group_of)
        if stream is not None:
            lines = (line for line in lines if not stream.has(line.number))
        started = time.monotonic()
        with console.progress("Sending") as bar:
            results = _Results(stream, bar)
            try:
                Sender(stack.sqs, stack.requests_queue, rate=rate).send_all(lines, results)
            except (OSError, NoAnswer, UsageError) as error:
                raise Failed(f"{results.until_stopped}: {error}.") from error
            except BaseException:
                console.err.print(f"{results.until_stopped}.")
                raise
    seconds = round(time.monotonic() - started, 3)
    before = 0 if stream is None else stream.confirmed
    total = results.sent + before + results.failed
    if json:
        summary = {
            "lines": total,
            "sent": results.sent,
            "already_sent": before,
            "failed": results.failed,
            "seconds": seconds,
        }
        console.print_json(summary)
    else:
        sentence = pluralize(results.sent, "message", "messages")
        already = f"; {before:,} were sent before" if before else ""
        console.out.print(f"Sent {sentence} in {seconds:.1f} s{already}")
    if results.failed:
        of = pluralize(total, "line", "lines")
        raise Failed(f"{results.failed:,} of {of} were not sent; the reason of each stands above.")


def _record(folder: Path, file: str, source: IO[bytes] | None, stack: Stack) -> SentRecord:
    """The record; one to go on from if the file is given, open at its beginning."""
    reader, resumed = message_reader(stack), None
    try:
        if source is not None:
            if file == "-" or not source.seekable():
                raise UsageError("--resume needs a file that can be read again.")
            _check_id(source, reader, stack)
            resumed = Resumable.of(Path(file), source, stack.requests_queue)
        return SentRecord(folder, file, reader, resumed)
    except OSError as error:
        raise UsageError(f"--record {folder}: {error.strerror or error}.") from error


def _check_id(source: IO[bytes], reader: MessageReader, stack: Stack) -> None:
    """Let the stack's rule read the first message's id, without what is new at each sending."""
    first = next((line for line in read_lines(source) if isinstance(line, Line)), None)
    if first and not reader.read(Delivery("", first.body, {}, {})).message_id:
        raise UsageError(
            f"The stack {stack.display_name!r} would read no id out of the body of line "
            f"{first.number}, so what a killed run had in flight would be acted on twice: see its "
            "parameter MessageIdFrom."
        )


def _group_of(stack: Stack, group: str | None) -> Group | None:
    if stack.is_fifo != (group is not None):
        raise UsageError(
            "The requests queue is a FIFO queue: say --group."
            if stack.is_fifo
            else "The requests queue is a standard queue: leave --group out."
        )
    try:
        return None if group is None else parse_group(group)
    except ValueError as error:
        raise UsageError(f"--group: {error}.") from error


class _Results:
    """Counts and records the results of lines; called from several threads."""

    def __init__(self, stream: SentRecord | None, bar: console.Bar) -> None:
        self.sent = 0
        self.failed = 0
        self.recorded = 0
        self._stream = stream
        self._bar = bar
        self._lock = threading.Lock()

    def __call__(self, results: Sequence[LineResult]) -> None:
        accepted = [one for one in results if isinstance(one, Accepted)]
        with self._lock:
            self.sent += len(accepted)  # SQS has them, whether they can be recorded or not
            for one in results:
                if isinstance(one, NotSent):
                    self.failed += 1
                    console.err.print(f"Line {one.number}: {one.reason}", markup=False)
            self._bar.update(self.sent + self.failed)
        if self._stream is not None and accepted:
            self._stream.append(accepted)
            with self._lock:
                self.recorded += len(accepted)

    @property
    def until_stopped(self) -> str:
        """How much was sent, for a run that was stopped."""
        missing = 0 if self._stream is None else self.sent - self.recorded
        not_recorded = (
            f", of which {missing:,} {'is' if missing == 1 else 'are'} not in the record (an audit "
            "says that `sent` lacks them)"
            if missing
            else ""
        )
        sent = pluralize(self.sent, "message was", "messages were")
        return f"Stopped after {sent} sent{not_recorded}"


@contextlib.contextmanager
def _opened(file: str) -> Iterator[IO[bytes]]:
    """The file, or the standard input, at its beginning.

    Raises:
        UsageError: it cannot be read; or it begins with a line that is a bracket alone, as JSON
            does that takes several lines, each of which would be a message.
    """
    try:
        source: IO[bytes] = (
            sys.stdin.buffer if file == "-"
            else opened_folder(Path(file)) if Path(file).is_dir()
            else Path(file).open("rb")  # noqa: SIM115
        )  # fmt: skip
        head = source.peek(1) if isinstance(source, io.BufferedReader) else b""
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from error
    with source:
        first = head.removeprefix(BYTE_ORDER_MARK).lstrip().partition(b"\n")[0].rstrip()
        if first in (b"{", b"["):
            raise UsageError(
                f"{'The input' if file == '-' else file} is JSON that takes several lines, and "
                "each line would be a message. Put each message on a line of its own, as jq -c . "
                "does, or for an array jq -c '.[]'."
            )
        yield source
