"""Where a message's id is put, so that the stack reads it there."""

from typing import Any

import pytest

from actonce.stack.message_ids import put_id


@pytest.mark.parametrize(
    ("where", "body", "put"),
    [
        ("body:message_id", {"amount": 20}, {"amount": 20, "message_id": "m-1"}),
        ("body: id ", {"id": "o-1"}, {"id": "m-1"}),
        ("body:order.id", {"order": {"id": 7, "to": "A"}}, {"order": {"id": "m-1", "to": "A"}}),
        ("body:order.id", {}, {"order": {"id": "m-1"}}),
        ("body:order.id", {"order": "o-1"}, None),
        ("body:join('/', [pk, sk])", {"pk": "p", "sk": "s"}, None),
        ("body:Records[0].id", {"Records": []}, None),
        ("deduplication-id", {}, None),
        ("body:message_id", ["no object"], None),
    ],
)
def test_an_id_is_put_where_one_place_of_the_body_has_it(where: str, body: Any, put: Any) -> None:
    before = repr(body)
    assert put_id(body, where, "m-1") == (body if put is None else put)
    assert repr(body) == before
