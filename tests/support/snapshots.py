"""Texts that are reviewed and kept: what a command or a page says, in a file beside its test."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from actonce.stack.stack_files import version

Snapshot = Callable[[str, str], None]

CHANGING = (
    (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{11}\b", "<an id cut short>"),
    (r"\b[0-9a-f]{8}\b(?!-)", "<letter>"),
    (r"(?!2026-01|1970)20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?", "<now>"),
    (r"(?!2026-01|2024-01)20\d\d-\d\d-\d\d\b", "<a day>"),
    (r"\b20\d{6}T\d{12}Z", "<now>"),
    (r'"seconds": [\d.]+', '"seconds": N'),
    (r"\b\d+(\.\d+)? (s|ms|min|h)\b", r"N \2"),
)
"""What comes of the clock and of chance, and its name in a snapshot."""


def with_names(text: str, folder: Path, ids: dict[str, str] | None = None) -> str:
    """The text with a name for whatever another run has otherwise.

    Args:
        text: of a command or of a page.
        folder: of the test.
        ids: names of SQS's ids, numbered as they come; those of this text are added.
    """
    ids = {} if ids is None else ids
    for one in re.findall(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", text):
        ids.setdefault(one, f"<sqs-id-{len(ids) + 1}>")
    for one, name in ids.items():
        text = text.replace(one, name)
    text = text.replace(str(folder), "<folder>").replace(version(), "<version>")
    for pattern, name in CHANGING:
        text = re.sub(pattern, name, text)
    return text


def compare(request: pytest.FixtureRequest, name: str, text: str) -> None:
    """Holds a text against a file beside the test's; `pytest --update` writes it anew."""
    file = request.path.parent / name
    if request.config.getoption("--update"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
    assert text == file.read_text("utf-8"), "pytest --update writes it anew"


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Snapshot:
    """Holds a text against the file of that name in `snapshots/`, beside the test's file."""
    return lambda name, text: compare(request, f"snapshots/{name}", text)
