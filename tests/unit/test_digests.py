"""The chain of digests: whatever is changed, missing or put in shows, from its own hash on."""

import hashlib
import json
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest

from pipeline.audit.results.digests import (
    BrokenChain,
    Chain,
    chain_of,
    differences,
    following,
    has_expired,
)

DAY = date(2026, 1, 31)
Texts = dict[str, str]


def sealed(**files: str) -> dict[str, Any]:
    told = [{"path": path, "size": 1, "sha256": sha256} for path, sha256 in files.items()]
    return {"files": told, "verdicts": {"performed_once": 1}}


@pytest.fixture
def texts() -> Texts:
    """Of four digests: two days, and each of them again."""
    written: Texts = {}
    for number in range(4):
        days = {DAY + timedelta(days=number % 2): sealed(a="1", **{f"b{number}": "2"})}
        place, text, head = following(chain_of(written), "2026-02-02T00:00:00Z", "/r", days)
        assert place == f"digests/{number + 1:06}.json"
        written[place.removeprefix("digests/")] = text
        assert chain_of(written).head() == head
    return written


def test_a_chain_says_the_newest_of_each_day(texts: Texts) -> None:
    chain = chain_of(texts)
    assert chain.days == {
        DAY: (3, {"a": "1", "b2": "2"}),
        DAY + timedelta(days=1): (4, {"a": "1", "b3": "2"}),
    }
    assert chain.hashes == {
        number: hashlib.sha256(texts[f"{number:06}.json"].encode()).hexdigest()
        for number in range(1, 5)
    }
    assert (chain.records, Chain().head()) == ("/r", None)


def _edited(texts: Texts, which: int, /, **other: Any) -> None:
    name = f"{which:06}.json"
    texts[name] = json.dumps(json.loads(texts[name]) | other)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda texts: _edited(texts, 1, at="another"),
        lambda texts: _edited(texts, 3, days={}),
        lambda texts: texts.update({"000002.json": texts["000002.json"][:-9]}),
        lambda texts: texts.update({"000002.json": texts["000002.json"] + " "}),
        lambda texts: texts.pop("000003.json"),
        lambda texts: _edited(texts, 4, number=5),
        lambda texts: _edited(texts, 4, version=2),
        lambda texts: _edited(texts, 4, previous=None),
        lambda texts: _edited(texts, 1, previous="0" * 64),
        lambda texts: _edited(texts, 4, days={"2026-01-31": {"files": [7]}}),
        lambda texts: texts.update({"000004.json": ""}),
        lambda texts: texts.update({"000004.json": "[" * 100_000}),
        lambda texts: texts.update(
            {"000002.json": texts["000003.json"], "000003.json": texts["000002.json"]}
        ),
    ],
)
def test_what_does_not_fit_breaks_the_chain(texts: Texts, spoil: Callable[[Texts], None]) -> None:
    spoil(texts)
    with pytest.raises(BrokenChain, match=r"digests/00000\d\.json"):
        chain_of(texts)


def test_the_last_ones_are_held_by_their_hashes(texts: Texts) -> None:
    heads = [
        chain_of({name: texts[name] for name in list(texts)[:number]}).head() for number in range(5)
    ]
    for head in heads:
        chain_of(texts).check_has(head)  # also of none, and of one that others followed
    shortened = {name: texts[name] for name in list(texts)[:3]}
    with pytest.raises(BrokenChain, match="digests/"):
        chain_of(shortened).check_has(heads[4])
    for forged in ({"number": "4"}, "4", {}):
        with pytest.raises(BrokenChain):
            chain_of(texts).check_has(forged)
    _edited(texts, 4, days={})
    with pytest.raises(BrokenChain):
        chain_of(texts).check_has(heads[4])


def test_a_beginning_that_has_expired_is_missed_by_nobody(texts: Texts) -> None:
    last = {name: texts[name] for name in list(texts)[2:]}
    assert chain_of(last).days == chain_of(texts).days


def test_files_that_became_others() -> None:
    told, now = {"a": "1", "b": "2", "c": "3"}, {"a": "2", "b": "2", "d": "3"}
    assert differences(told, now) == {"a": "changed", "c": "removed", "d": "added"}
    assert differences({"a": "1", "b": "2"}, {"a": "2", "b": "1"}) == {
        "a": "changed",
        "b": "changed",
    }


@pytest.mark.parametrize(
    ("day", "there", "expired"),
    [
        (0, [1, 2], True),
        (1, [1, 2], False),
        (2, [1, 3], False),
        (1, [1, 31], True),
        (2, [1, 40], False),
        (1, [], False),
    ],
)
def test_only_at_the_old_end_a_day_expires(day: int, there: list[int], expired: bool) -> None:
    def named(number: int) -> date:
        return DAY + timedelta(days=number)

    assert has_expired(named(day), [named(one) for one in there]) is expired


DAYS = [DAY + timedelta(days=number) for number in range(4)]
JUDGED = {day: {f"{day}/a": "1", f"{day}/b": "2"} for day in DAYS[:3]}
MIDDLE = JUDGED[DAYS[1]]
A, B = MIDDLE


@pytest.mark.parametrize(
    ("now", "became"),
    [
        (JUDGED, {}),
        (JUDGED | {DAYS[3]: {"new": "1"}}, {}),
        (JUDGED | {DAYS[1]: MIDDLE | {"late": "3"}}, {"late": "added"}),
        (JUDGED | {DAYS[1]: MIDDLE | {A: "3"}}, {A: "changed"}),
        (JUDGED | {DAYS[1]: MIDDLE | {B: ""}}, {B: "changed"}),  # it cannot be read
        (JUDGED | {DAYS[1]: {A: "2", B: "1"}}, {A: "changed", B: "changed"}),
        (JUDGED | {DAYS[1]: {"c": "1"}}, {A: "removed", B: "removed", "c": "added"}),
        ({day: JUDGED[day] for day in (DAYS[0], DAYS[2])}, {A: "removed", B: "removed"}),
        ({day: JUDGED[day] for day in DAYS[1:3]}, dict.fromkeys(JUDGED[DAY], "expired")),
    ],
)
def test_what_became_of_each_file_of_a_judged_day(
    now: dict[date, dict[str, str]], became: dict[str, str]
) -> None:
    found = dict(Chain(days={day: (7, files) for day, files in JUDGED.items()}).compared(now, now))
    assert list(found) == DAYS[:3]
    assert {path: what for day in found for path, what in found[day].items()} == became
