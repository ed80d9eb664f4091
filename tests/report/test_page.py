import re
from datetime import timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actonce.records.report import wording, write
from actonce.records.report.page import html
from pipeline.visible import visible
from tests.report import summaries
from tests.report.elements import Elements

every_summary = pytest.mark.parametrize("name", summaries.ALL)


@cache
def text_of(name: str) -> str:
    return html(summaries.ALL[name]())


@cache
def parsed(name: str) -> Elements:
    return Elements(text_of(name))


def flat(text: str) -> str:
    return " ".join(text.split())


def section(elements: Elements, name: str) -> str:
    return flat(elements.by_id(name).text)


@every_summary
def test_the_page_is_well_formed_and_asks_the_network_for_nothing(name: str) -> None:
    elements = parsed(name)
    tags = {element.tag for element in elements.all}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    for element in elements.all:
        for attribute in ("src", "href", "xlink:href", "action", "data", "srcset", "poster"):
            assert element.attributes.get(attribute, "#").startswith("#")
        assert not [name for name in element.attributes if name.startswith("on")]
        assert "//" not in element.attributes.get("style", "")
    [style] = elements.by_tag("style")
    assert "url(" not in style.text
    assert "@import" not in style.text
    policies = [m for m in elements.by_tag("meta") if "http-equiv" in m.attributes]
    assert [p.attributes["content"] for p in policies] == [
        "default-src 'none'; style-src 'unsafe-inline'"
    ]


@every_summary
def test_ids_are_unique_and_every_reference_leads_somewhere(name: str) -> None:
    elements = parsed(name)
    ids = [e.attributes["id"] for e in elements.all if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    links = {e.attributes["href"][1:] for e in elements.all if "href" in e.attributes}
    assert links <= set(ids)


@every_summary
def test_the_answer_is_on_top_in_words_and_not_by_colour_alone(name: str) -> None:
    summary = summaries.ALL[name]()
    elements = parsed(name)
    [heading] = elements.by_tag("h1")
    judged = {0: "good", 3: "unsure", 4: "unsure"}.get(summary["exit_status"], "bad")
    mark = {"good": "✓", "unsure": "?", "bad": "✗"}[judged]
    assert flat(heading.text) == f"{mark} {summary['sentence']}"
    assert mark in elements.by_tag("title")[0].text
    [header] = elements.by_tag("header")
    assert header.classes == {judged}


def test_the_same_summary_gives_the_same_page() -> None:
    assert html(summaries.ninety_days()) == text_of("ninety_days")


def test_every_verdict_and_total_is_on_the_page() -> None:
    summary = summaries.alarms_of_each_kind()
    elements = parsed("alarms_of_each_kind")
    rows = [
        flat(row.text)
        for row in elements.by_tag("tr")
        if any(parent.attributes.get("id") == "verdicts" for parent in row.inside)
    ]
    for verdict, (words, role) in wording.VERDICTS.items():
        [row] = [row for row in rows if row.startswith(f"{wording.MARKS[role]} {words}")]
        assert row.endswith(str(summary["verdicts"][verdict]))
    totals = section(elements, "totals")
    for text in ("sent 240", "deliveries 265", "suppressed 60", "refused 3", "1 malformed"):
        assert text in totals


def test_the_first_alarms_are_open_and_each_tells_its_story_in_order() -> None:
    elements = parsed("alarms_of_each_kind")
    alarms = [e for e in elements.by_tag("details") if "alarm" in e.classes]
    assert ["open" in alarm.attributes for alarm in alarms] == [True, True, True, False]
    first = flat(alarms[0].text)
    story = ["performed again", "request-17", "+0 ms", "started", "slot 4", "slot 5", "+1 d"]
    places = [first.index(text) for text in story]
    assert places == sorted(places)


def test_more_alarms_than_the_summary_lists_are_said_to_exist() -> None:
    elements = parsed("thousand_alarms")
    assert len([e for e in elements.by_tag("details") if "alarm" in e.classes]) == 1000
    assert "The first 1,000 of 4,200 are here" in section(elements, "alarms")


def test_what_nobody_recorded_is_not_called_nought() -> None:
    elements = parsed("effects_only")
    totals = section(elements, "totals")
    for name in ("sent", "deliveries", "started", "suppressed", "failed", "refused", "executions"):
        assert f"{name} – not recorded" in totals
    assert "Not known" in section(elements, "gaps")
    for sentence in summaries.effects_only()["cannot_judge"]:
        assert sentence in section(elements, "cannot-judge")


def test_quarantined_lines_are_counted_by_reason_with_examples() -> None:
    text = section(parsed("with_quarantine"), "quarantine")
    assert "3 lines could not be read" in text
    assert "not JSON 2" in text
    assert "part-0000-2f0b7c50-1cde.jsonl.gz 17 not JSON: ends in the middle" in text


def test_a_day_that_cannot_be_judged_is_marked() -> None:
    elements = parsed("ninety_days")
    marked = [flat(e.text) for e in elements.by_tag("th") if "?" in e.text]
    assert marked == ["2026-03-05 ?", "2026-03-06 ?"]
    [day] = [e for e in elements.by_tag("tr") if flat(e.text).startswith("2026-02-10")]
    assert "✗ 1" in flat(day.text)


def test_without_duplicates_there_is_a_sentence_instead_of_an_empty_table() -> None:
    assert "No message was delivered twice." in section(parsed("empty_gaps"), "gaps")


def test_a_bar_is_as_long_as_its_count_s_part_and_one_among_millions_is_seen() -> None:
    elements = parsed("ninety_days")
    [row] = [row for row in elements.by_tag("tr") if "performed again" in row.text]
    [bar] = [bar for bar in elements.by_class("bar") if row in bar.inside]
    assert bar.attributes["style"] == "width: 0.5%"
    of_days = [
        bar for bar in elements.by_class("bar") if any("days" in one.classes for one in bar.inside)
    ]
    assert "width: 100.0%" in {bar.attributes["style"] for bar in of_days}


def test_transient_failures_are_told_apart_from_bad_messages() -> None:
    summary = summaries.alarms_of_each_kind()
    summary["asked_for"] = {"not_performed": 1300, "throttled": 12, "rounds_used_up": 3}
    summary["asked_for"] |= {"rejected": 2}
    elements = Elements(html(summary))
    heads = [e for e in elements.by_tag("tr") if "head" in e.classes]
    assert [flat(head.text) for head in heads] == [
        "Transient failures that passed",
        "Transient failures that outlasted the retry deadline",
        "Transient failures, or the message",
        "Bad messages",
    ]
    told = section(elements, "asked-for")
    places = [
        told.index(head)
        for head in (*(flat(head.text) for head in heads), "Transient failures are")
    ]
    parts = [told[begin:end] for begin, end in pairwise(places)]
    for part, said in zip(
        parts,
        (
            ["deliveries given back", " 6"],
            ["not performed", " 1,300", "throttled", " 12"],
            ["rounds used up", " 3"],
            ["rejected", " 2", "refused: malformed", "refused: conflict"],
        ),
        strict=True,
    ):
        assert [text for text in said if text not in part] == []


def test_without_dead_letters_it_says_which_of_none_and_not_recorded_it_is() -> None:
    quiet = summaries.all_good() | {"asked_for": {}}
    assert "None: nothing was given back" in section(Elements(html(quiet)), "asked-for")
    assert "no dead letters are recorded" in section(parsed("effects_only"), "asked-for")


def test_whatever_somebody_outside_wrote_is_text() -> None:
    page, elements = text_of("hostile"), parsed("hostile")
    shown = [flat(e.text) for e in elements.by_tag("bdi")]
    assert summaries.HOSTILE_IDS[0] in shown
    assert summaries.HOSTILE_IDS[1] in shown
    assert summaries.HOSTILE_IDS[2] in shown
    assert summaries.HOSTILE_IDS[3] in shown  # 2,048 characters, whole
    assert "(empty message id)" in shown
    for unseen in ("\x00", "\u202e", "\u200b", "\ud800"):
        assert unseen not in page
    assert "\\u202e" in page
    assert not [e for e in elements.all if e.tag in {"b", "c"} and "time" in e.text]


@settings(max_examples=40)
@given(text=st.text(alphabet=st.characters(), max_size=60))
def test_any_message_id_is_shown_whole_and_changes_nothing_else(text: str) -> None:
    summary = summaries.nothing_at_all() | {"alarms_total": 1}

    def page(message_id: str) -> Elements:
        summary["alarms"] = [summaries.alarm(message_id, "lost")]
        content = html(summary)
        content.encode("utf-8")
        return Elements(content)

    hostile, harmless = page(text), page("request-1")
    assert [e.tag for e in hostile.all] == [e.tag for e in harmless.all]
    [shown] = hostile.by_tag("bdi")
    # An HTML parser reads a carriage return as a line feed; nothing else may differ.
    assert shown.text == (visible(text, keep="\n\t") or "(empty message id)")


def test_a_summary_of_another_version_is_refused_with_what_to_do(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    with pytest.raises(ValueError, match=r"version 2, and this page is for version 1: run the"):
        write(summaries.all_good() | {"version": 2}, page)
    assert list(tmp_path.iterdir()) == []


def test_a_summary_without_one_of_its_keys_is_refused_in_a_sentence() -> None:
    refused = set()
    for key in summaries.all_good():
        summary = summaries.all_good()
        del summary[key]
        try:
            html(summary)
        except ValueError:  # and nothing else
            refused.add(key)
    assert refused >= {"version", "verdicts", "totals", "days", "gaps", "latency", "quarantine"}


def test_of_an_audit_that_did_not_end_its_own_sentence_is_told() -> None:
    with pytest.raises(ValueError, match="has not come to its end"):
        html({"version": 1, "sentence": "The audit has not come to its end.", "exit_status": 2})


def test_the_page_says_when_it_was_judged_and_of_what() -> None:
    page = html(summaries.all_good() | {"records": "s3://bucket/"})
    assert "<code>s3://bucket/</code>" in page
    assert str(summaries.all_good()["generated_at"]) in page


def test_a_page_that_cannot_be_put_in_place_leaves_nothing_half_written(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with pytest.raises(OSError, match=r"report\.html"):
        write(summaries.empty_gaps(), tmp_path / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_new_page_takes_the_place_of_the_old(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    write(summaries.all_good(), page)
    write(summaries.alarms_of_each_kind(), page)
    assert page.read_text("utf-8") == text_of("alarms_of_each_kind")
    assert page.stat().st_mode & 0o777 == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "100 %"),
        (0.99999, "99.9 %"),
        (0.29, "29 %"),
        (0.00001, "< 0.1 %"),
        (0.0, "0 %"),
        (None, "–"),
    ],
)
def test_a_share_is_never_rounded_up_to_all_nor_down_to_none(
    value: float | None, text: str
) -> None:
    assert wording.share(value) == text


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (999.7, "999 ms"),
        (1000, "1 s"),
        (59_999, "59.9 s"),
        (60_000, "1 min"),
        (3_599_000, "59 min 59 s"),
        (3_660_000, "1 h 1 min"),
        (90_000_000, "1 d 1 h"),
        (None, "–"),
    ],
)
def test_a_duration_is_said_in_its_two_largest_units(milliseconds: float | None, text: str) -> None:
    assert wording.duration(milliseconds) == text


def test_an_event_before_the_first_has_a_minus() -> None:
    assert wording.since(timedelta(seconds=-2)) == "−2 s"


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_texts_and_bars_stand_out_as_wcag_asks(scheme: int) -> None:
    css = (Path(wording.__file__).parent / "page.css").read_text("utf-8")
    colours: dict[str, Any] = dict(
        re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", css.split(":root {")[1 + scheme])
    )
    text = [("ink", b) for b in ("paper", "raised", "good-back", "alarm-back")]
    text += [("muted", "paper"), ("muted", "raised"), ("alarm", "paper"), ("alarm", "alarm-back")]
    for front, back in text:
        assert contrast(colours[front], colours[back]) >= 4.5, (front, back)
    for role in ("good", "waiting", "alarm", "repeated"):
        assert contrast(colours[role], colours["paper"]) >= 3, role


@pytest.mark.parametrize("status", range(5))
def test_the_sentence_is_marked_as_the_command_marks_it(status: int) -> None:
    page = html(summaries.all_good() | {"exit_status": status})
    assert re.findall(r'<h1><span class="mark"[^>]*>(.)</span>', page) == ["✓✗✗??"[status]]


def test_the_ids_of_those_who_wait_are_on_the_page_where_they_are_few() -> None:
    page = html(summaries.all_good() | {"listed": {"awaiting_decision": ["m-1", "<b>"]}})
    assert '<li class="id"><bdi>m-1</bdi></li>' in page
    assert '<li class="id"><bdi>&lt;b&gt;</bdi></li>' in page
    assert '<details class="listed">' not in html(summaries.all_good())
