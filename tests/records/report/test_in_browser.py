"""The page as a person sees it: in Chromium, on a screen, a phone, at night and on paper."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from actonce.records.report.page import write
from tests.records.report import summaries
from tests.support.browser import Browser, browser_or_skip

SCREEN = 1100


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from browser_or_skip("the audit's page in a browser")


def written(folder: Path, name: str) -> Path:
    page = folder / f"{name}.html"
    write(summaries.ALL[name](), page)
    return page


@pytest.mark.parametrize("name", ["hostile", "ninety_days"])
def test_the_page_opens_alone_its_answer_is_seen_and_nothing_is_wider_than_the_window(
    browser: Browser, tmp_path: Path, name: str
) -> None:
    summary, file = summaries.ALL[name](), written(tmp_path, name)
    for width in (320, SCREEN):
        with browser.page(file, width=width) as page:
            assert page.requests == [file.as_uri()]
            assert page.complaints == []
            assert "taken over" not in page.evaluate("document.title")
            sentence = page.evaluate("document.querySelector('#sentence').textContent")
            assert sentence == summary["sentence"]
            alarms = page.evaluate("document.querySelectorAll('details.alarm').length")
            assert alarms == len(summary["alarms"])
            top = page.evaluate("document.querySelector('h1').getBoundingClientRect().bottom")
            assert 0 < top < (300 if width == SCREEN else 600)
            page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
            inner, outer = page.evaluate(
                "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
            )
            assert inner <= outer <= width
            cut = page.evaluate(
                "[...document.querySelectorAll('td, th, b')]"
                ".filter(e => e.getBoundingClientRect().right > window.innerWidth + 1)"
                ".map(e => e.textContent)"
            )
            assert cut == []


def test_on_paper_the_days_are_there_though_nobody_can_click(
    browser: Browser, tmp_path: Path
) -> None:
    height = "document.querySelector('details.days').getBoundingClientRect().height"
    with browser.page(written(tmp_path, "ninety_days"), dark=True) as page:
        assert page.evaluate(height) < 100
        page.look(paper=True)
        assert page.evaluate(height) > 1000
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == (
            "rgb(255, 255, 255)"
        )
        assert page.pdf().startswith(b"%PDF-")
