"""A real browser, as a person's: Chromium that opens files and addresses, clicks and types.

Chromium with `--remote-debugging-pipe` reads commands of the DevTools protocol from descriptor 3
and writes answers and events to 4, each JSON with a NUL at its end. No port and no further library.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

DEADLINE = 60
"""Seconds for one answer, or for what a page is waited for: a slow machine, not a measure."""

POLL_SECONDS = 0.02
"""Between two looks at a page."""

# Descriptors are inherited by number, and the numbers have to be 3 and 4; either may be taken.
LAUNCH = """
import fcntl, os, sys
commands, answers = (fcntl.fcntl(int(n), fcntl.F_DUPFD_CLOEXEC, 10) for n in sys.argv[1:3])
os.dup2(commands, 3), os.dup2(answers, 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""


def chromium() -> str | None:
    """The browser's path, or None where there is none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


# Names of keys that write nothing, or not what they are called: code, Windows' number, text.
_KEYS = {
    "Enter": ("Enter", 13, "\r"),
    "Escape": ("Escape", 27, ""),
    " ": ("Space", 32, " "),
    "/": ("Slash", 191, "/"),
    "?": ("Slash", 191, "?"),
}

# Chromium drops what is clicked and pressed before there is something to be seen.
_PAINTED = "performance.getEntriesByName('first-contentful-paint').length > 0"

# Where a person would put the pointer; a text that says why there is no such place.
_SPOT = """(selector => {
  if (!(PAINTED)) return 'nothing is seen yet';
  const element = document.querySelector(selector);
  if (!element) return 'there is none';
  element.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
  const box = element.getClientRects()[0];  // of a link on two lines, the first
  if (!box || !box.width || !box.height) return 'it is not seen';
  if (element.disabled) return 'it is disabled';
  const spot = [box.left + box.width / 2, box.top + box.height / 2];
  const top = document.elementFromPoint(...spot);
  if (!top) return 'it is outside of the window';
  return element.contains(top) ? spot : `<${top.tagName.toLowerCase()}> lies on it`;
})""".replace("PAINTED", _PAINTED)


def browser_or_skip(what: str) -> Iterator["Browser"]:
    """A browser, for a fixture; where there is none, `what` is not tested."""
    path = chromium()
    if path is None:
        pytest.skip(f"{what}: there is no Chromium; apt-get install chromium.")
    with Browser(path) as started:
        yield started


class Browser:
    """One Chromium.

    Raises:
        TimeoutError: an answer did not come in time.
        RuntimeError: the browser ended, or refused a command.
    """

    def __init__(self, path: str) -> None:
        self._folder = tempfile.TemporaryDirectory(
            prefix="actonce-browser-", ignore_cleanup_errors=True
        )
        their_in, self._out = os.pipe()
        self._in, their_out = os.pipe()
        command = [
            *(sys.executable, "-c", LAUNCH, str(their_in), str(their_out)),
            *(path, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"),
            # Without it, input that comes before a page's first paint is dropped.
            *("--allow-pre-commit-input", "--disable-background-networking"),
            *("--no-first-run", "--disable-dev-shm-usage"),
            f"--user-data-dir={self._folder.name}",
        ]
        self._process = subprocess.Popen(
            command,
            pass_fds=(their_in, their_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(their_in)
        os.close(their_out)
        self._buffer = b""
        self._number = 0
        self._events: dict[str, list[dict[str, Any]]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._out)  # Chromium ends when its pipe does
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        self._folder.cleanup()

    def send(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Give a command and wait for its answer; events on the way are kept.

        Args:
            method: of the DevTools protocol.
            session: of the page that it is for; None: it is for the browser.
            parameters: the command's.
        """
        self._number += 1
        command = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            command["sessionId"] = session
        data = json.dumps(command).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        while (message := self._receive()).get("id") != self._number:
            self._keep(message)
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']}")
        result: dict[str, Any] = message["result"]
        return result

    def events(self, session: str) -> list[dict[str, Any]]:
        """What a page has done so far; it grows."""
        return self._events.setdefault(session, [])

    def hear(self) -> None:
        """Wait for one event, of any page."""
        self._keep(self._receive())

    def _keep(self, message: dict[str, Any]) -> None:
        if "sessionId" in message:
            self.events(message["sessionId"]).append(message)

    def _receive(self) -> dict[str, Any]:
        deadline = time.monotonic() + DEADLINE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError(f"No answer from the browser in {DEADLINE} s.")
            data = os.read(self._in, 1 << 20)
            if not data:
                raise RuntimeError(f"The browser ended with {self._process.wait()}.")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        parsed: dict[str, Any] = json.loads(message)
        return parsed

    @contextmanager
    def page(self, where: Path | str, *, width: int = 1100, dark: bool = False) -> Iterator["Page"]:
        """A file or an address in a tab of so many CSS pixels, closed again at the end."""
        page = Page(self, None, width=width, dark=dark)
        try:
            page.open(where)
            yield page
        finally:
            page.close()

    @contextmanager
    def window(self, *, width: int = 1100, dark: bool = False) -> Iterator["Page"]:
        """An empty tab in a window that nobody has used: no cookies, no cache."""
        window = self.send("Target.createBrowserContext")["browserContextId"]
        try:
            yield Page(self, window, width=width, dark=dark)
        finally:
            self.send("Target.disposeBrowserContext", browserContextId=window)


class Page:
    """A tab of a window.

    Raises:
        TimeoutError: what was waited for did not come in time.
        RuntimeError: it cannot be opened, or the browser refused a command.
    """

    def __init__(self, browser: Browser, window: str | None, *, width: int, dark: bool) -> None:
        self._browser = browser
        self._window = window
        self._width = width
        context = {} if window is None else {"browserContextId": window}
        answer = browser.send("Target.createTarget", url="about:blank", **context)
        self._target: str = answer["targetId"]
        attached = browser.send("Target.attachToTarget", targetId=self._target, flatten=True)
        self._session: str = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.send(f"{domain}.enable")
        self.send("Page.setLifecycleEventsEnabled", enabled=True)
        self.send("Emulation.setFocusEmulationEnabled", enabled=True)  # as if each were in front
        self.resize(width)
        self.look(dark=dark)

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Give this page a command of the DevTools protocol; see `Browser.send`."""
        return self._browser.send(method, self._session, **parameters)

    def tab(self, where: Path | str) -> "Page":
        """Another tab of the same window: it has the same cookies, and ends with the window."""
        page = Page(self._browser, self._window, width=self._width, dark=False)
        page.open(where)
        return page

    def close(self) -> None:
        """Close the tab."""
        self._browser.send("Target.closeTarget", targetId=self._target)

    def open(self, where: Path | str) -> None:
        """Open a file or an address, as if typed in, and wait until it is loaded."""
        url = where.resolve().as_uri() if isinstance(where, Path) else where
        answer = self.send("Page.navigate", url=url)
        if "errorText" in answer:
            raise RuntimeError(f"{url}: {answer['errorText']}")
        # Within a document, to a #place of it, nothing is loaded.
        while "loaderId" in answer and not self._is_loaded(answer["loaderId"]):
            self._browser.hear()

    def _is_loaded(self, loader: str) -> bool:
        return any(
            event["method"] == "Page.lifecycleEvent"
            and event["params"]["loaderId"] == loader
            and event["params"]["name"] == "load"
            for event in self._browser.events(self._session)
        )

    def resize(self, width: int, height: int = 900) -> None:
        """Give the window so many CSS pixels; below 600 wide it is a phone's."""
        self._width = width
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def look(self, *, dark: bool = False, paper: bool = False, zone: str | None = None) -> None:
        """See it by night, as it is printed, or in another time zone, such as `Asia/Tokyo`."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        media = "print" if paper else "screen"
        self.send("Emulation.setEmulatedMedia", media=media, features=[scheme])
        if zone is not None:
            self.send("Emulation.setTimezoneOverride", timezoneId=zone)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; DevTools may run it, whatever the page forbids."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def text(self, selector: str) -> str:
        """What a person reads in the first element that matches."""
        read: str = self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText")
        return read

    @property
    def seen(self) -> str:
        """The address, and the beginning of what a person reads: for who asks what went wrong."""
        read: str = self.evaluate("`${location.href}\\n${document.body?.innerText}`")
        return read[:2000]

    def wait_for(self, expression: str, *, seconds: float = DEADLINE) -> Any:
        """Wait until a JavaScript expression is true of the page, or of the next; give its value.

        An element is true. Not yet true is also what fails, for an element that is not there yet.
        """
        asked = f"(value => value instanceof Element || value)({expression})"
        deadline = time.monotonic() + seconds
        while True:
            try:
                last = self.evaluate(asked)
            except RuntimeError as error:
                last = None
                told = str(error)
            else:
                if last:
                    return last
                told = f"it is {last!r}"
            if time.monotonic() > deadline:
                raise TimeoutError(f"Not in {seconds} s: {expression}: {told}\n{self.seen}")
            time.sleep(POLL_SECONDS)

    def click(self, selector: str, *, times: int = 1, seconds: float = DEADLINE) -> None:
        """Click the middle of the first element that matches, once it lies still and uncovered."""
        x, y = self.spot(selector, seconds)
        mouse = "Input.dispatchMouseEvent"
        self.send(mouse, type="mouseMoved", x=x, y=y)
        for count in range(1, times + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.send(mouse, type=kind, x=x, y=y, button="left", clickCount=count)

    def spot(self, selector: str, seconds: float = DEADLINE) -> tuple[float, float]:
        """The middle of an element, in the window, once it lies still and uncovered."""
        deadline = time.monotonic() + seconds
        expression = f"{_SPOT}({json.dumps(selector)})"
        before: Any = None
        while True:
            try:
                spot = self.evaluate(expression)
            except RuntimeError as error:  # the next page is coming
                spot = str(error)
            if isinstance(spot, list) and spot == before:
                return spot[0], spot[1]
            if time.monotonic() > deadline:
                raise TimeoutError(f"{selector} cannot be clicked: {spot}\n{self.seen}")
            before = spot
            time.sleep(POLL_SECONDS)

    def wait_until_seen(self) -> None:
        """Wait until there is something of the page to be seen."""
        self.wait_for(_PAINTED)

    def type(self, text: str) -> None:
        """Write a text where the focus is, as if pasted."""
        self.send("Input.insertText", text=text)

    def press(self, *keys: str) -> None:
        """Press keys one after the other.

        Args:
            keys: what they write (`j`, `7`, `?`), or are called (`Enter`), as KeyboardEvent.key
                has it.
        """
        self.wait_until_seen()
        for key in keys:
            if key in _KEYS:
                code, number, text = _KEYS[key]
            elif len(key) == 1 and key.isascii() and key.isalnum() and not key.isupper():
                code = f"{'Digit' if key.isdigit() else 'Key'}{key.upper()}"
                number, text = ord(key.upper()), key
            else:
                raise ValueError(f"There is no key {key!r} here.")
            common = {
                "key": key,
                "code": code,
                "windowsVirtualKeyCode": number,
                "modifiers": 8 if key == "?" else 0,  # Shift
            }
            down = "keyDown" if text else "rawKeyDown"
            self.send("Input.dispatchKeyEvent", type=down, text=text, **common)
            self.send("Input.dispatchKeyEvent", type="keyUp", **common)

    @property
    def requests(self) -> list[str]:
        """Every address that the page asked for, its own included."""
        return [told["request"]["url"] for told in self._told("Network.requestWillBeSent")]

    @property
    def complaints(self) -> list[str]:
        """What the browser's console says: refused scripts and requests, errors of scripts."""
        thrown = [told["exceptionDetails"] for told in self._told("Runtime.exceptionThrown")]
        return [told["entry"]["text"] for told in self._told("Log.entryAdded")] + [
            str(one.get("exception", {}).get("description", one["text"])) for one in thrown
        ]

    def _told(self, method: str) -> list[dict[str, Any]]:
        self.evaluate("0")  # every event before this answer has arrived
        events = self._browser.events(self._session)
        return [event["params"] for event in events if event["method"] == method]

    def screenshot(self, *, whole: bool = True) -> bytes:
        """A PNG of the page."""
        answer = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(answer["data"])

    def pdf(self) -> bytes:
        """The page as it is printed, on A4."""
        answer = self.send(
            "Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True
        )
        return base64.b64decode(answer["data"])
