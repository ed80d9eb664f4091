"""What examples/worker takes for a message's id; tests/embedded/test_worker_example.py runs it."""

import importlib.util
import json
from types import ModuleType
from typing import Any

import pytest

from actonce.stack.embedded_folder import PROJECT
from actonce_core.execution import MAX_MESSAGE_ID_BYTES


@pytest.fixture(scope="module")
def worker() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "worker", PROJECT / "examples" / "worker" / "worker.py"
    )
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
    return module


@pytest.mark.parametrize(("found", "message_id"), [("m-1", "m-1"), (17, "17")])
def test_an_id_is_what_it_is_to_the_stack(worker: ModuleType, found: Any, message_id: str) -> None:
    assert worker.message_id(json.dumps({"message_id": found})) == message_id


def test_a_body_that_no_execution_takes_has_its_id(worker: ModuleType) -> None:
    assert worker.message_id(json.dumps({"message_id": "m-1", "x": "x" * 300_000})) == "m-1"


NO_IDS: list[Any] = [None, True, 1.5, [], {}, "", "x" * (MAX_MESSAGE_ID_BYTES + 1)]


@pytest.mark.parametrize(
    "body", ["no JSON", "[]", "{}", *(json.dumps({"message_id": one}) for one in NO_IDS)]
)
def test_what_no_delivery_can_mend_is_handed_on(worker: ModuleType, body: str) -> None:
    """An id that DynamoDB does not take would come back for ever, and hold up its group."""
    with pytest.raises(worker.HANDED_ON):
        worker.message_id(body)
