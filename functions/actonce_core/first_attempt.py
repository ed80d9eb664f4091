"""The first attempt at a message by the starter itself: an execution is started for trouble only.

    no row, or released ──▶ begun ──▶ invoke, once ──▶ a clear yes: COMPLETE
                              │              ├───────▶ NotPerformed: released, back to the queue
                              ▼              ▼
                   another delivery      anything else
                              └──▶ started ◀─┘ ──▶ StartExecution: waits, looks up, goes on

The row, in FingerprintsTable:

    message_id         the key
    fingerprint        SHA-256 of the content that the id was first seen with
    first_seen         UTC; only its age in days is looked at
    memory             the state machine's ARN and `#first-attempt`: an earlier release refuses it
    status             IN_PROGRESS, or COMPLETE for ever
    stage              begun, released or started
    attempt_id         the attempt that began it; new for each
    consumption_count  attempts that have begun
    version            what the execution gets: `perform`, `find`, `timeout`, `margin`
    updated            UTC; never compared
    outcome, effect    once COMPLETE: `performed`, and the description as JSON

Every write is conditional on the stage and the attempt that were read. No lease, no heartbeat:

- Only its own attempt writes released or COMPLETE; released not once another delivery has marked it
  as started, for an execution is on its way that will perform.
- Whoever finds begun cannot know whether that attempt still acts. So it is marked as started, which
  never goes back, and the execution waits for as long as a starter may live, the function that it
  may have called last, and the margin; all as stored when the attempt began, not as deployed since.
"""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from actonce_core.effect import Effect, answer
from actonce_core.invoked_effect import SECONDS_BEFORE_A_FUNCTION_BEGINS
from actonce_core.message import Message

Item = dict[str, Any]
"""A row in DynamoDB's form: `{attribute: {type: value}}`."""

FIRST_ATTEMPT: Final = "#first-attempt"
BEGUN: Final = "begun"
RELEASED: Final = "released"
STARTED: Final = "started"

MOST_ATTEMPTS: Final = 24
"""First attempts that did not perform before an execution goes on, as many as its own `Retry`. At
the queue's intervals they last some three hours."""

SECONDS_FOR_THE_REST = 5
"""For the starter's own calls beside the invocation; template.yaml leaves 15 with that."""


class TooLittleTime(Exception):
    """The starter's time would be over before the function's; the next batch has all of it."""


@dataclass(frozen=True, slots=True)
class FirstAttempt:
    """Makes first attempts.

    Attributes:
        version: of the team's function, in the state machine's form: `perform` and `find`, the
            ARNs; `timeout` in seconds; `margin`, the stack's and the starter's own time-out
            together, because the starter may invoke until it is ended.
        seconds_left: until Lambda ends the starter.
        on_trouble: gets what an attempt raised after which an execution goes on.
    """

    effect: Effect
    version: Mapping[str, str | int]
    seconds_left: Callable[[], float]
    new_id: Callable[[], str] = lambda: str(uuid.uuid4())
    most_attempts: int = MOST_ATTEMPTS
    on_trouble: Callable[[Message, Exception], None] = lambda _message, _error: None

    def check_time_left(self) -> None:
        """Raise TooLittleTime unless the function's time fits into what the starter has left."""
        needed = int(self.version["timeout"]) + SECONDS_BEFORE_A_FUNCTION_BEGINS
        if self.seconds_left() < needed + SECONDS_FOR_THE_REST:
            raise TooLittleTime

    def begun(self, ordinary: Item) -> Item:
        """The row of a new attempt, from the one that a starter writes that makes none."""
        return ordinary | {
            "memory": {"S": ordinary["memory"]["S"] + FIRST_ATTEMPT},
            "status": {"S": "IN_PROGRESS"},
            "stage": {"S": BEGUN},
            "attempt_id": {"S": self.new_id()},
            "consumption_count": {"N": "1"},
            "version": {
                "M": {
                    name: {"N": str(value)} if isinstance(value, int) else {"S": value}
                    for name, value in self.version.items()
                }
            },
            "updated": ordinary["first_seen"],
        }

    def perform(self, message: Message, attempt: int) -> dict[str, Any]:
        """Invoke the function, once, and return its description of the effect.

        Raises:
            NotPerformed: provably, nothing happened.
            Exception: it was rejected, or the outcome is unknown.
        """
        request = {"message_id": message.message_id, "body": message.body}
        event = {"operation": "perform", "attempt": attempt, "message": request}
        description: dict[str, Any] = answer(self.effect, event)["effect"]
        return description


def version_in(row: Item) -> dict[str, Any]:
    """The version that a row's attempt called, as `FirstAttempt.version`; of no attempt, empty."""
    stored = row["version"]["M"] if "stage" in row else {}
    return {name: one["S"] if "S" in one else int(one["N"]) for name, one in stored.items()}
