"""The code, the names and the pictures in docs/ and examples/ are true."""

import doctest
import itertools
import json
import re
import shlex
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from actonce.cli.app import COMMANDS
from actonce.stack.embedded_folder import PROJECT
from actonce_core.effect import Effect, answer
from actonce_core.reason import Reason
from docs import draw_state_machine as drawing
from lab.bench.cost import PAGE, PRICES, page, units
from tests.support import template
from tests.support.commands import run, succeeds
from tests.support.gift_card_provider import Provider, running

DOCS = PROJECT / "docs"
PAGES = [
    *DOCS.rglob("*.md"),
    *PROJECT.glob("*.md"),
    *PROJECT.glob(".github/*.md"),
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


MESSAGE_ID = "a/1 ü"
ORDERED = {"performed": True, "effect": {"order": 1}}
NO_ORDERS: list[Any] = [{}, {"amount": "20"}, [], None, 7]
NOT_ORDERED = ({"performed": False, "effect": None}, {"performed": False})
NODE = shutil.which("node")
IN_NODE = PROJECT / "examples" / "gift_cards" / "gift_cards.mjs"
ASK_NODE = f"""
import {{ handler }} from {json.dumps(IN_NODE.as_uri())};
try {{
  console.log(JSON.stringify(await handler(JSON.parse(process.argv[1]))));
}} catch (error) {{
  console.log(JSON.stringify({{ raised: error.name }}));
}}
"""


def ask_python(provider: Provider, event: Any) -> Any:
    """Ask the page's effect, made from the page's text."""
    (code,) = python_blocks("your-own-effect.md")
    namespace: dict[str, Any] = {"__name__": "gift_cards"}
    exec(compile(code, "docs/your-own-effect.md", "exec"), namespace)
    effect: Effect = namespace["GiftCards"](provider.connect)
    try:
        return answer(effect, event)
    except Exception as error:  # noqa: BLE001 - as Lambda tells it
        return {"raised": type(error).__name__}


def ask_node(provider: Provider, event: Any) -> Any:
    command = [NODE or "", "--input-type=module", "-e", ASK_NODE, json.dumps(event)]
    provided = {"PROVIDER_URL": f"http://127.0.0.1:{provider.port}"}
    return json.loads(succeeds(command, environment=provided))


needs_node = pytest.mark.skipif(NODE is None, reason="the example for Node needs node on the PATH")


CASES = [
    ("", {"amount": 20}, "", True),
    ("answer lost", {"amount": 20}, "another name", True),
    ("error after the order", {"amount": 20}, "another name", True),
    ("busy", {"amount": 20}, "NotPerformed", False),
    *(("", body, "Rejected", False) for body in NO_ORDERS),
]


@pytest.mark.parametrize(
    ("ask", "fault", "body", "raised", "is_ordered"),
    [
        *((ask_python, *case) for case in CASES),
        *(pytest.param(ask_node, *case, marks=needs_node) for case in CASES[1:5]),
    ],
)
def test_an_effect_of_the_pages_says_what_happened_and_never_guesses(
    ask: Callable[[Provider, Any], Any],
    fault: str,
    body: Any,
    raised: str,
    is_ordered: bool,
    provider: Provider,
) -> None:
    message = {"message_id": MESSAGE_ID, "body": json.dumps(body)}
    find = {"operation": "find", "message": {"message_id": MESSAGE_ID}}
    assert ask(provider, find) in NOT_ORDERED
    provider.fault = fault
    response = ask(provider, {"operation": "perform", "message": message})
    if raised == "another name":  # what nobody knows has none of the two
        assert response["raised"] not in ("NotPerformed", "Rejected")
    else:
        assert response == ({"raised": raised} if raised else ORDERED)
    assert len(provider.orders) == is_ordered
    found = ask(provider, find)
    assert found == ORDERED if is_ordered else found in NOT_ORDERED
    provider.fault = "cannot look"
    assert "raised" in ask(provider, find)


def test_the_effect_of_the_page_takes_a_closed_door_for_nothing(provider: Provider) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed_again:
        provider.port = closed_again.getsockname()[1]
    message = {"message_id": MESSAGE_ID, "body": '{"amount": 20}'}
    event = {"operation": "perform", "message": message}
    assert ask_python(provider, event) == {"raised": "NotPerformed"}


def test_the_code_of_the_page_passes_the_checks_of_the_project() -> None:
    (code,) = python_blocks("your-own-effect.md")
    as_file = ["--stdin-filename", "functions/gift_cards.py", "-"]
    checked = run([sys.executable, "-m", "ruff", "check", *as_file], input_text=code)
    assert checked.returncode == 0, checked.stdout


def test_the_examples_of_the_message_id_page_are_true() -> None:
    result = doctest.testfile(str(DOCS / "message-id.md"), module_relative=False)
    assert result.attempted > 8
    assert result.failed == 0


def alarms_explained(text: str) -> set[str]:
    """The alarms that a table's rows begin with."""
    rows = re.findall(r"^\| (`\w+Alarm`.*?) \|", text, re.MULTILINE)
    return set(re.findall(r"`(\w+Alarm)`", " ".join(rows)))


def test_every_reason_and_alarm_is_explained() -> None:
    definition = (PROJECT / "statemachine" / "process_message.asl.json").read_text()
    of_dead_letters = set(re.findall(r'"reason": "(\w+)"', definition))
    of_stack = template.load(PROJECT / "templates/alarms.yaml")
    alarms = template.of_type(of_stack, "AWS::CloudWatch::Alarm").keys()
    operations = read("operations.md")

    assert of_dead_letters
    assert [one for one in of_dead_letters if f"| `{one}` |" not in operations] == []
    # So one that is taken out of a template is noticed.
    assert alarms == alarms_explained(operations)
    of_the_audit = {
        name
        for file in ("templates/audit.yaml", "templates/records.yaml")
        for name in template.of_type(template.load(PROJECT / file), "AWS::CloudWatch::Alarm")
    }
    assert of_the_audit == alarms_explained(read("daily-audit.md"))
    assert [reason for reason in Reason if f"| `{reason}` |" not in operations] == []


def test_every_name_of_a_parameter_is_one_of_the_template() -> None:
    parameters = template.load()["Parameters"]
    names = {
        name
        for page in ("message-id.md", "operations.md", "your-own-effect.md")
        for name in re.findall(
            r"`([A-Z]\w+(?:Seconds|From|Concurrency|Email|Days|Data))`", read(page)
        )
    }
    assert len(names) > 5
    assert names <= parameters.keys()


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


PIPELINE = PROJECT / "examples" / "pipeline" / "deploy.yml"
COMMAND_LINES = {
    line
    for page in (*PAGES, PIPELINE)
    for line in re.findall(
        r"^(?: {4}| +- run: )?(?:echo .*\| )?actonce (.*)$",
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
    story, assumed = read("how-it-works.md").split("## 5. ")  # where things are looked up
    assert len(story.split()) <= 1500
    assert len(assumed.split()) <= 750


# --------------------------------------------------------------------------- the page of costs


def test_the_committed_page_is_what_the_shipped_code_takes_at_these_prices() -> None:
    text = PAGE.read_text()

    assert text == page(text, json.loads(PRICES.read_text())), "run python -m lab.bench.cost"


@pytest.mark.parametrize(
    ("kind", "request_", "expected"),
    [
        ("UpdateItem", {}, (1, 0)),
        ("TransactWriteItems", {"TransactItems": [{"ConditionCheck": {}}, {"Put": {}}]}, (4, 0)),
        ("GetItem", {}, (0, 0.5)),
        ("GetItem", {"ConsistentRead": True}, (0, 1)),
    ],
)
def test_a_request_takes_the_units_that_aws_says(
    kind: str, request_: dict[str, Any], expected: tuple[int, float]
) -> None:
    assert units(kind, request_) == expected


# --------------------------------------------------------------------------- the picture


def test_the_picture_shows_every_transition_and_no_other() -> None:
    definition = json.loads(drawing.DEFINITION.read_text())
    transitions = set(drawing.edges(definition))
    svg = drawing.PICTURE.read_text().replace("&#45;", "-").replace("&gt;", ">")
    drawn = set(re.findall(r"<title>([^<]+?)(?::\w+)?->([^<]+?)(?::\w+)?</title>", svg))
    assert drawn == {("Start", definition["StartAt"])} | transitions
    assert set(drawing.WORDS) == transitions
