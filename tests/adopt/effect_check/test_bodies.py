"""Whose body `effect check` takes if nobody gives one."""

import json
import re
from pathlib import Path

from actonce.adopt.effect_check.bodies import sample_body
from actonce.stack.embedded_folder import PROJECT


def test_the_event_that_the_page_shows_is_one_whose_body_is_taken(tmp_path: Path) -> None:
    page = (PROJECT / "docs" / "your-own-effect.md").read_text("utf-8")
    (event,) = re.findall(r"^```json\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    sample = tmp_path / "events" / "perform.json"
    sample.parent.mkdir()
    sample.write_text(event)

    assert sample_body(tmp_path) == {"message_id": "request-1", "amount": 20}
    ours = PROJECT / "actonce/adopt/project/skeleton/events/perform.json"
    assert json.loads(event)["message"] == json.loads(ours.read_bytes())["message"]
