"""One message: its path, its timeline, what waits of it, and deciding on it."""

import secrets
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError
from starlette.responses import Response

from actonce.console.answers import Asked, page
from actonce.console.context import Context
from actonce.console.machine_picture import machine_picture
from actonce.console.views.dead_letters import DECISIONS, command_of_one
from actonce.console.views.queue_view import how_far_read
from actonce.messages import history
from actonce.messages.dead_letters import DeadLetter, is_of_last
from actonce.messages.difference import Difference, difference
from actonce.messages.message_summary import (
    WAITING,
    Summary,
    failure_of,
    message_argument,
    seen_nowhere,
    summarize,
    waits_for_decision,
)
from actonce.messages.story import Story, UnstartedScan, read_story, with_log
from actonce.messages.unstarted import Unstarted
from actonce.operate.decisions.offered import decisions_on
from actonce.stack.aws_errors import error_text
from actonce.stack.sources import sources
from actonce_core.histories.events import details
from actonce_core.histories.reading import read_events
from pipeline.visible import json_text

_WHILE_IT_RUNS, _WHILE_IT_WAITS = 2, 15
"""Seconds between two looks: while it goes on by itself, and while a person has to decide."""

MOST_LOOKS = 30
"""After as many nothing that may go on was found, and a page looks again only when it is asked."""

_LOGS_KEPT = 64
"""Messages of which the log, which is slow, was read because somebody asked; told until again."""

PICTURE = sources() / "docs" / "pictures" / "process_message.svg"


def message(context: Context, asked: Asked) -> Response:
    """All of it but the starter's log, which the page asks for when it is there."""
    return _page(context, "message.html.j2", asked, _story(context, asked))


def now(context: Context, asked: Asked) -> Response:
    """How it is now, while it is not over."""
    return _page(context, "message_now.html.j2", asked, _story(context, asked))


def log(context: Context, asked: Asked) -> Response:
    """The same, and what the starter's log has of it now."""
    story = _story(context, asked)
    told = with_log(context.stack, story)
    context.with_log.pop(story.message_id, None)
    context.with_log[story.message_id] = told
    for old in list(context.with_log)[:-_LOGS_KEPT]:
        context.with_log.pop(old, None)
    if told.conflicts and not any(one.is_conflict for one in story.unstarted):
        # The log tells of something that was not found in UnstartedQueue.
        story = _story(context, asked, is_missed=True)
    return _page(context, "message_now.html.j2", asked, story)


def raw(context: Context, asked: Asked) -> Response:
    """Input, output, error, cause and every event as Step Functions has them."""
    execution = history.find_execution_of(context.stack, asked.message_id)
    events, unread = [], None
    if execution is not None:
        try:
            events = read_events(context.stack.stepfunctions, execution.arn)
        except ClientError as error:
            unread = error_text(error)
    return page(
        context,
        "raw.html.j2",
        execution=execution,
        unread=unread,
        events=[
            (event["id"], event["timestamp"], event["type"], details(event)) for event in events
        ],
    )


def _story(context: Context, asked: Asked, *, is_missed: bool = False) -> Story:
    """Its story but for the log, with what is known to lie in UnstartedQueue."""
    context.scan_if_changed("unstarted", is_missed=is_missed)
    latest = context.unstarted.latest
    seen = UnstartedScan()
    if latest is not None:
        seen = UnstartedScan(latest.entries, latest.held_elsewhere, latest.at)
    return read_story(context.stack, asked.message_id, context.own, log=False, unstarted=seen)


def _page(context: Context, template: str, asked: Asked, story: Story) -> Response:
    log_read = context.with_log.get(story.message_id)
    if log_read is not None:
        unread = dict(story.unread)
        if "log" in log_read.unread:
            unread["log"] = log_read.unread["log"]
        story = replace(story, lines=log_read.lines, unread=unread)
    looks, is_nowhere = asked.number("looks"), story.execution is None and story.row is None
    every = _every(context, story, looks)
    values: dict[str, Any] = {
        "asked": asked.message_id,
        "story": story,
        "log_read": log_read is not None,
        "every": every,
        "looks": looks + 1 if is_nowhere else None,
        "most_looks": MOST_LOOKS,
        "looks_no_more": is_nowhere and every is None,
        "argument": message_argument(story),
        "snapshot": context.unstarted.latest,
        "unseen": None
        if story.is_known
        else [
            *seen_nowhere(context.stack, story),
            how_far_read("UnstartedQueue", context.unstarted.state()),
        ],
    }
    if story.is_known:
        letter = _letter(context, story) if waits_for_decision(story) else None
        summary = summarize(story, letter, differs_beside=True)
        values |= {
            "summary": summary,
            "body": _body(story),
            "conflicts": _conflicts(story),
            "decide": _decision(context, story, summary, letter),
            "picture": ""
            if story.execution is None or "history" in story.unread
            else machine_picture(PICTURE.read_text("utf-8"), story.steps),
            "timeline": story.timeline(),
        }
    return page(context, template, **values)


def _body(story: Story) -> str | None:
    """What the message asks for; None: no execution has it."""
    body = None if story.execution is None else story.execution.input.get("body")
    return body if body is None or isinstance(body, str) else json_text(body)


def _conflicts(story: Story) -> list[tuple[Unstarted, Difference | None]]:
    """Its conflicts that wait, and how each differs from what was started; None: not known."""
    first = _body(story)
    return [
        (one, difference(first, one.queued.body) if first and one.queued.body else None)
        for one in story.unstarted
        if one.is_conflict
    ]


def _decision(
    context: Context, story: Story, summary: Summary, letter: DeadLetter | None
) -> dict[str, Any] | None:
    """What the form that decides on it needs; None: it waits for no decision."""
    if summary.state != WAITING:
        return None
    name = story.execution_name if letter is None else letter.execution_name
    failure = failure_of(story, letter)
    choice = decisions_on(context.stack, str(failure.get("reason")), str(failure.get("cause")))
    choice.sort(key=lambda one: one != summary.advised)
    return {
        "key": secrets.token_urlsafe(16),
        "letter": letter,
        "as_read": how_far_read("DeadLetterQueue", context.letters.state()),
        "at": datetime.now(UTC),
        "decisions": {one: DECISIONS[one] for one in choice},
        "does_it_twice": _do_it_twice(summary, letter),
        "command": "\n".join(
            command_of_one(context, story.message_id, name, one, "" if one == "retry" else "WHY")
            for one in choice
        ),
    }


def _do_it_twice(summary: Summary, letter: DeadLetter | None) -> list[str]:
    """The decisions that would perform an effect again that is seen to be there."""
    if not summary.effects:
        return []
    looks_first = letter is not None and not letter.nothing_happened
    return ["perform"] if looks_first else ["retry", "perform"]


def _letter(context: Context, story: Story) -> DeadLetter | None:
    """The letter that waits, as it was read; None: it has not been read yet.

    Where it is not among the newest, the queue is read again, as far as it is by itself. Another
    reader may hold it then, so that what was read before counts as well.
    """

    def is_it(letter: DeadLetter) -> bool:
        execution = story.execution
        if execution is None:
            return letter.execution_name in (story.execution_name, story.message_id)
        return letter.execution_arn == execution.arn and is_of_last(letter, story.dead_letters)

    latest = context.letters.latest
    if latest is None or not any(is_it(one) for one in latest.entries):
        context.scan_if_changed("dead_letters", is_missed=True)
    return context.letters.find(is_it)


def _every(context: Context, story: Story, looks: int) -> int | None:
    """Seconds until it is looked at again; None: it is over, or was looked for often enough.

    Args:
        looks: how many a page has taken so far by itself.
    """
    if waits_for_decision(story):
        is_read = context.letters.state().reading is None
        return _WHILE_IT_WAITS if is_read else _WHILE_IT_RUNS
    if story.execution is not None:
        is_open = story.execution.status == "RUNNING"
    elif story.row is not None:
        is_open = story.row.get("outcome") is None
    else:
        is_open = not story.unstarted and not story.unread and looks < MOST_LOOKS
    return _WHILE_IT_RUNS if is_open else None
