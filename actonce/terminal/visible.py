"""What a person sees is what there is: codes in place of characters that act, hide or reorder.

Ids, bodies, reasons, causes, notes and file names are written by others. A terminal obeys the
controls in them; bidirectional characters turn a line around, and unseen ones make two ids look the
same. Whatever prints shows them as codes, through this module.
"""

import contextlib
import errno
import json
import os
import re
import sys
from collections.abc import Iterable
from typing import Any, TextIO, cast

# `str.isprintable` is false for controls, format characters, surrogates, separators and blanks but
# the space, private use and what is no character. These it takes for printable, and nobody sees.
# https://www.unicode.org/reports/tr44/#Default_Ignorable_Code_Point, and blank letters
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00016fe4\U0001d159\U000e0000-\U000e0fff]"
)
_SHORT_CODES = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def visible(text: str, keep: str = "") -> str:
    r"""The text, on one line, with a code in place of each character that is not seen as it is.

    A code is `\n`, `\r`, `\t`, `\uXXXX` or `\UXXXXXXXX`. Made visible again, the text stays as it
    is; for people, who are not to read it back: a backslash of the text's own looks the same.

    Args:
        text: anything, lone surrogates included.
        keep: characters that stay although they act, such as the line feeds of one's own lines.
    """
    if text.isprintable() and not _UNSEEN.search(text):
        return text
    return "".join(one if one in keep or _is_seen(one) else _code(one) for one in text)


def visible_whole(text: str) -> str:
    """The text as `visible` shows it, in quotes where it begins or ends with a blank.

    Without them nobody would see that `pay-1` and `pay-1 ` are two ids.
    """
    shown = visible(text)
    return f"'{shown}'" if shown != shown.strip(" ") else shown


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON for machines, on one line if there is no indent, that harms no terminal.

    Letters stay legible, and what `visible` would change is escaped as JSON does: parsed, it is the
    same value.
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    if text.isprintable() and not _UNSEEN.search(text):
        return text
    # Outside of strings there is nothing but ASCII and, with an indent, line feeds.
    return "".join(one if one == "\n" or _is_seen(one) else _json_escape(one) for one in text)


class OutputLost(OSError):
    """This process's output could not be written: a full disk."""


class _ErrorReportingStream:
    """A stream whose errors are told apart from those of other files.

    That its reader has gone, as `head -1` does when it has its line, is no error: what is still to
    be written goes nowhere, and what was begun comes to its end and has its own exit status.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError as error:
            self._lost(error)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            self._lost(error)

    def _lost(self, error: OSError) -> None:
        if error.errno != errno.EPIPE:
            raise OutputLost(error.errno, error.strerror) from error
        give_up_output(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class EscapingStream:
    """A text stream that is written codes; line feeds and tabs stay.

    For what prints past the consoles: an argument parser's errors, tracebacks, warnings. It has no
    `buffer`, which would be a way around it. Rich writes its own colours past it, by this name.
    """

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = _ErrorReportingStream(stream)

    def write(self, text: str) -> int:
        """Write a text; the answer counts its own characters."""
        self.rich_proxied_file.write(visible(text, keep="\n\t"))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts one after the other."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":
            raise AttributeError(name)
        return getattr(self.rich_proxied_file, name)


def guard_standard_streams() -> None:
    """Guard this process's output and errors, once."""
    if not isinstance(sys.stdout, EscapingStream):
        sys.stdout = cast("TextIO", EscapingStream(sys.stdout))
    if not isinstance(sys.stderr, EscapingStream):
        sys.stderr = cast("TextIO", EscapingStream(sys.stderr))


def give_up_output(stream: TextIO | None = None) -> None:
    """What is still to be written to a stream goes nowhere.

    For after a write that failed: the interpreter would try again at its end, and end with a status
    of its own.

    Args:
        stream: None: standard output.
    """
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, (stream or sys.stdout).fileno())
        os.close(nowhere)


def _is_seen(one: str) -> bool:
    return one.isprintable() and not _UNSEEN.match(one)


def _code(one: str) -> str:
    number = ord(one)
    return _SHORT_CODES.get(one) or (f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}")


def _json_escape(one: str) -> str:
    # ensure_ascii knows surrogate pairs, but not that DEL is a control
    return json.dumps(one)[1:-1] if ord(one) > 0x7F else f"\\u{ord(one):04x}"
