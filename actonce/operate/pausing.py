"""Pausing a stack: messages wait in RequestsQueue, where waiting is free.

A pause disables the event source mapping, and tags RequestsQueue with its time, author and reason.

Invariant: the tags are written first and removed last. After an interruption in between, or when
somebody enables the mapping, by hand or by a deployment, the tags say that the stack is paused
while it is not; `actonce status` shows that, and pausing or resuming mends it. The opposite, a
disabled mapping without tags, is possible only for the moment in which one person pauses and
another resumes: `pause` reads the tags again once the mapping is disabled.
"""

import re
from dataclasses import dataclass
from datetime import datetime

from actonce.queues.depth import PAUSED_BY, PAUSED_NOTE, PAUSED_SINCE, Pause, find_pause
from actonce.stack.clients import Stack
from actonce_core.records import timestamp

LONGEST_TAG = 256
"""Characters of a tag's value. Source: "Amazon SQS cost allocation tags"."""

_ON = ("Enabled", "Enabling")
_OFF = ("Disabled", "Disabling")


@dataclass(frozen=True, slots=True)
class EventSourceMapping:
    """An event source mapping of RequestsQueue: what it feeds, and AWS's word for its state."""

    uuid: str
    function: str
    state: str

    @property
    def is_enabled(self) -> bool:
        """Whether it takes messages, or is about to."""
        return self.state in _ON

    @property
    def is_disabled(self) -> bool:
        """Whether it takes none, or is about to."""
        return self.state in _OFF


def event_source_mappings(stack: Stack) -> list[EventSourceMapping]:
    """The event source mappings of the stack's RequestsQueue."""
    queue = stack.sqs.get_queue_attributes(
        QueueUrl=stack.requests_queue, AttributeNames=["QueueArn"]
    )["Attributes"]["QueueArn"]
    pages = stack.lambda_.get_paginator("list_event_source_mappings").paginate(
        FunctionName=stack.starter_function, EventSourceArn=queue
    )
    return [
        EventSourceMapping(mapping["UUID"], stack.starter_function, mapping["State"])
        for page in pages
        for mapping in page["EventSourceMappings"]
    ]


def pause(stack: Stack, *, by: str, note: str, now: datetime) -> Pause:
    """Pause the stack; a stack that is paused stays as it was.

    Raises:
        ClientError: it may be paused in part; pause it again.
    """
    while True:
        found = find_pause(stack.sqs, stack.requests_queue)
        if found is None:
            new = Pause(timestamp(now), _as_tag(by), _as_tag(note))
            tags = {PAUSED_SINCE: new.since, PAUSED_BY: new.by, PAUSED_NOTE: new.note}
            stack.sqs.tag_queue(QueueUrl=stack.requests_queue, Tags=tags)
        _enable(stack, enabled=False)
        # Whoever resumed it meanwhile removed the tags last.
        after = find_pause(stack.sqs, stack.requests_queue)
        if after is not None:
            return after


def resume(stack: Stack) -> Pause | None:
    """Let the stack take messages again.

    Returns:
        The pause that ends; None: there was none.

    Raises:
        ClientError: it may still be paused; resume it again.
    """
    found = find_pause(stack.sqs, stack.requests_queue)
    _enable(stack, enabled=True)
    if found is not None:
        tags = [PAUSED_SINCE, PAUSED_BY, PAUSED_NOTE]
        stack.sqs.untag_queue(QueueUrl=stack.requests_queue, TagKeys=tags)
    return found


def _enable(stack: Stack, *, enabled: bool) -> None:
    wanted = _ON if enabled else _OFF
    for mapping in event_source_mappings(stack):
        if mapping.state not in wanted:
            stack.lambda_.update_event_source_mapping(UUID=mapping.uuid, Enabled=enabled)


def _as_tag(text: str) -> str:
    """What SQS takes as a tag's value."""
    return re.sub(r"[^A-Za-z0-9 _.:/=+@-]", "-", text)[:LONGEST_TAG]
