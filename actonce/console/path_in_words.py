"""The way of one execution through the state machine, in sentences.

The states' names are those of `statemachine/process_message.asl.json`; of a state that it does not
have, because the execution is of another version's machine, its name and its error are told.

What happened is told by the state that came next: the definition decides by more than a history
keeps. Where even that leaves two ways to understand it, both are said.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any, ClassVar

from actonce.console.durations import duration
from actonce.messages.dead_letters import NO_FUNCTION_FINDS
from actonce.messages.history import FIND_EFFECT, Step, short_cause
from actonce.terminal.error_names import in_words as name_in_words
from actonce_core.histories.dead_letters import DEAD_LETTER, DECISIONS, Stay

UNCLEAR = "it may or may not have happened"

_PERFORM = "PerformEffect"
_AWAIT_STRAGGLER = "AwaitStraggler"
_PERFORMED = "Performed?"
_DECISION = "Decision"
_DONE = "Done"
_FAILED = "Failed"

# What the definition's own expressions say, in the cause of the error that they end with.
_REDRIVEN = "Redriven: it may have been performed before"

_PROOFS = {
    "NotPerformed": "was certainly not performed",
    "Lambda.TooManyRequestsException": "was certainly not performed",
    "Rejected": "was rejected",
}
"""What errors prove, in whichever version of the state machine."""

_REASONS = {
    "rejected": "it was rejected",
    "not_performed": "it was not performed, however often it was asked for",
    "rounds_used_up": "it has been asked for as often as it may be",
    "outcome_unknown": "whether it happened cannot be found out",
}

_ENDS = {
    "FAILED": "failed",
    "TIMED_OUT": "was ended because its time was over",
    "ABORTED": "was aborted",
}


def path_in_words(steps: Sequence[Step], stays: Sequence[Stay]) -> list[str]:
    """The way of an execution, in sentences that follow one another; at least one.

    Args:
        steps: what its history tells, not none.
        stays: its dead letters, which say why they were posted.
    """
    return list(_Teller(steps, stays).sentences()) or ["It was begun."]


@dataclass(slots=True)
class _Visit:
    """A stay in a state, or what happened to the execution as a whole.

    Attributes:
        state: the state; of the whole, the one that it was in then.
        what: `entered`; `resumed`, of the state in which a redriven execution goes on; `redriven`
            or `ended`, of the whole.
        steps: what happened in it.
        until: when the next began; None: nothing came after it.
    """

    state: str
    what: str
    at: datetime
    steps: list[Step] = field(default_factory=list)
    until: datetime | None = None

    @property
    def lasted(self) -> str:
        """How long, in words."""
        return duration((self.until or self.at) - self.at)

    @property
    def error(self) -> tuple[str, str]:
        """The name and the cause of the error that it ended with, or waits after to try again.

        Empty texts where the history has none, or another attempt has begun since.
        """
        detail = self.steps[-1].detail if self.steps and self.steps[-1].what == "error" else {}
        return str(detail.get("error", "")), str(detail.get("cause", ""))

    @property
    def attempts(self) -> str:
        """How many there were, in words; nothing, if it was one."""
        attempt = self.last("attempt")
        return "" if attempt is None else f" in {attempt['number']} attempts"

    def last(self, what: str) -> dict[str, Any] | None:
        """The detail of its last step of that kind; None: it has none."""
        return next((step.detail for step in reversed(self.steps) if step.what == what), None)


def _visits(steps: Sequence[Step]) -> list[_Visit]:
    visits: list[_Visit] = []
    for step in steps:
        state = visits[-1].state if visits else ""
        goes_on = bool(visits) and visits[-1].what == "resumed" and not visits[-1].steps
        if step.what == "entered" and not (goes_on and step.state == state):
            visits.append(_Visit(step.state, "entered", step.at))
        elif step.what in ("ended", "redriven"):
            visits.append(_Visit(state, step.what, step.at, [step]))
            if step.what == "redriven" and state:
                visits.append(_Visit(state, "resumed", step.at))
        elif visits and step.what != "entered":
            visits[-1].steps.append(step)
    for visit, following in pairwise(visits):
        visit.until = following.at
    return visits


class _Teller:
    """Tells one visit after the other, once; see `path_in_words`."""

    def __init__(self, steps: Sequence[Step], stays: Sequence[Stay]) -> None:
        self._visits = _visits(steps)
        self._reasons = [str(stay.failure.get("reason")) for stay in stays]
        self._stay = 0  # the one that is told next
        self._round = 1  # as MaxRounds counts them
        self._times_asked = 0
        self._is_unclear = False
        self._looked_up: Any = None

    def sentences(self) -> Iterator[str]:
        """All of it."""
        for at, visit in enumerate(self._visits):
            if visit.what in ("ended", "redriven"):
                yield from self._whole(at)
            else:
                yield from self._TELLS.get(visit.state, _Teller._other)(self, at)

    # ------------------------------------------------------------ what is around

    def _follows(self, at: int) -> str:
        """The state that follows; `ended` or `redriven`; empty: nothing does."""
        if at + 1 == len(self._visits):
            return ""
        following = self._visits[at + 1]
        return following.state if following.what == "entered" else following.what

    def _came_from(self, at: int) -> str:
        """The state before; `ended` or `redriven`; empty: it is the first."""
        if not at:
            return ""
        before = self._visits[at - 1]
        return before.state if before.what in ("entered", "resumed") else before.what

    def _reason(self) -> str:
        """Why the dead letter was posted that is told next; empty: it is not known."""
        return self._reasons[self._stay] if self._stay < len(self._reasons) else ""

    def _asked(self, at: int) -> str:
        """The beginning of a sentence on PerformEffect."""
        came_from = self._came_from(at)
        self._times_asked += 1
        again = " again" if self._times_asked > 1 else ""
        if came_from == _PERFORMED:
            self._round += 1
            return f"So it was asked for{again} (round {self._round})"
        return f"{'So it' if came_from == _DECISION else 'It'} was asked for{again}"

    # ------------------------------------------------------------- what is told

    def _perform(self, at: int) -> Iterator[str]:
        visit, follows = self._visits[at], self._follows(at)
        if not follows and visit.what == "resumed":
            yield "It has not gone on from there yet."
            return
        error, cause = visit.error
        if _REDRIVEN in cause:
            self._is_unclear = True
            yield "It was not asked for: redriven, the execution looks first."
            return
        asked = f"{self._asked(at)}{visit.attempts}"
        why = _error_in_words(error, cause)
        self._is_unclear = False
        if not follows and not error:
            yield f"{asked}, and has not answered yet."
            return
        if follows == "ended" and _status(self._visits[at + 1]) == "SUCCEEDED":
            yield f"{asked}, and was performed in {visit.lasted}."
            return
        if error in _PROOFS:
            yield f"{asked}, and {_PROOFS[error]}{why and f': {why}'}."
            if not follows:
                yield "It waits now, to be asked for again."
            return
        self._is_unclear = bool(error) or follows in (_AWAIT_STRAGGLER, "ended", "redriven")
        if follows in ("ended", "redriven"):
            yield (
                f"{asked}, and after {visit.lasted} the execution ended"
                f"{f' ({why})' if why else ' before there was an answer'}: {UNCLEAR}."
            )
        elif error == "States.Timeout":
            yield f"{asked}, and timed out after {visit.lasted}: {UNCLEAR}."
        elif self._is_unclear:
            yield f"{asked}, and failed after {visit.lasted}{why and f' ({why})'}: {UNCLEAR}."
        else:
            yield f"{asked}, and after {visit.lasted} went on to {follows}."

    def _await_straggler(self, at: int) -> Iterator[str]:
        visit, follows = self._visits[at], self._follows(at)
        if not follows:
            yield "It waits now, until nothing begun before can still act; then it is looked up."
        elif follows == FIND_EFFECT and visit.what == "entered":
            yield f"It waited {visit.lasted}, so that nothing begun before can still act."
        else:
            yield f"It waited {visit.lasted} for what had begun before."

    def _looked(self, at: int) -> str:
        """The beginning of a sentence on FindEffect."""
        return "So it was" if self._came_from(at) == _DECISION else "Then it was"

    def _find(self, at: int) -> Iterator[str]:
        visit, follows, begins = self._visits[at], self._follows(at), self._looked(at)
        looked_up = visit.last("looked_up")
        error, cause = visit.error
        self._looked_up = None if looked_up is None else looked_up["performed"]
        if isinstance(self._looked_up, bool):
            self._is_unclear = False
            found = "had happened" if self._looked_up else "had not happened"
            yield f"{begins} looked up: it {found}."
        elif looked_up is not None or follows == _PERFORMED:
            yield f"{begins} looked up, without a clear answer."
        elif not follows and not error:
            yield f"{begins} to be looked up, and there is no answer yet."
        elif follows == DEAD_LETTER and NO_FUNCTION_FINDS in cause:
            yield "Nothing can look it up: the stack names no function for it (FindFunctionArn)."
        else:
            why = _error_in_words(error, cause)
            yield f"{begins} to be looked up, which failed{visit.attempts}{why and f': {why}'}."
            if not follows:
                yield "It waits now, to be looked up again."

    def _performed(self, at: int) -> Iterator[str]:
        follows = self._follows(at)
        if follows == _DONE:
            yield "So it was not performed again."
        elif follows == DEAD_LETTER and self._looked_up is False:
            rounds = "1 round" if self._round == 1 else f"{self._round} rounds"
            yield f"It had been asked for in {rounds}, as often as it may be."

    def _dead_letter(self, at: int) -> Iterator[str]:
        visit, follows = self._visits[at], self._follows(at)
        reason = _REASONS.get(self._reason(), "")
        self._stay += 1
        if visit.what == "resumed" or self._came_from(at) == _DECISION:
            yield "The dead letter was posted again, for a person to decide."
        else:
            yield f"It became a dead letter, for a person to decide{reason and f': {reason}'}."
        attempt = visit.last("attempt")
        if attempt is not None:
            yield f"It was posted in {attempt['number']} attempts."
        decided = visit.last("decision")
        if decided is not None:
            self._round = 1
            yield _decision_in_words(decided, visit.lasted)
        elif follows:
            yield f"Nobody decided within {visit.lasted}."
        elif visit.steps and visit.steps[-1].what == "error":
            yield f"It could not be posted so far: {_error_in_words(*visit.error)}."
        else:
            yield "It waits for a decision."

    def _decision(self, at: int) -> Iterator[str]:
        follows = self._follows(at)
        if follows == DEAD_LETTER:
            yield "That decides nothing."
        elif follows == _DONE:
            self._is_unclear = False
            yield "So it is done, by the word of whoever resolved it."
        elif follows == _FAILED:
            yield "So it is over, and is not asked for again."

    def _end(self, at: int) -> Iterator[str]:
        if self._came_from(at) not in (_PERFORMED, _DECISION):
            yield f"It came to {self._visits[at].state}."

    def _other(self, at: int) -> Iterator[str]:
        visit = self._visits[at]
        lasted = "" if visit.until is None else f", for {visit.lasted}"
        why = _error_in_words(*visit.error)
        yield f"It was in {visit.state}{lasted}{why and f': {why}'}."

    def _whole(self, at: int) -> Iterator[str]:
        visit = self._visits[at]
        if visit.what == "redriven":
            after = f"After {duration(visit.at - self._visits[at - 1].at)} the" if at else "The"
            went_on = f", and went on in {visit.state}" if visit.state else ""
            yield f"{after} execution was redriven{went_on}."
            return
        status, detail = _status(visit), visit.steps[0].detail
        if status == "SUCCEEDED":
            if visit.state not in (_PERFORM, _DONE):
                yield f"The execution ended: {detail.get('outcome') or status}."
            return
        if visit.state != _FAILED:
            why = _error_in_words(str(detail.get("error", "")), str(detail.get("cause", "")))
            where = f" in {visit.state}" if visit.state else ""
            ended = _ENDS.get(status, f"ended: {status}")
            yield f"The execution {ended}{where}{why and f': {why}'}."
        if self._is_unclear:
            yield "Whether it happened was not found out."

    _TELLS: ClassVar[Mapping[str, Callable[["_Teller", int], Iterator[str]]]] = {
        _PERFORM: _perform,
        _AWAIT_STRAGGLER: _await_straggler,
        FIND_EFFECT: _find,
        _PERFORMED: _performed,
        DEAD_LETTER: _dead_letter,
        _DECISION: _decision,
        _DONE: _end,
        _FAILED: _end,
    }


def _status(ended: _Visit) -> str:
    return str(ended.steps[0].detail.get("status", ""))


def _error_in_words(error: str, cause: str) -> str:
    """Empty where there is neither."""
    # Of these two the name is told in other words.
    name = "" if error in ("NotPerformed", "Rejected") else name_in_words(error)
    return ": ".join(filter(None, [name, short_cause(cause).removesuffix(".")]))


def _decision_in_words(decided: Mapping[str, Any], lasted: str) -> str:
    decision, note = decided.get("decision"), decided.get("note")
    said = f", “{short_cause(str(note))}”" if note else ""
    if decision not in DECISIONS:
        return f"After {lasted} an answer came that is none of the decisions{said}."
    by = decided.get("decided_by")
    return f"After {lasted} {f'{by} decided' if by else 'it was decided'}: {decision}{said}."
