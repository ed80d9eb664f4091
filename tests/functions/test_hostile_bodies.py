"""Bodies that are made to exhaust the starter, given to a real one with its function's memory."""

import json
from collections.abc import Iterator

import pytest

from tests.support.limited_starter import (
    LARGEST_EVENT,
    MEMORY_SIZE,
    LimitedStarter,
    limited_starter,
)

pytestmark = pytest.mark.long

MOST_MB = 0.6 * MEMORY_SIZE / 1024**2
# Lambda gives a function CPU by its memory, one whole vCPU at 1,769 MB ("Configure Lambda function
# memory", AWS Lambda Developer Guide): half of what 30 s of it, the function's time-out, are.
MOST_CPU_MS = 0.5 * 30_000 * MEMORY_SIZE / 1024**2 / 1769
STARTABLE = 261_000 - 50
"""Bytes of a body that can still be started."""

LARGEST = 1024 * 1024 - 2048
"""Bytes of the largest body that SQS carries and beside which a reason finds room."""


IN_ARRAY = '{"message_id":"m","a":['
SHAPES = {
    "one text": ('{"message_id":"m","a":"', "x", '"}'),
    "escapes": ('{"message_id":"m","a":"', "\\u00e9", '"}'),
    "backslashes": ('{"message_id":"m","a":"', "\\\\", '"}'),
    "blanks": ('{"message_id":"m"}', " ", ""),
    "quotes": ("", '"', ""),
    "arrays never closed": ("", "[", ""),
    "one integer": ('{"a":', "9", "}"),
    "one fraction": ('{"a":0.', "1", "}"),
    "names": ('{"message_id":"m",', '"#":0,', '"":0}'),
    "arrays in arrays": (IN_ARRAY, "[[[[[]]]]],", "0]}"),
    "arrays, 90 deep": (IN_ARRAY, "[" * 90 + "]" * 90 + ",", "0]}"),
    "empty objects": (IN_ARRAY, "{},", "0]}"),
    "objects": (IN_ARRAY, '{"":0},', "0]}"),
    "texts": (IN_ARRAY, '"",', "0]}"),
    "integers": (IN_ARRAY, "1,", "0]}"),
    "integers of 300 digits": (IN_ARRAY, "9" * 300 + ",", "0]}"),
    "integers of 10,000 digits": (IN_ARRAY, "9" * 10_000 + ",", "0]}"),
    "fractions of 17 digits": (IN_ARRAY, "0.10000000000000001,", "0]}"),
    "exponents near zero": (IN_ARRAY, "3e-308,", "0]}"),
}
"""How a body begins, what it repeats (`#`: a number of its own each time), and how it ends."""


def of_shape(name: str, size: int) -> str:
    """A body of a shape that is about so large, in bytes."""
    start, unit, end = SHAPES[name]
    times = (size - len(start) - len(end)) // (len(unit) + 4 * unit.count("#"))
    return start + "".join(unit.replace("#", f"{n:05x}") for n in range(times)) + end


NEIGHBOUR = json.dumps({"message_id": "neighbour", "practice": "main"})


@pytest.fixture(scope="module")
def starter() -> Iterator[LimitedStarter]:
    with limited_starter() as running:
        yield running


def harmless(starter: LimitedStarter, bodies: list[str]) -> None:
    """Every delivery was started or handed on, within the process's memory and time."""
    handled = starter.handle([*bodies, NEIGHBOUR])
    assert handled.answer == {"batchItemFailures": []}
    assert handled.peak_mb <= MOST_MB
    assert handled.cpu_ms <= MOST_CPU_MS


@pytest.mark.parametrize("size", [STARTABLE, LARGEST])
@pytest.mark.parametrize("name", SHAPES)
def test_no_batch_of_a_hostile_shape_takes_three_fifths_of_the_memory_or_half_of_the_time(
    starter: LimitedStarter, name: str, size: int
) -> None:
    harmless(starter, [of_shape(name, size)] * min(9, LARGEST_EVENT // size))
