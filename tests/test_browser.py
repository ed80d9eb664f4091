"""The driver of the browser does what a person does, and says what it cannot."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.browser import Browser, Page, browser_or_skip

PAGE = """<!doctype html><title>one</title><link rel="icon" href="data:,">
<style>
  .far { margin-top: 3000px }
  #under { position: relative }
  #over { position: absolute; inset: 0 }
</style>
<h1>Tried</h1>
<form action="/sent"><input id="name" name="name"><button id="go">Go</button></form>
<button id="far" class="far">far</button>
<button id="off" disabled>off</button>
<p style="width: 12ch">A text, and <a id="wrapped" href="#wrapped">a link on two lines</a></p>
<div id="under"><button id="covered">covered</button><div id="over"></div></div>
<script>
  window.seen = [];
  for (const kind of ['click', 'dblclick'])
    document.addEventListener(kind, e => seen.push(kind + ' ' + e.target.id + ' ' + e.isTrusted));
</script>
"""


class _Handler(BaseHTTPRequestHandler):
    got: list[str]

    def do_GET(self) -> None:
        self.got.append(self.path)
        self.send_response(200 if self.path != "/missing" else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        if self.path == "/strict":
            self.send_header("Content-Security-Policy", "script-src 'none'")
        self.end_headers()
        if self.path == "/throws":
            self.wfile.write(b"<script>throw new Error('thrown on purpose')</script>")
        else:
            self.wfile.write(PAGE.encode() if self.path == "/" else b"<p id=p>second <b>page</b>")
        if self.path == "/strict":
            self.wfile.write(b"<script>document.title = 'ran'</script>")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from browser_or_skip("the driver of the browser")


@pytest.fixture
def got() -> list[str]:
    """The path of each request."""
    return []


@pytest.fixture
def server(got: list[str]) -> Iterator[str]:
    handler = type("Handler", (_Handler,), {"got": got})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as listening:
        Thread(target=listening.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_port}"
        listening.shutdown()


@pytest.fixture
def page(browser: Browser, server: str) -> Iterator[Page]:
    with browser.window() as opened:
        opened.open(f"{server}/")
        opened.wait_until_seen()
        yield opened


def test_it_clicks_as_a_hand_does_also_what_has_to_be_scrolled_to(page: Page) -> None:
    page.click("#far")
    assert page.evaluate("scrollY") > 1000
    page.click("#wrapped")
    page.click("#name", times=2)
    assert page.evaluate("seen") == [
        *("click far true", "click wrapped true"),
        *("click name true", "click name true", "dblclick name true"),
    ]


@pytest.mark.parametrize(
    ("selector", "why"),
    [
        ("#covered", "<div> lies on it"),
        ("#off", "it is disabled"),
        ("#none", "there is none"),
        ("title", "it is not seen"),
    ],
)
def test_it_does_not_click_what_a_hand_cannot(page: Page, selector: str, why: str) -> None:
    with pytest.raises(TimeoutError, match=f"{selector} cannot be clicked: {why}"):
        page.click(selector, seconds=0.1)
    assert page.evaluate("seen") == []


def test_it_types_and_sends_a_form(page: Page, server: str, got: list[str]) -> None:
    page.click("#name")
    page.type("Zoë & 1")
    page.press("a", " ", "?", "Enter")
    page.wait_for("location.pathname == '/sent' && document.readyState == 'complete'")
    assert page.text("#p") == "second page"
    assert "/sent?name=Zo%C3%AB+%26+1a+%3F" in got
    assert f"{server}/sent?name=Zo%C3%AB+%26+1a+%3F" in page.requests


def test_a_wait_ends_and_says_what_was_there(page: Page) -> None:
    with pytest.raises(TimeoutError, match=r"document\.body\.childElementCount > 99: it is False"):
        page.wait_for("document.body.childElementCount > 99", seconds=0.1)
    with pytest.raises(TimeoutError, match="TypeError"):
        page.wait_for("document.querySelector('#none').textContent", seconds=0.1)


def test_what_the_browser_refuses_or_a_script_throws_is_a_complaint(
    browser: Browser, server: str
) -> None:
    with browser.window() as page:
        page.open(f"{server}/next")
        assert [one for one in page.complaints if "favicon" not in one] == []
        page.open(f"{server}/strict")
        assert page.evaluate("document.title") == ""
        assert any("Content Security Policy" in one for one in page.complaints)
        page.open(f"{server}/throws")
        assert any("thrown on purpose" in one for one in page.complaints)
        page.open(f"{server}/missing")
        assert any("404" in one for one in page.complaints)
