"""The console's pages in Chromium, on moto: keys, the focus, what is looked at again, no script."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from actonce.console.access import TOKEN as TOKEN_NAME
from actonce.console.app import app
from actonce.stack.clients import Stack
from actonce_core.execution import execution_name
from tests.console.client import TOKEN, Client, Server
from tests.console.conftest import Open
from tests.console.stacks import rejected, retried_by_a_colleague, unstart
from tests.support.browser import Browser, Page, browser_or_skip
from tests.support.waiting import dead, decision_on

Opens = Callable[..., tuple[Page, Client, Server]]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from browser_or_skip("the console's pages in a browser")


@pytest.fixture
def opens(browser: Browser, console: Open, machine: Stack) -> Iterator[Opens]:
    """Serves a console on a stack as it is then, and opens a page of it; and what ends it."""
    servers: list[Server] = []
    with browser.window() as page:

        def opened(path: str = "/?", **more: Any) -> tuple[Page, Client, Server]:
            client = console(machine, **more)
            server = Server(lambda port: app(client.context, TOKEN, port))
            servers.append(server)
            page.open(f"http://127.0.0.1:{server.address[1]}{path}&{TOKEN_NAME}={TOKEN}")
            return page, client, server

        yield opened
    for server in servers:
        server.end()


def letters(stack: Stack, number: int) -> None:
    for one in range(number):
        dead(stack, f"m-{one:02}", one)


def swap(page: Page) -> None:
    """Have what waits looked at again, as it is every 15 s, and wait for the answer."""
    page.evaluate(
        "window.isAnswered = false; document.body.addEventListener("
        "'htmx:afterRequest', () => { window.isAnswered = true; }, { once: true });"
        "document.querySelector('#waiting').isOfBefore = true; htmx.trigger('#waiting', 'pulse-15')"
    )
    page.wait_for("window.isAnswered")


def test_the_focus_and_the_row_stay_where_they_were_when_the_list_is_looked_at_again(
    machine: Stack, opens: Opens
) -> None:
    letters(machine, 2)
    rejected(machine, "r-1")
    page, _, _ = opens()
    page.press("j", "j")
    before = page.evaluate("document.activeElement.href")
    assert "reason=rejected" in before
    swap(page)
    page.wait_for("!document.querySelector('#waiting').isOfBefore")
    assert page.evaluate("document.activeElement.href") == before
    assert "refused by the function" in page.text("tr:focus-within")
    page.press("Enter")
    page.wait_for("location.pathname == '/dead-letters'")


def test_what_was_looked_at_while_a_button_is_held_is_shown_after_it_and_no_click_is_lost(
    machine: Stack, opens: Opens
) -> None:
    letters(machine, 2)
    page, client, _ = opens()
    page.wait_for("document.querySelector('#stack h2')")
    mouse, count = page.driven.mouse, "#dead-letters-title .count"
    page.driven.locator("header").hover()
    mouse.down()
    dead(machine, "m-99", 40)
    client.read_queues()
    swap(page)
    assert page.text(count) == "2"
    mouse.up()
    page.wait_for(f"document.querySelector('{count}').innerText == '3'")
    page.driven.locator("#waiting a[href*='reason=not_performed']").first.hover()
    mouse.down()
    swap(page)
    mouse.up()
    page.wait_for("location.pathname == '/dead-letters'")


def test_a_kind_is_decided_on_by_keyboard_alone(machine: Stack, opens: Opens) -> None:
    letters(machine, 3)
    page, client, _ = opens()
    page.press("?")
    page.wait_for("document.querySelector('#keys').open")
    page.press("j")  # nothing below it moves
    assert page.evaluate("document.querySelector('tr:focus-within')") is None
    page.press("Escape", "j", "Enter")
    page.wait_for("document.querySelector('#choose') && document.readyState == 'complete'")
    page.press("j", "x", "a")
    assert page.evaluate("document.querySelector('#scope-all').checked")
    page.press("r")
    page.wait_for("document.querySelector('h1').innerText == 'Reject 3 dead letters?'")
    page.wait_for("document.activeElement.id == 'note' && document.readyState == 'complete'")
    page.press("Enter")  # without a reason the browser itself says that one is wanted
    page.type("a typing error")
    page.press("Enter")
    page.wait_for("document.querySelector('#job')?.innerText.includes('finished')")
    client.finish()
    assert {decision_on(machine, f"m-{one:02}") for one in range(3)} == {"reject"}
    page.wait_for("document.readyState == 'complete'")  # before, no script hears a key
    page.press("g", "m")
    page.wait_for("location.pathname == '/messages'")
    assert page.complaints == []


LATER = "{const now = Date.now; Date.now = () => now() + 200_000; true}"
"""Lets the page's clock be three minutes on."""

AS_OF = "document.querySelector('[data-as-of]').innerText"


def test_a_page_that_is_filled_in_stands_still_says_its_age_and_loses_nothing_typed(
    machine: Stack, opens: Opens
) -> None:
    rejected(machine)
    page, client, server = opens("/message?id=m-1")
    page.wait_for("document.querySelector('#now [data-key=u]')")  # the log has been read
    is_seen = "document.querySelector('#decide button.go').getBoundingClientRect().bottom < 900"
    assert page.evaluate(is_seen)
    page.click("#note")
    page.type("no such")
    page.evaluate("document.querySelector('#now').isOfBefore = true")
    page.evaluate(LATER)
    page.wait_for(f"{AS_OF} == 'as of 3 minutes ago: this page stands still while you fill it in'")
    assert page.evaluate("document.querySelector('#now').isOfBefore")
    # And who ends it sees it as it is, with what was typed: it is the same letter.
    page.press("Escape")
    page.wait_for("!document.querySelector('#now').isOfBefore")
    assert "fill" not in page.evaluate(AS_OF)
    assert page.evaluate("document.querySelector('#note').value") == "no such"
    # Of another letter nothing that was typed for the first is kept.
    retried_by_a_colleague(machine)
    client.read_queues()
    page.evaluate("htmx.trigger('#now', 'pulse-15')")
    page.wait_for("document.querySelector('#decide').innerText.includes('timed out')")
    assert page.evaluate("document.querySelector('#note').value") == ""
    assert page.complaints == []
    # A console that was ended is told, and nothing that was typed is lost.
    page.click("#decide input[value=resolve]")
    page.click("#note")
    page.type("a long story")
    server.end()
    page.click("#decide button.go")
    page.wait_for("!document.querySelector('#offline').hidden")
    assert "does not answer" in page.text("#offline")
    assert page.evaluate("document.querySelector('#note').value") == "a long story"
    assert page.evaluate("document.querySelector('#decide input:checked').value") == "resolve"


def test_it_works_without_its_script(machine: Stack, opens: Opens) -> None:
    letters(machine, 1)
    page, client, _ = opens()
    page.disable_scripts()
    address = page.evaluate("location.href")
    with page.driven.expect_navigation():
        page.click("#waiting button")
    assert page.evaluate("document.querySelectorAll('#waiting tbody tr').length") == 1
    assert page.evaluate("location.href") == address
    page.open(f"{address}dead-letters")
    page.click("input[name=entry]")
    page.click("#scope-ticked")
    page.click("button[value=reject]")
    page.click("#note")
    page.type("a typing error")
    page.click("button.go")
    page.driven.wait_for_url("**/jobs/1")
    client.finish()
    assert decision_on(machine, "m-00") == "reject"


def test_nothing_is_wider_than_the_window(machine: Stack, opens: Opens) -> None:
    rejected(machine)
    for number, name in enumerate(("m" * 90, "m" * 2_000)):
        error = "A.Very.Long.Name.Of.An.Exception" * 3
        execution = execution_name(name)
        dead(machine, name, number, reason="rejected", error=error, execution_name=execution)
    unstart(machine, "{")
    page, _, _ = opens()
    origin = page.evaluate("location.origin")
    long = f"/message?id={'m' * 2_000}"
    paths = ["/", "/dead-letters", "/messages", "/message?id=m-1", long]
    for path in paths:
        page.open(origin + path)
        page.resize(390)
        page.click("#keys-button")
        assert "dead letter" in page.text("#keys")
        page.press("Escape")
        assert page.evaluate("document.documentElement.scrollHeight") < 4_000, path
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        for width in (320, 1280):
            page.resize(width)
            cut = page.evaluate(
                "[...document.querySelectorAll('body *')]"
                ".filter(e => !e.closest('.machine, pre') && !e.matches('.skip, .unseen'))"
                ".filter(e => e.getBoundingClientRect().right > window.innerWidth)"
                ".map(e => `${e.tagName} ${e.className} ${e.textContent.slice(0, 30)}`)"
            )
            assert cut == [], path
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
