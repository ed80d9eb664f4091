import io
import json
from typing import Any

import pytest
from aws_lambda_powertools import Logger
from hypothesis import given
from hypothesis import strategies as st

from actonce_core.records import log_line


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.none()))
def test_a_line_is_its_record_and_a_terminal_can_be_shown_it(record: dict[str, Any]) -> None:
    line = log_line(record)
    assert json.loads(line) == record
    assert line.isprintable()


def test_letters_stay_legible_and_what_acts_is_escaped() -> None:
    assert log_line({"message_id": "Zoë"}) == '{"message_id":"Zoë"}'
    line = log_line({"message_id": "\x1b[2J\x9b\x7f\u202e\ud800"})
    assert line == r'{"message_id":"\u001b[2J\u009b\u007f\u202e\ud800"}'


def test_the_functions_write_such_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    # Loggers of one name are one logger, and other tests have made theirs.
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "test-log-lines")
    logger, stream = Logger(json_serializer=log_line), io.StringIO()
    monkeypatch.setattr(logger.registered_handler, "stream", stream)
    logger.info("delivery", extra={"message_id": "a\u202eb", "error": ValueError("x")})
    assert r"a\u202eb" in stream.getvalue()
    assert json.loads(stream.getvalue())["error"] == "x"
