"""A real browser that opens a file, as a person's would: Chromium, driven through its pipe.

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

DEADLINE = 60
"""Seconds for one answer: a slow machine, not a measure."""

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


class Browser:
    """One Chromium with one page at a time.

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
            *("--disable-background-networking", "--no-first-run", "--disable-dev-shm-usage"),
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
        self._events: list[dict[str, Any]] = []
        self._session: str | None = None

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

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Give a command and wait for its answer; events on the way are kept."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            command["sessionId"] = self._session
        data = json.dumps(command).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        while True:
            message = self._receive()
            if message.get("id") == self._number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                result: dict[str, Any] = message["result"]
                return result
            self._events.append(message)

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
    def page(self, path: Path, *, width: int = 1100, dark: bool = False) -> Iterator["Page"]:
        """The file, opened in a tab of so many CSS pixels and closed again."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._events.clear()
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.send(f"{domain}.enable")
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        self.send("Page.navigate", url=path.resolve().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self._events):
            self._events.append(self._receive())
        try:
            yield Page(self)
        finally:
            self._session = None
            self.send("Target.closeTarget", targetId=target)

    @property
    def events(self) -> list[dict[str, Any]]:
        """What the page in view did since it was opened."""
        return self._events


class Page:
    """The page in view."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; DevTools may run it, whatever the page forbids."""
        answer = self._browser.send("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    @property
    def requests(self) -> list[str]:
        """Every address that the page asked for, its own included."""
        self.evaluate("0")  # every event before this answer has arrived
        return [
            event["params"]["request"]["url"]
            for event in self._browser.events
            if event.get("method") == "Network.requestWillBeSent"
        ]

    @property
    def complaints(self) -> list[str]:
        """What the browser's console says, refused scripts and requests included."""
        self.evaluate("0")
        return [
            event["params"]["entry"]["text"]
            for event in self._browser.events
            if event.get("method") == "Log.entryAdded"
        ]

    def screenshot(self, *, whole: bool = True) -> bytes:
        """A PNG of the page."""
        answer = self._browser.send(
            "Page.captureScreenshot", format="png", captureBeyondViewport=whole
        )
        return base64.b64decode(answer["data"])

    def pdf(self) -> bytes:
        """The page as it is printed, on A4."""
        answer = self._browser.send(
            "Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True
        )
        return base64.b64decode(answer["data"])
