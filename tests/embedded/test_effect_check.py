"""`actonce effect check` of a function where it is deployed, by its ARN."""

import json
import os

import pytest

from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import Paths
from tests.actonce_server import run_actonce


@pytest.mark.long
def test_the_contract_is_tried_on_a_function_where_it_is_deployed(
    stack: Stack, embedded_paths: Paths
) -> None:
    function = stack.effect_function
    checked = run_actonce(
        (
            *("effect", "check", "--json", "--yes", function, "--find", function),
            *("--body", '{"practice": "checked"}', "--rejected", '{"practice": 7}'),
        ),
        {"PATH": os.environ["PATH"], "ACTONCE_DIR": str(embedded_paths.home)},
        seconds=300,
    )
    assert checked.returncode == 0, checked.stderr + checked.stdout
    found = {one["check"]: one["status"] for one in json.loads(checked.stdout)["checks"]}
    assert found["killed-in"] == found["two-at-once"] == "passed"
    assert found["killed-after"] == "not tried"
