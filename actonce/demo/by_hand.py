"""What an operator does to a run by hand, as far as an embedded AWS can do it.

It cannot redrive an execution, so none is aborted here: nobody could let it go on.
"""

from actonce.demo import records
from actonce.messages import dead_letters
from actonce.stack.clients import Stack

NOTE = "the demo's operator"


def retry_every_other(stack: Stack) -> int:
    """Have every other message that waits for a decision tried again; how many those are.

    Whatever was the matter with them is met once only, so most of them are acted on then. Those
    whose outcome was unknown are looked up first.
    """
    chosen = sorted(records.waiting(stack))[::2]
    answers = [dead_letters.decide(stack, name, "retry", NOTE) for name in chosen]
    return sum(answer.decided for answer in answers)
