"""One message: its path, its timeline, what waits of it, and deciding on it."""

import secrets
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from actonce.console.answers import as_json, page, wants_json
from actonce.console.desk import Desk
from actonce.console.letters import Letter
from actonce.console.machine_picture import machine_picture
from actonce.console.stories import Told
from actonce.console.views.dead_letters import DECISIONS, command_of_one
from actonce.console.views.many import how_far_read
from actonce.messages import history
from actonce.messages.dead_letters import decisions_on, is_of_last
from actonce.messages.story import Story
from actonce.operate.message_summary import (
    acted_on,
    message_argument,
    outcome_of,
    sentence,
    sentence_of_conflicts,
)
from actonce.operate.pausing import find_pause
from actonce.operate.status import Depth
from actonce.operate.unread import sentences
from actonce.stack.sources import sources
from actonce_core.histories.events import details
from actonce_core.histories.reading import read_events

_WHILE_IT_RUNS, _WHILE_IT_WAITS = 2, 15
"""Seconds between two looks: while it goes on by itself, and while a person has to decide."""

_PICTURE = sources() / "docs" / "pictures" / "process_message.svg"


def message(desk: Desk, request: Request) -> Response:
    """All of it but the starter's log, which the page asks for when it is there."""
    message_id = _id(request)
    _look_where_unseen(desk, message_id)
    if wants_json(request):
        return as_json(desk.stories.with_log(message_id).story.as_json())
    told = desk.stories.fresh(message_id)
    return page(desk, "message.html.j2", asked=message_id, **_values(desk, told))


def now(desk: Desk, request: Request) -> Response:
    """How it is now, while it is not over."""
    message_id = _id(request)
    _look_where_unseen(desk, message_id)
    told = desk.stories.now(message_id)
    return page(desk, "message_now.html.j2", asked=message_id, **_values(desk, told))


def log(desk: Desk, request: Request) -> Response:
    """The same, and what the starter's log has of it now."""
    message_id = _id(request)
    told = desk.stories.with_log(message_id)
    return page(desk, "message_now.html.j2", asked=message_id, **_values(desk, told))


def raw(desk: Desk, request: Request) -> Response:
    """Input, output, error, cause and every event as Step Functions has them."""
    message_id = _id(request)
    execution = history.find_execution_of(desk.stack, message_id)
    events = read_events(desk.stack.stepfunctions, execution.arn) if execution is not None else []
    return page(
        desk,
        "raw.html.j2",
        asked=message_id,
        execution=execution,
        events=[
            (event["id"], event["timestamp"], event["type"], details(event)) for event in events
        ],
    )


def verdict(desk: Desk, request: Request) -> Response:
    """What the last audit said of it."""
    found = desk.audits.of_message(_id(request))
    return page(desk, "verdict.html.j2", verdict=found)


def _look_where_unseen(desk: Desk, message_id: str) -> None:
    """Have UnstartedQueue read if it has changed, while nothing is known of the message."""
    if not desk.stories.is_known(message_id):
        desk.look_if_changed("unstarted")


def _id(request: Request) -> str:
    return request.query_params.get("id", "")


def _values(desk: Desk, told: Told) -> dict[str, Any]:
    story = told.story
    values: dict[str, Any] = {
        "told": told,
        "story": story,
        "every": _every(desk, told),
        "argument": message_argument(story),
        "snapshot": desk.unstarted.latest,
    }
    if not story.is_known:
        return values | {"unseen": _unseen(desk, told)}
    return values | {
        "unseen": None,
        "status": story.execution.status if story.execution else (story.row or {}).get("status"),
        "outcome": outcome_of(story),
        "acted_on": acted_on(story),
        "sentence": sentence(story) if told.log_read else None,
        "conflicts": sentence_of_conflicts(story),
        "picture": None
        if story.execution is None
        else machine_picture(_PICTURE.read_text("utf-8"), story.steps),
        "rows": _rows(told),
        "decide": _decision(desk, told),
    }


def _rows(told: Told) -> list[tuple[Any, ...]]:
    return [(moment.at, moment.where, moment.what, moment.more) for moment in told.story.timeline()]


def _decision(desk: Desk, told: Told) -> dict[str, Any] | None:
    """What the form that decides on it needs; None: it waits for no decision."""
    story = told.story
    if not told.waits_for_a_person:
        return None
    letter = _letter(desk, story)
    name = story.execution_name if letter is None else letter.newest.execution_name
    choice = [*DECISIONS] if letter is None else decisions_on(desk.stack, letter.newest)
    return {
        "word": secrets.token_urlsafe(16),
        "letter": letter,
        "as_read": how_far_read("DeadLetterQueue", desk.letters.standing()),
        "at": datetime.now(UTC),
        "decisions": {one: DECISIONS[one] for one in choice},
        "commands": {
            one: command_of_one(desk, story.message_id, name, one, "" if one == "retry" else "WHY")
            for one in choice
        },
    }


def _letter(desk: Desk, story: Story) -> Letter | None:
    """The letter that waits, as it was read; None: it has not been read yet.

    Where it is not among the newest, the queue is read again, as far as it is by itself. Another
    reader may hold it then, so that what was read before counts as well.
    """

    def is_it(letter: Letter) -> bool:
        one, execution = letter.newest, story.execution
        if execution is None:
            return one.execution_name in (story.execution_name, story.message_id)
        return one.execution_arn == execution.arn and is_of_last(one, story.dead_letters)

    latest = desk.letters.latest
    if latest is None or not any(is_it(one) for one in latest.entries):
        desk.look_if_changed("dead_letters", is_missed=True)
    return desk.letters.find(is_it)


def _every(desk: Desk, told: Told) -> int | None:
    """Seconds until it is looked at again; None: it is over."""
    if told.waits_for_a_person:
        is_read = desk.letters.standing().reading is None
        return _WHILE_IT_WAITS if is_read else _WHILE_IT_RUNS
    return _WHILE_IT_RUNS if told.is_open else None


def _unseen(desk: Desk, told: Told) -> list[str]:
    """What can be known of a message that no part of the stack has seen."""
    counted = desk.number_in("requests")
    pause = find_pause(desk.stack.sqs, desk.stack.requests_queue)
    waits = None
    if counted is not None:
        waits = Depth(waiting=counted, in_flight=0, delayed=0, oldest_seconds=None)
    error = desk.watched.counts.seen().error
    return [
        *sentences(told.story.message_id, waits, pause, []),
        *([error] if error else []),
        how_far_read("UnstartedQueue", desk.unstarted.standing()),
    ]
