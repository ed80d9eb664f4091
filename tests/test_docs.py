"""The code and the names in docs/ are true."""

import doctest
import itertools
import json
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actonce.cli.app import COMMANDS
from actonce.stack.embedded_folder import PROJECT
from actonce_core.effect import Effect, NotPerformed, OutcomeUnknown, Rejected, answer
from actonce_core.message import Reason
from tests import template
from tests.gift_card_provider import Provider, running

DOCS = PROJECT / "docs"
PAGES = [
    *DOCS.rglob("*.md"),
    *PROJECT.glob("*.md"),
    PROJECT / "events" / "README.md",
    PROJECT / "lab" / "bench" / "README.md",
]
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda it: str(it.relative_to(PROJECT)))


def read(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def python_blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", read(page), re.DOTALL | re.MULTILINE)


@pytest.fixture
def provider() -> Iterator[Provider]:
    with running() as provider:
        yield provider


@pytest.fixture
def gift_cards(provider: Provider) -> Effect:
    """The page's effect, made from the page's text."""
    (code,) = python_blocks("your-own-effect.md")
    namespace: dict[str, Any] = {"__name__": "gift_cards"}
    exec(compile(code, "docs/your-own-effect.md", "exec"), namespace)
    effect: Effect = namespace["GiftCards"](provider.connect)
    return effect


PERFORM = {"operation": "perform", "message": {"message_id": "a/1 ü", "body": '{"amount": 20}'}}
FIND = {"operation": "find", "message": {"message_id": "a/1 ü"}}
NOT_FOUND = {"performed": False, "effect": None}


def test_the_effect_of_the_page_is_performed_and_then_found(gift_cards: Effect) -> None:
    assert answer(gift_cards, FIND) == NOT_FOUND
    performed = answer(gift_cards, PERFORM)
    assert performed == {"performed": True, "effect": {"order": 1}}
    assert answer(gift_cards, FIND) == performed


@pytest.mark.parametrize("fault", ["answer lost", "error after the order"])
def test_the_effect_of_the_page_never_guesses_that_nothing_happened(
    fault: str, gift_cards: Effect, provider: Provider
) -> None:
    provider.fault = fault
    with pytest.raises(OutcomeUnknown):
        answer(gift_cards, PERFORM)
    assert len(provider.orders) == 1
    assert answer(gift_cards, FIND) == {"performed": True, "effect": {"order": 1}}


def test_the_effect_of_the_page_is_not_performed_where_no_order_was_taken(
    gift_cards: Effect, provider: Provider
) -> None:
    provider.fault = "busy"
    with pytest.raises(NotPerformed):
        answer(gift_cards, PERFORM)
    assert provider.orders == []
    assert answer(gift_cards, FIND) == NOT_FOUND


def test_the_effect_of_the_page_is_not_performed_where_nobody_listens(
    gift_cards: Effect, provider: Provider
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed_again:
        provider.port = closed_again.getsockname()[1]
    with pytest.raises(NotPerformed):
        answer(gift_cards, PERFORM)


@pytest.mark.parametrize("body", [{}, {"amount": "20"}, [], None])
def test_the_effect_of_the_page_rejects_what_can_never_be_ordered(
    body: Any, gift_cards: Effect, provider: Provider
) -> None:
    message = {"message_id": "a/1 ü", "body": json.dumps(body)}
    with pytest.raises(Rejected):
        answer(gift_cards, {"operation": "perform", "message": message})
    assert provider.orders == []


def test_the_effect_of_the_page_does_not_take_a_failed_look_for_nothing(
    gift_cards: Effect, provider: Provider
) -> None:
    provider.fault = "cannot look"
    with pytest.raises(RuntimeError):
        answer(gift_cards, FIND)


@pytest.mark.parametrize("command", [["check"], ["format", "--check"]], ids=" ".join)
def test_the_code_of_the_page_passes_the_checks_of_the_project(command: list[str]) -> None:
    (code,) = python_blocks("your-own-effect.md")
    as_file = ["--stdin-filename", "functions/gift_cards.py", "-"]
    run = subprocess.run(
        [sys.executable, "-m", "ruff", *command, *as_file],
        input=code,
        cwd=PROJECT,
        capture_output=True,
        check=False,
        text=True,
    )
    assert run.returncode == 0, run.stdout


def test_the_examples_of_the_message_id_page_are_true() -> None:
    result = doctest.testfile(str(DOCS / "message-id.md"), module_relative=False)
    assert result.attempted > 10
    assert result.failed == 0


def test_every_reason_is_explained_and_has_its_remedy() -> None:
    for page in ("message-id.md", "operations.md"):
        text = read(page)
        assert [reason for reason in Reason if f"`{reason}`" not in text] == []


def test_every_alarm_has_its_row() -> None:
    text = read("operations.md")
    for file in ("alarms.yaml", "locks.yaml"):
        alarms = template.of_type(template.load(PROJECT / file), "AWS::CloudWatch::Alarm")
        assert alarms
        assert [name for name in alarms if f"| `{name}` |" not in text] == []


def test_every_reason_of_a_dead_letter_has_its_row() -> None:
    definition = (PROJECT / "statemachine" / "process_message.asl.json").read_text()
    reasons = set(re.findall(r'"reason": "(\w+)"', definition))
    assert reasons
    text = read("operations.md")
    assert [reason for reason in reasons if f"| `{reason}` |" not in text] == []


def test_every_name_of_a_parameter_is_one_of_the_template() -> None:
    parameters = template.load()["Parameters"]
    named = {
        name
        for page in ("message-id.md", "operations.md", "your-own-effect.md")
        for name in re.findall(
            r"`([A-Z]\w+(?:Seconds|From|Concurrency|Email|Days|Data))`", read(page)
        )
    }
    assert len(named) > 5
    assert named <= parameters.keys()


def anchors(page: Path) -> set[str]:
    """The fragments by which GitHub links to a page's headings."""
    prose = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ +(.*)$", prose, re.MULTILINE)
    shown = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in shown}


@every_page
def test_every_link_leads_to_a_file_and_to_a_heading_of_it(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?", page.read_text("utf-8"))
    astray = []
    for path, anchor in links:
        if "://" in path:
            continue
        target = page.parent / path if path else page
        is_there = target.exists() and (
            not anchor or target.suffix != ".md" or anchor in anchors(target)
        )
        if not is_there:
            astray.append(f"{path}#{anchor}")
    assert astray == []


COMMAND_LINES = {
    line
    for page in PAGES
    for line in re.findall(
        r"^(?: {4})?(?:echo .*\| )?actonce (.*)$",
        page.read_text("utf-8").replace("\\\n", " "),
        re.MULTILINE,
    )
}


@pytest.mark.parametrize("line", sorted(COMMAND_LINES))
def test_every_command_of_a_page_is_one_that_the_command_line_takes(line: str) -> None:
    arguments = list(itertools.takewhile("|".__ne__, shlex.split(line, comments=True)))
    words = 2 if " ".join(arguments[:2]) in COMMANDS else 1
    name = " ".join(arguments[:words])
    command, rest = COMMANDS[name].load(name), arguments[words:]
    if hasattr(command, "commands"):
        command, rest = command.commands[rest[0]], rest[1:]
    command.make_context(name, rest)  # parses and runs nothing; raises of what it does not take


def test_a_link_to_a_line_leads_to_what_its_title_says() -> None:
    text = read("how-it-works.md")
    links = re.findall(r"\]\(\.\./([^)#]+)#L(\d+) '([^']+)'\)", text)
    assert len(links) == text.count("#L") > 10
    for path, number, title in links:
        assert title in (PROJECT / path).read_text("utf-8").splitlines()[int(number) - 1], path


def test_how_it_works_is_read_in_one_sitting() -> None:
    assert len(read("how-it-works.md").split()) <= 1500
