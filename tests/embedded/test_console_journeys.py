"""What a person does in the console: clicked and typed in Chromium, on the embedded AWS."""

import json
import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from actonce.embedded import lifecycle
from actonce.embedded.lifecycle import State
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from lab.faults.stack import under
from lab.faults.transient import Injector, TransientFailure
from tests.browser import Browser, Page, browser_or_skip
from tests.embedded.command_line import run
from tests.embedded.running_console import console
from tests.embedded.waiting import wait_for_execution, wait_until

pytestmark = [pytest.mark.embedded, pytest.mark.long]

LETTERS = int(os.environ.get("ACTONCE_LETTERS", "300"))

Sends = Callable[..., None]


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


@pytest.fixture(scope="module")
def address(
    deployed: tuple[State, Stack], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    with console(deployed[0].endpoint_url, tmp_path_factory.mktemp("console")) as told:
        yield told


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    with browser.window() as opened:
        opened.open(address)
        yield opened
        assert opened.complaints == []


@pytest.fixture(scope="module")
def sends(site: Stack) -> Sends:
    def send_one(message_id: str, **more: Any) -> None:
        body = json.dumps({"message_id": message_id, **more})
        site.sqs.send_message(QueueUrl=site.requests_queue, MessageBody=body)

    return send_one


def book(stack: Stack, practice: str, *, closed: bool) -> None:
    """The switch of a practice's book: while it is closed nothing is booked."""
    stack.dynamodb.update_item(
        TableName=stack.appointments_table,
        Key={"message_id": {"S": "#book"}, "appointment_id": {"S": f"book-{practice}"}},
        UpdateExpression="SET closed = :closed",
        ExpressionAttributeValues={":closed": {"BOOL": closed}},
    )


def lying(stack: Stack, queue: str) -> int:
    """How many messages a queue has, in flight or not."""
    found = stack.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])
    told: Mapping[str, str] = dict(found["Attributes"].items())
    names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
    return sum(int(told[name]) for name in names)


@contextmanager
def arriving(stack: Stack, queue: str, number: int) -> Iterator[None]:
    """Wait until so many more lie in a queue than before what is done in here."""
    before = lying(stack, queue)
    yield
    wait_until(lambda: lying(stack, queue) >= before + number, 300)


def new(kind: str) -> str:
    return f"{kind}-{uuid.uuid4()}"


def find(page: Page, message_id: str) -> None:
    page.wait_for("document.readyState == 'complete'")  # its script listens
    page.press("/")
    page.type(message_id)
    page.press("Enter")
    page.wait_for(f"document.querySelector('h1')?.textContent == {json.dumps(message_id)}")


def look_again(page: Page) -> None:
    """Have the dead letters read by the key for it, and wait until they are."""
    page.wait_for("!document.querySelector('#waiting [data-key=u]:disabled')")
    page.evaluate("window.isBefore = true")
    page.press("u")  # which opens the page anew
    page.wait_for("!window.isBefore && document.readyState == 'complete'")
    page.wait_for("!document.querySelector('#waiting [data-key=u]:disabled')")


def go_to(page: Page, part: str) -> None:
    """Press `j` until the focus is on a row's link that has a part in its address, and open it."""
    rows = page.evaluate("document.querySelectorAll('[data-row]').length")
    for _ in range(rows):
        page.press("j")
        if part in str(page.evaluate("document.activeElement.href")):
            break
    before = page.evaluate("location.href")
    page.press("Enter")
    page.wait_for(f"location.href != {json.dumps(before)} && document.readyState == 'complete'")
    assert part in page.evaluate("location.href")


@pytest.mark.parametrize("by", ["keyboard", "mouse"])
def test_find_out_why_a_message_has_no_effect(
    page: Page, site: Stack, sends: Sends, by: str
) -> None:
    message_id = new("no-effect")
    with arriving(site, site.dead_letter_queue, 1):
        sends(message_id, practice=7)
    look_again(page)

    if by == "keyboard":
        go_to(page, "reason=rejected")
        go_to(page, message_id)
    else:
        page.click('#waiting a[href*="reason=rejected"]')
        page.click(f'main a[href*="{message_id}"]')

    page.wait_for("document.querySelector('.node.current')?.id == 'state_DeadLetter'")
    told = page.text(".timeline")
    assert "practice must be a string of 1 to 200 characters" in told
    page.wait_for("document.querySelector('.timeline').innerText.includes('StarterFunction')")

    # And decides on it, with a reason.
    page.click('#decide input[value="reject"]')
    page.click("#decide #note")
    page.type("no such practice")
    page.press("Enter")
    page.wait_for("document.querySelector('#job')?.innerText.includes('all seen to')")
    execution = wait_for_execution(site, site.execution_arn(message_id))
    assert (execution["status"], execution["cause"]) == ("FAILED", "no such practice")
    find(page, message_id)
    page.wait_for("document.querySelector('.node.failed')?.id == 'state_Failed'")
    assert "decided: reject" in page.text(".timeline")


def test_decide_on_all_letters_of_an_outage_by_keyboard(
    page: Page, site: Stack, sends: Sends
) -> None:
    practice = new("outage")
    book(site, practice, closed=True)
    ids = [f"{practice}-{number:03d}" for number in range(LETTERS)]
    with arriving(site, site.dead_letter_queue, LETTERS):
        for message_id in ids:
            sends(message_id, practice=practice)
    book(site, practice, closed=False)
    look_again(page)
    # On a slow machine some have met something else as well, and are of another kind.
    link = "document.querySelector('#waiting a[href*=\"error=NotPerformed\"]')"
    number = int(page.evaluate(f"{link}.closest('tr').querySelector('.n').innerText"))
    assert number > LETTERS / 2

    go_to(page, "error=NotPerformed")
    page.press("a", "t")
    page.wait_for(f"document.querySelector('h1').innerText == 'Retry {number} dead letters?'")
    command = page.evaluate("document.querySelector('.command').textContent")
    assert "dead-letters retry --all --reason not_performed --error NotPerformed" in command
    # What comes after it was seen is not decided with it.
    late = new("late")
    book(site, late, closed=True)
    with arriving(site, site.dead_letter_queue, 1):
        sends(late, practice=late)
    page.type("the provider is back")
    page.press("Enter")

    page.wait_for("document.querySelector('#job')?.innerText.includes('all seen to')", seconds=300)
    assert f"{number} of {number}" in page.text("#job")
    assert f"{number} decided" in page.text("#job")
    arns = [site.execution_arn(message_id) for message_id in ids]

    def are_performed() -> bool:
        found = [site.stepfunctions.describe_execution(executionArn=arn)["status"] for arn in arns]
        # So many at once are more than the functions here can take: of some the patience, which is
        # short here, runs out once more, and they are letters again.
        return found.count("SUCCEEDED") > number / 2

    wait_until(are_performed, 120)
    find(page, late)
    page.wait_for("document.querySelector('#decide')")


def test_see_that_a_duplicate_was_suppressed_and_when(page: Page, sends: Sends) -> None:
    message_id = new("twice")
    for _ in range(2):
        sends(message_id, practice="main")
    find(page, message_id)
    page.wait_for("document.querySelector('.status.succeeded')")

    def is_told() -> bool:
        page.press("u")
        return bool(page.evaluate("!!document.querySelector('.suppressed time')"))

    wait_until(is_told)
    assert "1 of 2 deliveries suppressed" in page.text(".status-line")
    # In the reader's zone, and in UTC on hover.
    page.look(zone="Asia/Tokyo")
    page.evaluate("window.isBefore = true; location.reload()")
    page.wait_for("!window.isBefore")
    at = "document.querySelector('.suppressed time[data-told]')"
    page.wait_for(at)
    told, shown = page.evaluate(f"[{at}.dateTime, {at}.textContent]")
    hour = (int(told[11:13]) + 9) % 24
    assert f"{hour % 12 or 12:02d}:{told[14:16]}" in shown
    assert page.evaluate(f"{at}.title") == f"{told} (UTC)"


def test_see_what_a_conflict_differs_in_and_send_it_back(
    page: Page, site: Stack, sends: Sends
) -> None:
    message_id = new("conflict")
    sends(message_id, practice="main", patient="<b>Zoë</b>")
    wait_until(lambda: _exists(site, message_id))
    with arriving(site, site.unstarted_queue, 1):
        sends(message_id, practice="harbour", patient="<b>Zoë</b>")
    page.evaluate("window.isBefore = true")
    page.click('#waiting section[aria-labelledby="unstarted-title"] button')
    page.wait_for("!window.isBefore && document.readyState == 'complete'")
    page.click('#waiting a[href*="reason=conflict"]')
    page.wait_for("location.pathname == '/unstarted' && document.readyState == 'complete'")
    page.click("main table a")

    page.wait_for("document.querySelector('.difference')")
    assert page.text(".difference del") == "main"
    assert page.text(".difference ins") == "harbour"
    assert "<b>Zoë</b>" in page.text(".difference")
    assert "SUCCEEDED" in page.text(".difference thead")

    page.click('button[value="redrive"]')
    page.wait_for("document.querySelector('h1').innerText == 'Send back 1 delivery?'")
    page.click("button.go")
    page.wait_for("document.querySelector('#job')?.innerText.includes('all seen to')")
    assert "1 sent back" in page.text("#job")
    # It is still another content: it comes here again, as the page said.
    wait_until(lambda: lying(site, site.unstarted_queue) > 0)


def _exists(stack: Stack, message_id: str) -> bool:
    try:
        arn = stack.execution_arn(message_id)
        return bool(stack.stepfunctions.describe_execution(executionArn=arn))
    except stack.stepfunctions.exceptions.ExecutionDoesNotExist:
        return False


def test_watch_a_message_from_before_it_is_sent_to_its_end(
    page: Page, site: Stack, sends: Sends
) -> None:
    message_id = new("live")
    injector = Injector()
    with under(site, injector):
        injector.change(TransientFailure("lost", "An answer is lost.", loses_answers=True))
        find(page, message_id)
        page.wait_for("document.querySelector('.unseen-yet')")
        page.evaluate("window.isTheSamePage = true")
        sends(message_id, practice="main")
        page.wait_for("document.querySelector('.node.current')?.id == 'state_AwaitStraggler'")
        page.wait_for("document.querySelector('.node.ended')?.id == 'state_Done'")
    assert page.evaluate("window.isTheSamePage")
    assert "it had happened" in page.text(".timeline")
    page.wait_for("document.querySelector('.outcome-found')")
    page.wait_for("!document.querySelector('#now').hasAttribute('hx-trigger')")


def test_a_second_tab_and_somebody_else_s_decision_are_harmless_and_said(
    page: Page, site: Stack, sends: Sends, deployed: tuple[State, Stack]
) -> None:
    message_id = new("decided-elsewhere")
    with arriving(site, site.dead_letter_queue, 1):
        sends(message_id, practice=7)
    find(page, message_id)
    page.wait_for("document.querySelector('#decide')")
    tab = page.tab(page.evaluate("location.href"))
    tab.wait_for("document.querySelector('#decide')")
    decided = run(deployed[0], "dead-letters", "reject", message_id, "--note", "by a colleague")
    assert decided.returncode == 0, decided.stderr

    for one in (page, tab):
        one.click('#decide input[value="resolve"]')
        one.click("#decide #note")
        one.type("done by phone")
        one.click("#decide button.go", times=2)
        one.wait_for("document.querySelector('#job')?.innerText.includes('of 1')")
        one.wait_for("document.querySelector('#job td .bad, #job .bad')")
    execution = wait_for_execution(site, site.execution_arn(message_id))
    assert (execution["status"], execution["cause"]) == ("FAILED", "by a colleague")


def test_a_console_that_is_ended_is_told_and_nothing_that_was_typed_is_lost(
    browser: Browser,
    site: Stack,
    sends: Sends,
    deployed: tuple[State, Stack],
    tmp_path: Path,
) -> None:
    message_id = new("typed")
    with arriving(site, site.dead_letter_queue, 1):
        sends(message_id, practice=7)
    with browser.window() as page:
        with console(deployed[0].endpoint_url, tmp_path) as own:
            page.open(own)
            find(page, message_id)
            page.wait_for("document.querySelector('#now [data-key=u]')")  # the log has been read
            page.click('#decide input[value="resolve"]')
            page.click("#decide #note")
            page.type("a long story")
        page.click("#decide button.go")
        page.wait_for("!document.querySelector('#offline').hidden")
        assert "does not answer" in page.text("#offline")
        assert page.evaluate("document.querySelector('#note').value") == "a long story"
        assert page.evaluate("document.querySelector('#decide input:checked').value") == "resolve"
