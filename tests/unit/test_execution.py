import hashlib
import re

import pytest
from hypothesis import assume, example, given

from actonce_core.execution import execution_name, unusable_id
from tests.support.deliveries import message_ids

SAFE_NAME = re.compile(r"[0-9A-Za-z_-]{1,80}")
HASH_OF_A = "sha256-" + hashlib.sha256(b"a b").hexdigest()


@pytest.mark.parametrize("message_id", ["a", "order-1_B", "-", "x" * 80, "sha256-"])
def test_a_safe_id_is_the_execution_s_name(message_id: str) -> None:
    assert execution_name(message_id) == message_id


@pytest.mark.parametrize("message_id", ["x" * 81, "a b", "a\n", "a/b", "a.b", "é", "٣", HASH_OF_A])
def test_any_other_id_is_hashed_whole(message_id: str) -> None:
    digest = hashlib.sha256(message_id.encode()).hexdigest()
    assert execution_name(message_id) == f"sha256-{digest}"


@given(message_ids)
@example("\x00")
@example("sha256-" + "0" * 64)
def test_every_name_is_one_that_step_functions_takes(message_id: str) -> None:
    assert SAFE_NAME.fullmatch(execution_name(message_id))


@given(message_ids, message_ids)
def test_two_ids_never_share_a_name(one: str, other: str) -> None:
    assume(one != other)
    assert execution_name(one) != execution_name(other)


@given(message_ids)
@example("é" * 2000)
@example(HASH_OF_A)
def test_an_id_never_shares_a_name_with_what_another_became(message_id: str) -> None:
    derived = execution_name(message_id)
    if derived != message_id:
        assert execution_name(derived) != derived


@pytest.mark.parametrize(
    ("message_id", "is_usable"),
    [
        ("x" * 2048, True),
        ("x" * 2049, False),
        ("é" * 1024, True),
        ("é" * 1024 + "x", False),
        ("\ufffe", False),
        ("\x00", True),
    ],
)
def test_an_id_is_usable_up_to_2048_bytes_that_sqs_carries(
    message_id: str, is_usable: bool
) -> None:
    assert (unusable_id(message_id) is None) is is_usable
