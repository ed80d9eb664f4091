"""What can be known of a message that no part of the stack has seen."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from actonce.operate.pausing import Pause
from actonce.operate.status import Depth
from actonce.queues.scan import held_by_another


def cannot_be_told(they: str, held_elsewhere: int) -> str:
    """What to say of UnstartedQueue, within a sentence, where not all of it could be read.

    Args:
        they: who may lie there, such as `it lies`.
        held_elsewhere: how many of its messages another reader held.
    """
    return f"whether {they} in UnstartedQueue cannot be told: {held_by_another(held_elsewhere)}"


def sentences(
    message_id: str,
    requests: Depth | None,
    pause: Pause | None,
    sent: Sequence[dict[str, Any]],
    held_elsewhere: int | None = None,
) -> list[str]:
    """What to tell of it: nothing is known of it but by who sent it, and it may be waiting.

    Args:
        message_id: as it was asked for.
        requests: how much waits in RequestsQueue; None: that could not be looked at.
        pause: of the stack; None: it is not paused.
        sent: its lines of the `sent` stream, by time; none where nobody wrote one.
        held_elsewhere: messages of UnstartedQueue that another reader held; None: not looked for.
    """
    if held_elsewhere:
        cannot = cannot_be_told("it lies", held_elsewhere)
        told = [
            f"No part of the stack that could be read has seen a message {message_id!r}.",
            f"{cannot[0].upper()}{cannot[1:]}; look again.",
        ]
    else:
        told = [f"No part of the stack has seen a message {message_id!r}."]
    if sent:
        again = f", the first of {len(sent)} times" if len(sent) > 1 else ""
        told.append(f"It was sent at {sent[0]['at']}{again} ({sent[0]['sqs_message_id']}).")
    if requests is None:
        told.append("RequestsQueue could not be looked at: it may wait there.")
    elif (unread := requests.waiting + requests.delayed) or requests.in_flight:
        told.append(f"{_waiting(unread, requests.in_flight, requests.oldest_seconds)}.")
        told.append("It may be one of them.")
    else:
        told.append("Nothing waits in RequestsQueue.")
        if sent:
            told.append("So it was taken a moment ago, or deleted by somebody: ask again.")
        else:
            told.append("actonce list shows recent messages.")
    if pause is not None:
        told.append("The stack is paused: actonce resume has it take messages again.")
    return told


def _waiting(unread: int, in_flight: int, oldest_seconds: int | None) -> str:
    parts = []
    if unread:
        age = (
            ""
            if oldest_seconds is None
            else f", the oldest for {timedelta(seconds=oldest_seconds)} or longer"
        )
        parts.append(f"{unread:,} wait unread in RequestsQueue{age}")
    if in_flight:
        parts.append(f"{in_flight:,} are being taken from it, or come back to it")
    return " and ".join(parts)
