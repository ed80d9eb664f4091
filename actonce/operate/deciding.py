"""Deciding on one message that waits for a person."""

from actonce.messages.dead_letters import letter_of
from actonce.operate.by_token import ByToken
from actonce.operate.decisions import Answer, Decider, Decision
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
    was answered before are removed. Where nothing was decided the entry stays to be seen.

    `name` is the message's id, or its execution's name.

    Raises:
        Failed: there is no such message, or its dead letter cannot be found now.
    """
    by = decider(stack, decision, note)
    with QueueReader(stack.sqs, stack.dead_letter_queue) as queue:
        letter = letter_of(queue, name)
        letters = [] if letter is None else [letter, *letter.older]
        answer = by.answer(name, letters, queue.held_elsewhere)
        if answer.end.goes:
            queue.delete([one.queued for one in letters])
        return answer
