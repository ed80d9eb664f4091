"""What a person sees: results on standard output, everything else on standard error.

Rich leaves out colours where there is no terminal or where `NO_COLOR` is set.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def say(text: str) -> None:
    """Tell a person what is being done."""
    err.print(text, style="dim", markup=False)


def print_json(value: Any) -> None:
    """Print one JSON object for machines, on one line."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


class Bar(Protocol):
    """A progress bar, or what stands in for it."""

    def update(self, done: int, total: int | None = None, text: str | None = None) -> None:
        """Say how far it is."""


@contextmanager
def progress(text: str, total: int | None = None) -> Iterator[Bar]:
    """A progress bar on a terminal; elsewhere a plain line at every tenth of the way."""
    if not err.is_terminal:
        yield _Lines(text, total)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err, transient=True) as bars:
        yield _Rich(bars, text, total)


class _Rich:
    def __init__(self, bars: Progress, text: str, total: int | None) -> None:
        self._bars = bars
        self._task = bars.add_task(text, total=total)

    def update(self, done: int, total: int | None = None, text: str | None = None) -> None:
        self._bars.update(self._task, completed=done, total=total, description=text)


class _Lines:
    def __init__(self, text: str, total: int | None) -> None:
        self._text, self._total, self._tenth = text, total, -1

    def update(self, done: int, total: int | None = None, text: str | None = None) -> None:
        self._text, self._total = text or self._text, total or self._total
        tenth = done * 10 // self._total if self._total else done // 100
        if tenth > self._tenth:
            self._tenth = tenth
            of_total = f" of {self._total}" if self._total else ""
            err.print(f"{self._text}: {done}{of_total}", markup=False)
