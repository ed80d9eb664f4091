"""Texts that are reviewed and kept: what a command or a page says, in a file beside its test."""

from collections.abc import Callable

import pytest

Snapshot = Callable[[str, str], None]


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Snapshot:
    """Holds a text against the file of that name in `snapshots/`, beside the test's file.

    `pytest --update` writes the file; what that changes, `git diff` shows.
    """

    def hold(name: str, text: str) -> None:
        file = request.path.parent / "snapshots" / name
        if request.config.getoption("--update"):
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, "utf-8")
        assert text == file.read_text("utf-8"), "pytest --update writes it anew"

    return hold
