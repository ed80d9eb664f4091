"""What a person sees: results on standard output, everything else on standard error.

Rich leaves out colours where there is no terminal or where `NO_COLOR` is set.

Whatever is printed here was written by others in part. Rich reads no markup, names of pictures or
links in it, and `SafeConsole` shows as codes what a terminal would obey or nobody would see.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.segment import Segment
from rich.text import Text

from actonce.terminal.errors import Failed, UsageError
from actonce.terminal.visible import json_text, visible


class SafeConsole(Console):
    """A console on which no text acts: it prints a `str` as one line, as `visible` shows it.

    Print several lines as a `Table`, or one by one. A control that comes by another way is shown as
    a code, too.
    """

    def __init__(self, *, stderr: bool = False, width: int | None = None) -> None:
        super().__init__(
            stderr=stderr,
            width=width,
            highlight=False,
            soft_wrap=width is None,
            markup=False,
            emoji=False,
        )

    # Any: Rich's keywords, handed on.
    def render_str(self, text: str, **options: Any) -> Text:
        """Rich calls this for every `str` before it measures its width."""
        return super().render_str(visible(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Rich calls this for everything it prints, with colours and cursor still apart."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(visible(segment.text, keep="\n"), segment.style)


out = SafeConsole()
err = SafeConsole(stderr=True)


def say(text: str) -> None:
    """Say what is being done."""
    err.print(text, style="dim")


def say_warning(text: str) -> None:
    """Say what may be wrong while the command goes on."""
    err.print(f"actonce: {text}", style="yellow")


def say_failed(text: str) -> None:
    """Say what failed."""
    for line in _set_in(f"actonce: {text}"):
        err.print(line, style="red")


def print_lines(text: str) -> None:
    """Print a text of several lines."""
    for line in _set_in(text):
        out.print(line)


def _set_in(text: str) -> Iterator[str]:
    """The lines, those after the first set in, so that none can pass for a line of ours."""
    first, *others = text.split("\n")
    yield first
    yield from (f"  {line}" for line in others)


def print_json(value: Any) -> None:
    """Print one JSON object for machines, on one line, at once."""
    sys.stdout.write(json_text(value) + "\n")
    sys.stdout.flush()


def ask(question: str) -> bool | None:
    """Ask the person at the terminal, also where input and output are files or pipes.

    Returns:
        True only for a yes; None: there is no terminal, as in a job of cron's.
    """
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return None
    try:
        os.write(terminal, f"{visible(question)} [y/N] ".encode())
        return os.read(terminal, 100).strip().lower() in (b"y", b"yes")
    finally:
        os.close(terminal)


def agree(question: str, otherwise: str) -> None:
    """Go on only if a person says yes.

    Args:
        question: to the person at the terminal.
        otherwise: the message where there is no terminal.

    Raises:
        UsageError: there is no terminal.
        Failed: the answer was not yes.
    """
    answer = ask(question)
    if answer is None:
        raise UsageError(otherwise)
    if not answer:
        raise Failed("Nothing was done.")


class Bar:
    """A progress bar on a terminal; elsewhere nothing is shown."""

    def __init__(self, bars: Progress, text: str, total: int | None) -> None:
        self._bars = bars
        self._task = bars.add_task(text, total=total)

    def update(self, done: int, total: int | None = None) -> None:
        """Show progress."""
        self._bars.update(self._task, completed=done, total=total)


@contextmanager
def progress(text: str, total: int | None = None) -> Iterator[Bar]:
    """Show progress while the context is open.

    Args:
        text: not escaped.
        total: None: unknown.
    """
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    # Unless told not to, it reads what others print for colours and links.
    with Progress(
        *columns,
        console=err,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        disable=not err.is_terminal,
    ) as bars:
        yield Bar(bars, text, total)
