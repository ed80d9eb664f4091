"""The page as a person sees it: in Chromium, on a screen, a phone, at night and on paper."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from actonce.records.report import write
from tests.browser import Browser, browser_or_skip
from tests.report import summaries

PHONE = 390
SCREEN = 1100


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from browser_or_skip("the audit's page in a browser")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    written = {}
    for name, summary in summaries.ALL.items():
        written[name] = folder / f"{name}.html"
        write(summary(), written[name])
    return written


every_page = pytest.mark.parametrize("name", summaries.ALL)


@every_page
def test_the_page_opens_alone_and_nothing_in_it_is_refused(
    browser: Browser, pages: dict[str, Path], name: str
) -> None:
    with browser.page(pages[name]) as page:
        assert page.requests == [pages[name].as_uri()]
        assert page.complaints == []
        assert "taken over" not in page.evaluate("document.title")


@every_page
def test_the_answer_and_the_alarms_are_seen(
    browser: Browser, pages: dict[str, Path], name: str
) -> None:
    summary = summaries.ALL[name]()
    with browser.page(pages[name]) as page:
        top = page.evaluate("document.querySelector('h1').getBoundingClientRect().bottom")
        assert 0 < top < 300
        assert (
            page.evaluate("document.querySelector('#sentence').textContent")
            == (summary["sentence"])
        )
        alarms = page.evaluate("document.querySelectorAll('details.alarm').length")
        assert alarms == len(summary["alarms"])


@every_page
@pytest.mark.parametrize("width", [320, SCREEN])
def test_nothing_is_wider_than_the_window(
    browser: Browser, pages: dict[str, Path], name: str, width: int
) -> None:
    with browser.page(pages[name], width=width) as page:
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        inner, outer = page.evaluate(
            "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert outer <= width
        assert inner <= outer
        cut = page.evaluate(
            "[...document.querySelectorAll('td, th, b')]"
            ".filter(e => e.getBoundingClientRect().right > window.innerWidth + 1)"
            ".map(e => e.textContent)"
        )
        assert cut == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, SCREEN])
def test_the_page_is_painted_and_follows_the_system_s_colours(
    browser: Browser, pages: dict[str, Path], width: int, *, dark: bool
) -> None:
    with browser.page(pages["alarms_of_each_kind"], width=width, dark=dark) as page:
        image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    assert width - 20 < image.width <= width  # the bar to scroll with
    colours = image.getcolors(maxcolors=1 << 24)
    assert colours is not None
    paper = max(colours)[1]
    assert paper == ((0x14, 0x17, 0x1B) if dark else (0xFF, 0xFF, 0xFF))
    painted = {colour for _, colour in colours}
    bars = (
        {(0x57, 0xC9, 0x8D), (0xFF, 0x85, 0x77)}
        if dark
        else {(0x1F, 0x7A, 0x4D), (0xC2, 0x28, 0x1D)}
    )
    assert bars <= painted


def test_on_paper_the_days_are_there_though_nobody_can_click(
    browser: Browser, pages: dict[str, Path]
) -> None:
    height = "document.querySelector('details.days').getBoundingClientRect().height"
    with browser.page(pages["ninety_days"], dark=True) as page:
        assert page.evaluate(height) < 100
        page.look(paper=True)
        assert page.evaluate(height) > 1000
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == (
            "rgb(255, 255, 255)"
        )
        assert page.pdf().startswith(b"%PDF-")
