"""One message: its path, its timeline, what waits of it, and deciding on it."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

from actonce.console.context import Context
from actonce.console.machine_picture import machine_picture
from actonce.console.queue_cache import Shown
from actonce.console.responses import ViewRequest, page
from actonce.console.views.dead_letters import DECISIONS
from actonce.messages.arguments import command_to_decide, message_argument
from actonce.messages.dead_letters import DeadLetter, is_of_last
from actonce.messages.facts import failure_of
from actonce.messages.not_found import not_found_sentences
from actonce.messages.states import WAITING, state_of
from actonce.messages.story import Story, UnstartedScan, read_story, with_log
from actonce.messages.summary import Summary, summarize
from actonce.operate.decisions.allowed import decisions_on
from actonce.stack.stack_files import sources
from actonce.terminal.visible import json_text

_WHILE_IT_RUNS, _WHILE_IT_WAITS = 2, 15
"""Seconds between two looks: while it goes on by itself, and while it waits, or is nowhere."""

Form = tuple[str, DeadLetter, datetime]
"""The key of the form that decides on a message, its letter, and when that was read (UTC)."""

PICTURE = sources() / "docs" / "pictures" / "process_message.svg"


def message(context: Context, request: ViewRequest) -> Response:
    """All of it but the starter's log, for which the page asks once it is shown."""
    context.with_log.pop(request.message_id, None)
    return _page(context, "message.html.j2", request, _story(context, request))


def now(context: Context, request: ViewRequest) -> Response:
    """The part that changes while the message is not over."""
    return _page(context, "message_now.html.j2", request, _story(context, request))


def log(context: Context, request: ViewRequest) -> Response:
    """The same, with what the starter's log has of the message now."""
    story = _story(context, request)
    at, with_lines = datetime.now(UTC), with_log(context.stack, story)
    context.with_log[story.message_id] = (at, with_lines)
    return _page(context, "message_now.html.j2", request, story)


def _story(context: Context, request: ViewRequest) -> Story:
    """The message's story but for the log, with what was last found in UnstartedQueue."""
    state = context.unstarted.refresh(request.patience)
    listing = state.listing
    unstarted_scan = UnstartedScan(listing.entries, listing.in_flight_elsewhere, state.at)
    return read_story(
        context.stack, request.message_id, context.effect_store, log=False, unstarted=unstarted_scan
    )


def _page(context: Context, template: str, request: ViewRequest, story: Story) -> Response:
    log_read_at, log_read = context.with_log.get(story.message_id, (None, None))
    if log_read is not None:
        unread = dict(story.unread)
        if "log" in log_read.unread:
            unread["log"] = log_read.unread["log"]
        story = replace(story, lines=log_read.lines, unread=unread)
    values: dict[str, Any] = {
        "requested_id": request.message_id,
        "story": story,
        "log_read_at": log_read_at,
        "every": _every(context, story),
        "argument": message_argument(story),
        "unstarted_read_at": context.unstarted.state.at,
        "unseen": None
        if story.is_known
        else [
            *not_found_sentences(context.stack, story),
            context.unstarted.state.how_far_read("UnstartedQueue"),
        ],
    }
    if story.is_known:
        form = _form(context, request, story) if state_of(story) == WAITING else None
        summary = summarize(story, differs_beside=True)
        values |= {
            "summary": summary,
            "body": _body(story),
            "decide": _decision(context, story, summary, form),
            "picture": ""
            if story.execution is None or "history" in story.unread
            else machine_picture(PICTURE.read_text("utf-8"), story.steps),
            "timeline": story.timeline(),
        }
    return page(context, template, **values)


def _body(story: Story) -> str | None:
    """The message's body; None: no execution has it."""
    body = None if story.execution is None else story.execution.input.get("body")
    return body if body is None or isinstance(body, str) else json_text(body)


def _decision(
    context: Context, story: Story, summary: Summary, form: Form | None
) -> dict[str, Any] | None:
    """What the form that decides on it needs; None: it waits for no decision."""
    if summary.state != WAITING:
        return None
    key, letter, at = form or (None, None, None)
    failure = failure_of(story)
    choice = decisions_on(context.stack, str(failure.get("reason")), str(failure.get("cause")))
    choice.sort(key=lambda decision: decision != summary.advised)
    return {
        "key": key,
        "letter": letter,
        "as_read": context.letters.state.how_far_read("DeadLetterQueue"),
        "at": at or datetime.now(UTC),
        "decisions": {decision: DECISIONS[decision] for decision in choice},
        "does_it_twice": _do_it_twice(summary, letter),
        "command": f"actonce dead-letters show{context.stack.options} {message_argument(story)}"
        if letter is None
        else "\n".join(
            command_to_decide(context.stack.options, letter, decision) for decision in choice
        ),
    }


def _do_it_twice(summary: Summary, letter: DeadLetter | None) -> list[str]:
    """The decisions that would repeat an effect that is there already."""
    if not summary.effects:
        return []
    looks_first = letter is not None and not letter.nothing_happened
    return ["perform"] if looks_first else ["retry", "perform"]


def _form(context: Context, request: ViewRequest, story: Story) -> Form | None:
    """The form that decides on the dead letter that waits; None: the letter was not found.

    A page that looks again keeps its form, and what was typed. Where another reader holds letters
    just now, it shows the letter that it showed before.
    """
    execution = story.execution

    def is_it(letter: DeadLetter) -> bool:
        is_its = execution is not None and letter.execution_arn == execution.arn
        return is_its and is_of_last(letter, story.dead_letters)

    state = context.letters.refresh(request.patience)
    found = next((letter for letter in state.listing.entries if is_it(letter)), None)
    if found is None or state.at is None:
        form = context.letters.form_alone(is_it) if state.listing.in_flight_elsewhere else None
        return form and (form[0], form[1].entries[0], form[1].at)
    form = context.letters.form_alone(lambda letter: letter.entry == found.entry)
    key = form[0] if form else context.letters.open_form(Shown([found], state.at))
    return key, found, state.at


def _every(context: Context, story: Story) -> int | None:
    """Seconds until the page looks again; None: the message is over."""
    if state_of(story) == WAITING:
        is_read = context.letters.state.reading is None
        return _WHILE_IT_WAITS if is_read else _WHILE_IT_RUNS
    if story.execution is not None:
        return _WHILE_IT_RUNS if story.execution.status == "RUNNING" else None
    if story.row is not None:
        return _WHILE_IT_RUNS if story.row.get("outcome") is None else None
    return None if story.unstarted or story.unread else _WHILE_IT_WAITS
