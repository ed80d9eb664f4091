"""What a person does in the console: clicked and typed in Chromium, on the embedded AWS."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actonce.embedded import faults, lifecycle
from actonce.embedded.lifecycle import State
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from tests.embedded.command_line import console
from tests.embedded.waiting import wait_for_execution
from tests.support.browser import Browser, Page, browser_or_skip

pytestmark = [pytest.mark.embedded, pytest.mark.long]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from browser_or_skip("the console's journeys")


@pytest.fixture(scope="module")
def deployed(paths: Paths) -> tuple[State, Stack]:
    parameters = {
        "EffectTimeoutSeconds": "20",  # and so long is AwaitStraggler to be seen in the browser
    }
    return lifecycle.up(paths, lambda _: None, parameters=parameters)


@pytest.fixture(scope="module")
def site(deployed: tuple[State, Stack]) -> Stack:
    return deployed[1]


@pytest.fixture
def page(browser: Browser, deployed: tuple[State, Stack], tmp_path: Path) -> Iterator[Page]:
    with (
        console(deployed[0].endpoint_url, tmp_path) as address,
        browser.window() as opened,
    ):
        opened.open(address)
        yield opened
        assert opened.complaints == []


def send(stack: Stack, message_id: str, practice: Any = "main") -> None:
    body = json.dumps({"message_id": message_id, "practice": practice})
    stack.sqs.send_message(QueueUrl=stack.requests_queue, MessageBody=body)


def find(page: Page, message_id: str) -> None:
    page.press("/")
    page.type(message_id)
    page.press("Enter")
    page.wait_for(f"document.querySelector('h1')?.textContent == {json.dumps(message_id)}")


def test_find_out_why_a_message_has_no_effect_and_decide(page: Page, site: Stack) -> None:
    message_id = f"no-effect-{uuid.uuid4()}"
    send(site, message_id, practice=7)
    find(page, message_id)
    page.wait_for("document.querySelector('.node.current')?.id == 'state_DeadLetter'")
    assert "practice must be a string of 1 to 200 characters" in page.text(".timeline")
    page.wait_for("document.querySelector('.timeline').innerText.includes('StarterFunction')")

    # Its letter is among what waits, and is decided on there, with a reason.
    page.click("nav a[data-key=w]")
    page.click('#waiting a[href*="reason=rejected"]')
    page.click(f'main a[href*="{message_id}"]')
    page.click('#decide input[value="reject"]')
    page.click("#decide #note")
    page.type("no such practice")
    page.press("Enter")
    page.wait_for("document.querySelector('#job')?.innerText.includes('finished')")
    execution = wait_for_execution(site, site.execution_arn(message_id))
    assert (execution["status"], execution["cause"]) == ("FAILED", "no such practice")
    find(page, message_id)
    page.wait_for("document.querySelector('.node.failed')?.id == 'state_Failed'")
    assert "decided: reject" in page.text(".timeline")


def test_watch_a_message_from_before_it_is_sent_to_its_end(
    page: Page, site: Stack, paths: Paths
) -> None:
    message_id = f"live-{uuid.uuid4()}"
    lost = {message_id: {"perform": ["after:Lambda.ServiceException"]}}
    with faults.around_functions(paths.faults, lost):
        find(page, message_id)
        page.wait_for("document.querySelector('.unseen-yet')")
        page.evaluate("window.isTheSamePage = true")
        send(site, message_id, practice="main")
        page.wait_for("document.querySelector('.node.current')?.id == 'state_AwaitStraggler'")
        page.wait_for("document.querySelector('.node.ended')?.id == 'state_Done'")
    assert page.evaluate("window.isTheSamePage")
    assert "it had happened" in page.text(".timeline")
    page.wait_for("document.querySelector('.status.found')")
    page.wait_for("!document.querySelector('#now').hasAttribute('hx-trigger')")
