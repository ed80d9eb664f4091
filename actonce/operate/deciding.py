"""Deciding on one message that waits for a person."""

from collections.abc import Sequence
from dataclasses import replace

from botocore.exceptions import BotoCoreError, ClientError

from actonce.messages.dead_letters import DeadLetter, letter_of
from actonce.operate.by_token import ByToken
from actonce.operate.decisions import Answer, Decider, Decision, Unsure, may_be_made, not_known
from actonce.queues.scan import QueueReader
from actonce.stack.clients import Stack


def decider(stack: Stack, decision: Decision, note: str = "") -> Decider:
    """Who decides on this stack by the letters given: Step Functions, or the table's rows.

    Raises:
        Failed: nothing can be decided so just now.
    """
    if stack.ledger_table is None:
        return ByToken(stack, decision, note)
    from actonce.operate.by_row import ByRow  # noqa: PLC0415 - a stack has one of the two

    return ByRow(stack, stack.ledger_table, decision, note)


def decide(stack: Stack, name: str, decision: Decision, note: str = "") -> Answer:
    """Answer a message's dead letter.

    First the decision, then the entry is deleted: never is one deleted whose execution still waits.
    Made twice, or for an execution that waits no more, it changes nothing, and entries whose task
    was answered before are removed. Where nothing was decided the entry stays to be seen. An entry
    that cannot be deleted is told of, and changes nothing about the decision.

    `name` is the message's id, or its execution's name.

    Raises:
        Failed: there is no such message, or its dead letter cannot be found now.
        Unsure: no answer says whether it was decided.
    """
    by = decider(stack, decision, note)
    with QueueReader(stack.sqs, stack.dead_letter_queue) as queue:
        letter = letter_of(queue, name)
        letters = [] if letter is None else [letter, *letter.older]
        try:
            answer = by.answer(name, letters, queue.held_elsewhere)
        except Exception as error:
            if not may_be_made(error):
                raise
            raise Unsure(not_known(error)) from error
        return _without_letters(answer, queue, letters) if answer.end.goes else answer


def _without_letters(answer: Answer, queue: QueueReader, letters: Sequence[DeadLetter]) -> Answer:
    """Delete the letters; the answer with what to say of those that are left."""
    left, why = 0, ""
    try:
        left = len(queue.delete([one.queued for one in letters]))
    except (ClientError, BotoCoreError) as error:
        left, why = len(letters), f" ({error})"
    if not left:
        return answer
    said = (
        f"{answer.said} Its dead letter could not be deleted{why}: it is still in the queue, and "
        "counted as waiting, until you give the same command again."
    )
    return replace(answer, said=said, left_behind=left)
