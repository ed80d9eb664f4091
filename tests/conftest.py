"""Which process runs what, and in which order: `make test` takes as long as its slowest process."""

import gc
import os
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from tests.support.snapshots import snapshot

__all__ = ["snapshot"]

# A machine whose time is not UTC's, nor apart from it by whole hours: whoever takes a time without
# a zone for that of the machine, or begins a day at its midnight, is seen. So is Java of this.
os.environ["TZ"] = "NST3:30"
time.tzset()

# A full collection walks the models of boto3 and moto, for half a second, and frees nothing.
gc.set_threshold(100_000, 50, 1000)

# No example is timed: how long one takes says something about the machine only.
settings.register_profile("actonce", deadline=None)
settings.load_profile("actonce")

OWN_EMBEDDED_AWS = (
    "audit_night|console_journeys|demo|deployed_between|gift_shop|lifecycle|"
    "readme|recorded_calls|shop_night|strategies"
)
"""Files of tests/embedded that bring up an embedded AWS of their own."""

ONE_PROCESS = {
    "one Spark": re.compile(r"tests/pipeline/(?!adversary/test_(killed|planted))"),
    "another Spark": re.compile(r"tests/pipeline/adversary/test_(killed|planted)"),
    "one embedded AWS": re.compile(rf"tests/embedded/test_(?!{OWN_EMBEDDED_AWS})"),
}
"""Files that share what is dear to start."""

SLOWEST_FIRST = (
    "pipeline/",
    "lab/conformance/test_page",
    "embedded/test_readme",
    "embedded/test_demo",
    "embedded/test_audit_night",
    "embedded/test_strategies",
    "embedded/test_hazards",
    "embedded/",
    "lab/conformance/test_spoiled",
    "lab/conformance/",
)
"""So that no process is left alone with them at the end."""


class _TogetherOrByFile(LoadFileScheduling):  # type: ignore[misc]
    def _split_scope(self, nodeid: str) -> str:
        together = (name for name, files in ONE_PROCESS.items() if files.match(nodeid))
        file: str = super()._split_scope(nodeid)
        return next(together, file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    return _TogetherOrByFile(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def rank(item: pytest.Item) -> int:
        path = item.path.as_posix()
        matching = (n for n, part in enumerate(SLOWEST_FIRST) if f"/tests/{part}" in path)
        return next(matching, len(SLOWEST_FIRST))

    items.sort(key=rank)  # stable: within a file nothing changes


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write the snapshots of texts anew")


def pytest_configure() -> None:
    # A shell without job control starts what is in the background with SIGINT ignored, and every
    # process would inherit that from here; tests send it to those that they start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    """What a test leaves in the environment, tests after it would lean on."""
    before = dict(os.environ)
    yield
    left = {name for name, _ in before.items() ^ os.environ.items()} - {"PYTEST_CURRENT_TEST"}
    assert not left, f"left in the environment: {sorted(left)}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was not tested here, a sentence each; a skipped test's reason says how to have it."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        _, _, reason = report.longrepr
        reasons[reason.removeprefix("Skipped: ")] += 1
    for reason, number in sorted(reasons.items()):
        terminalreporter.write_line(f"NOT TESTED ({number}): {reason}", yellow=True)
