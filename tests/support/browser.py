"""A real browser, as a person's: the machine's own Chromium, driven by Playwright.

Playwright's download of a browser is not needed: what is installed here is started.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright import sync_api as playwright

DEADLINE = 60
"""Seconds for which a page is waited for: a slow machine, not a measure."""

# Chromium drops keys that are pressed before there is something to be seen.
_PAINTED = "performance.getEntriesByName('first-contentful-paint').length > 0"


@contextmanager
def chromium() -> Iterator["Browser | None"]:
    """The browser, started and ended; None: there is none on this machine."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        yield None
        return
    with playwright.sync_playwright() as driver:
        yield Browser(driver.chromium.launch(executable_path=path))


def browser_or_skip(what: str) -> Iterator["Browser"]:
    """A browser, for a fixture; where there is none, `what` is not tested."""
    with chromium() as started:
        if started is None:
            pytest.skip(f"{what}: there is no Chromium; apt-get install chromium.")
        yield started


class Browser:
    """Opens windows."""

    def __init__(self, driven: playwright.Browser) -> None:
        self._driven = driven

    @contextmanager
    def window(self, *, width: int = 1100, dark: bool = False) -> Iterator["Page"]:
        """An empty tab in a window that nobody has used: no cookies, no cache.

        Args:
            width: CSS pixels.
            dark: whether it is seen by night.
        """
        window = self._driven.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
        )
        window.set_default_timeout(1000 * DEADLINE)
        try:
            yield Page(window.new_page())
        finally:
            window.close()

    @contextmanager
    def page(self, where: Path | str, *, width: int = 1100, dark: bool = False) -> Iterator["Page"]:
        """A file or an address in a window of its own."""
        with self.window(width=width, dark=dark) as page:
            page.open(where)
            yield page


class Page:
    """A tab, and what it has asked for and complained of.

    Attributes:
        driven: Playwright's page, for what is not here.
    """

    def __init__(self, driven: playwright.Page) -> None:
        self.driven = driven
        self._requests: list[str] = []
        self._complaints: list[str] = []
        driven.on("request", lambda request: self._requests.append(request.url))
        driven.on("pageerror", lambda error: self._complaints.append(str(error)))
        driven.on("console", self._hear)

    def _hear(self, message: playwright.ConsoleMessage) -> None:
        if message.type == "error":
            self._complaints.append(message.text)

    def open(self, where: Path | str) -> None:
        """Open a file or an address, as if typed in, and wait until it is loaded."""
        self.driven.goto(where.resolve().as_uri() if isinstance(where, Path) else where)

    def resize(self, width: int, height: int = 900) -> None:
        """Give the window so many CSS pixels."""
        self.driven.set_viewport_size({"width": width, "height": height})

    def look(self, *, paper: bool) -> None:
        """See it as it is printed, or on the screen; by day."""
        self.driven.emulate_media(media="print" if paper else "screen", color_scheme="light")

    def disable_scripts(self) -> None:
        """Run none of the page's scripts from now on; `evaluate` does work."""
        session = self.driven.context.new_cdp_session(self.driven)
        session.send("Emulation.setScriptExecutionDisabled", {"value": True})

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        return self.driven.evaluate(expression)

    def text(self, selector: str) -> str:
        """What a person reads in the first element that matches."""
        return self.driven.locator(selector).first.inner_text()

    def wait_for(self, expression: str, *, seconds: float = DEADLINE) -> None:
        """Wait until a JavaScript expression is true of the page, or of the next.

        Not yet true is also what fails, for an element that is not there yet.
        """
        tried = f"() => {{ try {{ return {expression} }} catch {{ return false }} }}"
        self.driven.wait_for_function(tried, timeout=1000 * seconds)

    def click(self, selector: str, *, times: int = 1) -> None:
        """Click the first element that matches, once it lies still and uncovered."""
        self.driven.locator(selector).first.click(click_count=times)

    def type(self, text: str) -> None:
        """Write a text where the focus is, as if pasted."""
        self.driven.keyboard.insert_text(text)

    def press(self, *keys: str) -> None:
        """Press keys one after the other, by what they write or are called (`j`, `?`, `Enter`)."""
        for key in keys:
            self.wait_for(_PAINTED)
            self.driven.keyboard.press(key)

    @property
    def requests(self) -> list[str]:
        """Every address that the page asked for, its own included."""
        self.evaluate("0")  # every event before this answer has arrived
        return self._requests

    @property
    def complaints(self) -> list[str]:
        """What the browser's console says: refused scripts and requests, errors of scripts."""
        self.evaluate("0")
        return self._complaints

    def screenshot(self, *, whole: bool = True) -> bytes:
        """A PNG of the page."""
        return self.driven.screenshot(full_page=whole)

    def pdf(self) -> bytes:
        """The page as it is printed, on A4."""
        return self.driven.pdf(format="A4", prefer_css_page_size=True)
