"""`pytest --cpu-table`: the CPU seconds of each file, and where the tests' time goes.

Counted are the process that runs the tests and every process that it waited for, so a JVM or an
embedded AWS counts for the file in which it ended.
"""

import resource
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

_CPU = "cpu seconds"


def _cpu() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


class CpuTable:
    """Measures in whichever process runs a test; adds up where the reports arrive."""

    def __init__(self) -> None:
        self._cpu: defaultdict[str, float] = defaultdict(float)
        self._wall: defaultdict[str, float] = defaultdict(float)
        self._last = _cpu()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        now = _cpu()
        item.user_properties.append((_CPU, now - self._last))
        self._last = now
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        file = report.nodeid.partition("::")[0]
        self._wall[file] += report.duration
        if report.when == "teardown":
            self._cpu[file] += sum(
                float(str(value)) for name, value in report.user_properties if name == _CPU
            )

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        say = terminalreporter.write_line
        say(f"{'CPU s':>8} {'wall s':>8}")
        for file, cpu in sorted(self._cpu.items(), key=lambda item: -item[1]):
            say(f"{cpu:8.1f} {self._wall[file]:8.1f} {file}")
        say(f"{sum(self._cpu.values()):8.1f} {sum(self._wall.values()):8.1f} in all")
