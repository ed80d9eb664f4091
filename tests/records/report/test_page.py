import re
from functools import cache
from pathlib import Path
from unittest.mock import Mock

import pytest

from actonce.records.report import page
from actonce.records.report.page import html, write
from actonce.terminal.visible import visible
from actonce_pipeline.audit.judging import verdict_names
from tests.records.report import summaries
from tests.records.report.elements import Element, Elements
from tests.support.pages import words
from tests.support.snapshots import Snapshot


@cache
def parsed(name: str) -> Elements:
    return Elements(html(summaries.ALL[name]()))


def flat(text: str) -> str:
    return " ".join(text.split())


def bars(elements: Elements) -> list[Element]:
    return [element for element in elements.all if "bar" in element.classes]


def test_each_verdict_has_its_meaning_and_each_alarm_its_colour() -> None:
    assert set().union(*page.CLASSES.values()) == verdict_names.VERDICTS.keys()
    assert set(page.CLASSES["alarm"]) == verdict_names.ALARMS.keys()


@pytest.mark.parametrize("name", summaries.ALL)
def test_the_page_is_well_formed_asks_the_network_for_nothing_and_answers_on_top(
    name: str,
) -> None:
    elements, summary = parsed(name), summaries.ALL[name]()
    tags = {element.tag for element in elements.all}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    for element in elements.all:
        for attribute in ("src", "href", "xlink:href", "action", "data", "srcset", "poster"):
            assert element.attributes.get(attribute, "#").startswith("#")
        assert not [name for name in element.attributes if name.startswith("on")]
        assert "//" not in element.attributes.get("style", "")
    [style] = elements.by_tag("style")
    assert not re.search(r"url\(|@import", style.text)
    [policy] = [m for m in elements.by_tag("meta") if "http-equiv" in m.attributes]
    assert policy.attributes["content"] == "default-src 'none'; style-src 'unsafe-inline'"

    ids = [e.attributes["id"] for e in elements.all if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    links = {e.attributes["href"][1:] for e in elements.all if "href" in e.attributes}
    assert links <= set(ids)

    verdict, mark = {0: ("good", "✓"), 3: ("unsure", "?"), 4: ("unsure", "?")}.get(
        summary["exit_status"], ("bad", "✗")
    )
    [heading] = elements.by_tag("h1")
    assert flat(heading.text) == f"{mark} {flat(visible(summary['sentence']))}"
    assert mark in elements.by_tag("title")[0].text
    [header] = elements.by_tag("header")
    assert header.classes == {verdict}


def test_what_the_pages_say_is_as_reviewed(snapshot: Snapshot) -> None:
    pages = {name: summaries.read(name) for name in ("alarms_of_each_kind", "effects_only")}
    lines = []
    for name, summary in pages.items():
        lines += [f"# {name}\n\n", *(f"    {one}\n" for one in words(html(summary)))]
    snapshot("pages.txt", "".join(lines))


def test_of_many_days_each_is_seen_and_one_that_cannot_be_judged_is_marked() -> None:
    elements = parsed("ninety_days")
    marked = [flat(e.text) for e in elements.by_tag("th") if "?" in e.text]
    assert marked == ["2026-03-05 ?", "2026-03-06 ?"]
    [day] = [e for e in elements.by_tag("tr") if flat(e.text).startswith("2026-02-10")]
    assert "✗ 1" in flat(day.text)
    # One among millions is seen, too.
    [row] = [row for row in elements.by_tag("tr") if "performed again" in row.text]
    [bar] = [bar for bar in bars(elements) if row in bar.inside]
    assert bar.attributes["style"] == "width: 0.5%"
    of_days = [bar for bar in bars(elements) if any("days" in one.classes for one in bar.inside)]
    assert "width: 100.0%" in {bar.attributes["style"] for bar in of_days}


def test_what_changes_no_answer_is_told_beside_it() -> None:
    sentence = "Items of the effects table without sent <at>, which are not counted as effects: 2."
    assert sentence in words(html(summaries.all_good() | {"notes": [sentence]}))


def test_whatever_somebody_outside_wrote_is_text() -> None:
    page, elements = html(summaries.hostile()), parsed("hostile")
    shown = [flat(e.text) for e in elements.by_tag("bdi")]
    assert {*summaries.HOSTILE_IDS[:4], "(empty message id)"} <= set(shown)
    for unseen in ("\x00", "\u202e", "\u200b", "\ud800"):
        assert unseen not in page
    assert "\\u202e" in page
    assert not [e for e in elements.all if e.tag in {"b", "c"} and "time" in e.text]


def test_what_is_no_summary_of_an_audit_that_ended_is_refused_in_a_sentence() -> None:
    with pytest.raises(ValueError, match=r"version 1, and this page is for version 2: run the"):
        html(summaries.all_good() | {"version": 1})
    with pytest.raises(ValueError, match="has not come to its end"):
        html({"version": 2, "sentence": "The audit has not come to its end.", "exit_status": 2})
    refused = set()
    for key in summaries.all_good():
        summary = summaries.all_good()
        del summary[key]
        try:
            html(summary)
        except ValueError:  # and nothing else
            refused.add(key)
    assert refused >= {"version", "verdicts", "totals", "days", "quarantine"}


def test_a_new_page_takes_the_place_of_the_old_or_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "report.html"
    write(summaries.all_good(), page)
    write(summaries.alarms_of_each_kind(), page)
    assert page.read_text("utf-8") == html(summaries.alarms_of_each_kind())
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            write(summaries.all_good(), page)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
