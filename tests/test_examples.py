"""The example in another language says what the contract asks."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from actonce.stack.embedded_folder import PROJECT
from tests.gift_card_provider import Provider, running

GIFT_CARDS = PROJECT / "examples" / "gift_cards" / "gift_cards.mjs"
ASK = f"""
import {{ handler }} from {json.dumps(GIFT_CARDS.as_uri())};
try {{
  console.log(JSON.stringify(await handler(JSON.parse(process.argv[1]))));
}} catch (error) {{
  console.log(JSON.stringify({{ raised: error.name }}));
}}
"""

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None, reason="the example for Node needs node on the PATH"
)

MESSAGE = {"message_id": "m", "body": '{"amount": 20}'}
FOUND = {"performed": True, "effect": {"order": 1}}


@pytest.fixture
def provider() -> Iterator[Provider]:
    with running() as provider:
        yield provider


def ask(provider: Provider, operation: str, message: Any = MESSAGE) -> Any:
    event = json.dumps({"operation": operation, "message": message})
    answer = subprocess.run(
        ["node", "--input-type=module", "-e", ASK, event],
        env={"PROVIDER_URL": f"http://127.0.0.1:{provider.port}"},
        executable=shutil.which("node"),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return json.loads(answer.stdout)


def test_it_performs_and_finds(provider: Provider) -> None:
    assert ask(provider, "find") == {"performed": False}
    assert ask(provider, "perform") == FOUND
    assert ask(provider, "find") == FOUND


def test_it_says_by_the_name_of_its_error_that_nothing_happened(provider: Provider) -> None:
    provider.fault = "busy"
    assert ask(provider, "perform") == {"raised": "NotPerformed"}
    for body in ({"amount": "20"}, None, 7):
        told = ask(provider, "perform", {"message_id": "m", "body": json.dumps(body)})
        assert told == {"raised": "Rejected"}
    assert provider.orders == []


def test_what_nobody_knows_is_raised(provider: Provider) -> None:
    for fault in ("answer lost", "error after the order"):
        provider.fault = fault
        told = ask(provider, "perform", MESSAGE | {"message_id": fault})
        assert told["raised"] not in ("NotPerformed", "Rejected")
    provider.fault = "cannot look"
    assert "raised" in ask(provider, "find")
