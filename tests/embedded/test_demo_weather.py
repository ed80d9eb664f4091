"""`actonce demo --weather`, run as a person runs it."""

import pytest

from actonce.stack.embedded_folder import Paths
from tests.embedded.running_demo import demo

pytestmark = pytest.mark.embedded


@pytest.mark.long
def test_a_throttled_start_execution_passes_by_itself(paths: Paths) -> None:
    answer = demo(paths, "--weather", "throttled", "--messages", "60")
    assert answer["weather"] == "throttled"
    assert answer["did_not_pass"] > 0
    assert answer["distinct"] == answer["effects"] == 60
    assert answer["refused"] == {}
    assert answer["acted_on_twice"] == answer["lost"] == answer["awaiting_decision"] == 0
