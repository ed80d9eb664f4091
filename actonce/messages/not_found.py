"""Where a message may be that no part of the stack has seen."""

from datetime import UTC, datetime

from botocore.exceptions import ClientError

from actonce.messages.sentences import unknown_because_in_flight
from actonce.messages.story import Story
from actonce.queues.depth import depth_of, find_pause
from actonce.stack.aws_errors import error_text
from actonce.stack.clients import Stack
from actonce.terminal.words import capitalize


def not_found_sentences(stack: Stack, story: Story) -> list[str]:
    """Sentences on a message that no part of the stack has seen: where it may still wait.

    They name what cannot be read, with the reason.
    """
    who, held = "No part of the stack", story.unstarted_scan.in_flight_elsewhere
    if held:
        who = "No part of the stack that could be read"
    sentences = [f"{who} has seen a message {story.message_id!r}."]
    if held:
        sentences.append(f"{capitalize(unknown_because_in_flight('it is', held))}; look again.")
    try:
        depth = depth_of(stack, stack.requests_queue, datetime.now(UTC))
        number = depth.waiting + depth.in_flight + depth.delayed
        waits = f"Nothing waits in RequestsQueue. Recent messages: actonce list{stack.options}"
        if number:
            waits = f"It may be one of about {number:,} in RequestsQueue."
        sentences.append(waits)
    except ClientError as error:
        sentences.append(
            f"It may wait in RequestsQueue, which could not be read: {error_text(error)}"
        )
    try:
        if find_pause(stack.sqs, stack.requests_queue) is not None:
            resume = f"actonce resume{stack.options}"
            sentences.append(f"The stack is paused. To have it take messages again: {resume}")
    except ClientError as error:
        sentences.append(f"Whether the stack is paused could not be read: {error_text(error)}")
    return sentences
