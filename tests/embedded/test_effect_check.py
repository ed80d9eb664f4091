"""`actonce effect check` of a team's function where it is deployed, by its ARN."""

import io
import json
import os
import sys
import zipfile

import pytest

from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import PROJECT, Paths
from tests.actonce_server import run_actonce
from tests.support.tables import make_table

GIFT_CARDS = PROJECT / "examples" / "gift_cards" / "gift_cards.py"


@pytest.fixture
def gift_cards(stack: Stack) -> str:
    """A function that knows nothing of ActOnce, with a minute for a call."""
    make_table(stack.dynamodb, "gift-cards", "message_id")
    package = io.BytesIO()
    with zipfile.ZipFile(package, "w") as opened:
        opened.write(GIFT_CARDS, GIFT_CARDS.name)
    return stack.lambda_.create_function(
        FunctionName="gift-cards",
        Runtime=f"python3.{sys.version_info.minor}",  # type: ignore[arg-type]
        Role="arn:aws:iam::000000000000:role/gift-cards",
        Handler="gift_cards.handler",
        Code={"ZipFile": package.getvalue()},
        Timeout=60,
        Environment={"Variables": {"GIFT_CARDS_TABLE": "gift-cards"}},
    )["FunctionArn"]


@pytest.mark.long
def test_the_contract_is_tried_on_a_function_where_it_is_deployed(
    gift_cards: str, embedded_paths: Paths
) -> None:
    checked = run_actonce(
        (
            *("effect", "check", "--json", "--yes", gift_cards, "--find", gift_cards),
            *("--body", '{"amount": 20}', "--rejected", "{}", "--timeout", "60"),
        ),
        {"PATH": os.environ["PATH"], "ACTONCE_DIR": str(embedded_paths.home)},
        seconds=300,
    )
    assert checked.returncode == 0, checked.stderr + checked.stdout
    found = {one["check"]: one["status"] for one in json.loads(checked.stdout)["checks"]}
    assert found["killed-in"] == found["two-at-once"] == "passed"
    assert found["killed-after"] == "not tried"
