"""The console's pages in Chromium, on moto: keys, what is looked at again, what is refused."""

import json
import threading
from collections.abc import Callable, Iterator

import pytest
import uvicorn

from actonce.console.access import TOKEN as TOKEN_NAME
from actonce.console.app import app
from actonce.console.context import Context
from actonce.console.server import listening
from actonce.operate.deciding import decide
from actonce.stack.clients import Stack
from tests.browser import Browser, Page, browser_or_skip
from tests.embedded.waiting import wait_until
from tests.hostile import HOSTILE_SENT, forbidden
from tests.support.queues import dead, row
from tests.web_console.asking import TOKEN, finish, read_queues
from tests.web_console.conftest import Open
from tests.web_console.test_views import MARKUP, complete, unstart

Opens = Callable[..., tuple[Page, Context]]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from browser_or_skip("the console's pages in a browser")


@pytest.fixture
def opens(browser: Browser, ledger: Stack, console: Open) -> Iterator[Opens]:
    """Serves a console on a stack as it is then, and opens its first screen."""
    ends: list[Callable[[], None]] = []

    def opened(path: str = "/", **more: bool) -> tuple[Page, Context]:
        _, context = console(ledger, **more)
        read_queues(context)
        listener = listening(0)
        port: int = listener.getsockname()[1]
        config = uvicorn.Config(app(context, TOKEN, port), log_level="critical", ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        window = browser.window()
        page = window.__enter__()

        def end() -> None:
            window.__exit__(None, None, None)
            server.should_exit = True
            thread.join()
            listener.close()

        ends.append(end)
        wait_until(lambda: server.started)
        joined = "&" if "?" in path else "?"
        page.open(f"http://127.0.0.1:{port}{path}{joined}{TOKEN_NAME}={TOKEN}")
        return page, context

    yield opened
    for end in ends:
        end()


def letters(stack: Stack, number: int) -> None:
    for one in range(number):
        dead(stack, f"m-{one:02}", one)
        complete(stack, f"m-{one:02}")


WAITING_AGAIN = "document.querySelector('#waiting').isTheSame === undefined"


ANSWERED = "window.answered ?? []"
"""Ids of what has been answered since the last `swap`."""


def swap(page: Page) -> None:
    """Have what waits looked at again, as it is every 15 s."""
    page.evaluate(
        "window.answered = []; document.body.addEventListener("
        "'htmx:afterRequest', event => window.answered.push(event.detail.target.id))"
    )
    page.evaluate("document.querySelector('#waiting').isTheSame = true")
    page.evaluate("htmx.trigger('#waiting', 'pulse-15')")


def test_the_focus_and_the_row_stay_where_they_were_when_the_list_is_looked_at_again(
    ledger: Stack, opens: Opens
) -> None:
    letters(ledger, 2)
    dead(ledger, "r-1", 30, reason="rejected", error="Rejected")
    page, _ = opens()
    page.press("j", "j")
    before = page.evaluate("document.activeElement.href")
    assert "reason=rejected" in before
    swap(page)
    page.wait_for(WAITING_AGAIN)
    assert page.evaluate("document.activeElement.href") == before
    assert "rejected" in page.text(".here")
    page.press("Enter")
    page.wait_for("location.pathname == '/dead-letters'")


def test_a_click_that_has_begun_is_not_lost_because_the_list_is_looked_at_again(
    ledger: Stack, opens: Opens
) -> None:
    letters(ledger, 2)
    page, _ = opens()
    link = "#waiting a[href*='reason=not_performed']"
    x, y = page.spot(link)
    mouse = {"x": x, "y": y, "button": "left", "clickCount": 1}
    page.send("Input.dispatchMouseEvent", type="mousePressed", **mouse)
    swap(page)
    page.wait_for(f"({ANSWERED}).includes('waiting')")
    page.send("Input.dispatchMouseEvent", type="mouseReleased", **mouse)
    page.wait_for("location.pathname == '/dead-letters'")


def test_what_was_looked_at_while_a_button_was_held_is_shown_after_it(
    ledger: Stack, opens: Opens
) -> None:
    letters(ledger, 2)
    page, context = opens()
    page.wait_until_seen()
    page.wait_for("document.querySelector('#stack h2')")
    mouse = {"x": 5, "y": 700, "button": "left", "clickCount": 1}
    page.send("Input.dispatchMouseEvent", type="mousePressed", **mouse)
    dead(ledger, "m-99", 40)
    read_queues(context)
    page.evaluate("document.querySelector('#stack h2').textContent = 'of before'")
    for element in ("#waiting", "#stack"):  # not by its next look
        page.evaluate(f"document.querySelector('{element}').removeAttribute('data-pulse')")
    swap(page)
    page.wait_for(f"({ANSWERED}).includes('waiting')")
    page.evaluate("htmx.trigger('#stack', 'pulse-60')")
    page.wait_for(f"({ANSWERED}).includes('stack')")
    assert page.text("#dead-letters-title .count") == "2"
    assert page.text("#stack h2") == "of before"
    page.send("Input.dispatchMouseEvent", type="mouseReleased", **mouse)
    page.wait_for("document.querySelector('#dead-letters-title .count').innerText == '3'")
    page.wait_for("document.querySelector('#stack h2').innerText == 'actonce'")


def test_a_kind_is_decided_on_by_keyboard_alone(ledger: Stack, opens: Opens) -> None:
    letters(ledger, 3)
    page, context = opens()
    page.press("j", "Enter")
    page.wait_for("document.querySelector('#choose') && document.readyState == 'complete'")
    page.press("j", "x", "a")
    assert page.evaluate("document.querySelector('#scope-all').checked")
    page.press("r")
    page.wait_for("document.querySelector('h1').innerText == 'Reject 3 dead letters?'")
    page.wait_for("document.activeElement.id == 'note' && document.readyState == 'complete'")
    page.press("Enter")  # without a reason the browser itself says that one is wanted
    page.type("a typing error")
    page.press("Enter")
    page.wait_for("document.querySelector('#job')?.innerText.includes('all seen to')")
    finish(context)
    assert {row(ledger, f"m-{one:02}")["outcome"] for one in range(3)} == {"rejected"}
    assert page.complaints == []


def rejected(stack: Stack) -> None:
    dead(stack, "m-1", reason="rejected", error="Rejected", cause="no such practice")
    complete(stack, "m-1")


def retried_by_a_colleague(stack: Stack) -> None:
    """Who has it tried again from elsewhere; and it fails otherwise."""
    assert decide(stack, "m-1", "retry").decided
    dead(stack, "m-1", 1, reason="outcome_unknown", error="Unclear", cause="timed out")
    complete(stack, "m-1")


@pytest.mark.parametrize("has_script", [True, False])
def test_a_letter_that_came_while_the_page_was_open_is_not_decided_by_it(
    ledger: Stack, opens: Opens, *, has_script: bool
) -> None:
    rejected(ledger)
    page, context = opens("/message?id=m-1")
    tab = page.tab(page.evaluate("location.href"))
    for one in (page, tab):
        one.send("Emulation.setScriptExecutionDisabled", value=not has_script)
        if not has_script:
            one.open(one.evaluate("location.href"))
        one.click("#decide input[value=reject]")
        one.click("#note")
        one.type("no such practice")
        one.wait_for("document.querySelector('#note').value")
    retried_by_a_colleague(ledger)
    read_queues(context)
    for one in (page, tab):
        one.click("#decide button.go", times=2 if has_script else 1)
        one.wait_for("location.pathname.startsWith('/jobs/')")
        finish(context)
        assert row(ledger, "m-1").get("outcome") == "dead_letter"
        one.open(one.evaluate("location.href"))
        assert "the message has another letter since" in one.text("#job")
    # Back there, the browser may have kept the form: it finds what it has begun.
    jobs = len(context.jobs.all())
    page.evaluate("history.back()")
    page.wait_for("location.pathname == '/message' && document.readyState == 'complete'")
    page.open(page.evaluate("location.href"))
    page.wait_for("document.querySelector('#decide').innerText.includes('timed out')")
    assert page.evaluate("document.querySelector('#decide input:checked')") is None
    page.click("#decide input[value=resolve]")
    page.click("#note")
    page.type("it was there")
    page.wait_for("document.querySelector('#note').value")
    page.click("#decide button.go")
    page.wait_for("location.pathname.startsWith('/jobs/')")
    finish(context)
    assert (row(ledger, "m-1")["outcome"], len(context.jobs.all())) == ("resolved", jobs + 1)


LATER = "{const now = Date.now; Date.now = () => now() + 200_000; true}"
"""Lets the page's clock be three minutes on."""

AS_OF = "document.querySelector('[data-as-of]').innerText"


def test_a_page_that_stands_still_because_it_is_filled_in_says_its_age(
    ledger: Stack, opens: Opens
) -> None:
    rejected(ledger)
    page, context = opens("/message?id=m-1")
    page.wait_for("document.querySelector('#now [data-key=u]')")  # the log has been read
    page.wait_for("document.querySelector('#decide input')")
    page.click("#note")
    page.type("no such")
    page.evaluate("document.querySelector('#now').isOfBefore = true")
    page.evaluate(LATER)
    page.wait_for(f"{AS_OF} == 'as of 3 minutes ago; not looked at again while you fill this in'")
    assert page.evaluate("document.querySelector('#now').isOfBefore")
    # And who ends it sees it as it is, with what was typed: it is the same letter.
    page.press("Escape")
    page.wait_for("!document.querySelector('#now').isOfBefore")
    assert "fill" not in page.evaluate(AS_OF)
    assert page.evaluate("document.querySelector('#note').value") == "no such"
    # Of another letter nothing that was typed for the first is kept.
    retried_by_a_colleague(ledger)
    read_queues(context)
    page.evaluate("htmx.trigger('#now', 'pulse-15')")
    page.wait_for("document.querySelector('#decide').innerText.includes('timed out')")
    assert page.evaluate("document.querySelector('#note').value") == ""
    assert page.complaints == []


def test_it_works_without_its_script(ledger: Stack, opens: Opens) -> None:
    letters(ledger, 1)
    page, context = opens()
    page.send("Emulation.setScriptExecutionDisabled", value=True)
    address = page.evaluate("location.href")
    page.evaluate("window.isOfBefore = true")
    page.click("#waiting button")
    page.wait_for("!window.isOfBefore && document.readyState == 'complete'")
    assert page.evaluate("document.querySelectorAll('#waiting tbody tr').length") == 1
    assert page.evaluate("location.href") == address
    page.open(f"{address}dead-letters")
    page.click("input[name=entry]")
    page.click("button[value=reject]")
    page.wait_for("document.activeElement.id == 'note' && document.readyState == 'complete'")
    page.type("a typing error")
    page.wait_for("document.querySelector('#note').value")
    page.click("button.go")
    page.wait_for("location.pathname == '/jobs/1'")
    finish(context)
    assert row(ledger, "m-00")["outcome"] == "rejected"


def test_the_keys_are_listed_and_closed_again(opens: Opens) -> None:
    page, _ = opens()
    page.press("?")
    page.wait_for("document.querySelector('#keys').open")
    listed = page.evaluate(
        "[...document.querySelectorAll('#keys kbd')].map(key => key.textContent)"
    )
    assert {"/", "j", "k", "x", "a", "t", "e", "r", "u", "?"} <= set(listed)
    page.press("j")  # nothing below it moves
    assert page.evaluate("document.querySelector('.here')") is None
    page.press("Escape")
    page.wait_for("!document.querySelector('#keys').open")
    page.press("g", "m")
    page.wait_for("location.pathname == '/messages'")


def test_what_is_in_messages_is_text_on_every_page(ledger: Stack, opens: Opens) -> None:
    for number, hostile in enumerate((MARKUP, HOSTILE_SENT)):
        dead(ledger, f"m-{number}{hostile}", number, reason=hostile, error=hostile, cause=hostile)
        complete(ledger, f"m-{number}{hostile}")
        unstart(ledger, json.dumps({"message_id": hostile}), "not_json", detail="a detail")
    page, context = opens()
    assert context.letters.latest is not None
    paths = ["/dead-letters", "/unstarted", "/messages", "/jobs", "/audit"]
    paths += page.evaluate("[...document.querySelectorAll('main tr a')].map(a => a.href)")
    for path in paths:
        page.open(path if path.startswith("http") else page.evaluate(f"location.origin + '{path}'"))
        assert page.evaluate("document.querySelectorAll('img, main b, main script').length") == 0
        assert forbidden(page.evaluate("document.body.innerText")) <= {"\t"}
    assert page.complaints == []


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_nothing_is_wider_than_the_window(ledger: Stack, opens: Opens, width: int) -> None:
    letters(ledger, 2)
    dead(ledger, "m" * 90, 9, reason="rejected", error="A.Very.Long.Name.Of.An.Exception" * 3)
    complete(ledger, "m" * 90)
    unstart(ledger, "{", "not_json")
    page, _ = opens()
    page.resize(width)
    for path in ("/", "/dead-letters", "/unstarted", "/messages", "/message?id=m-01", "/jobs"):
        page.open(page.evaluate(f"location.origin + '{path}'"))
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        inner, outer = page.evaluate(
            "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        cut = page.evaluate(
            "[...document.querySelectorAll('body *')]"
            ".filter(e => !e.closest('.machine, pre') && !e.matches('.skip, .unseen'))"
            ".filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth)"
            ".map(e => `${e.tagName} ${e.className} ${e.textContent.slice(0, 30)}`)"
        )
        assert cut == [], path
        assert inner <= outer <= width, path


def test_a_read_only_console_offers_nothing_that_changes(ledger: Stack, opens: Opens) -> None:
    letters(ledger, 1)
    page, _ = opens("/dead-letters", read_only=True)
    assert page.evaluate("document.querySelectorAll('main input[type=checkbox]').length") == 0
    page.press("j", "x", "a", "t")
    page.open(page.evaluate("location.origin + '/message?id=m-00'"))
    assert page.evaluate("document.querySelectorAll('main form').length") == 0
    assert "--read-only" in page.text("main")
