"""The way of one execution through the state machine, in sentences.

The states' names are those of `statemachine/process_message.asl.json`; of a state that it does not
have, because the execution is of another version's machine, its name and its error are told.

What happened is told by the state that came next: the definition decides by more than a history
keeps. Where even that leaves two ways to understand it, both are said.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any, ClassVar

from actonce.deployed import DEAD_LETTER, Stay
from actonce.error_names import in_words as name_in_words
from actonce.history import FIND_EFFECT, Step, short_cause
from actonce.web_console.durations import duration

UNCLEAR = "it may or may not have happened"

_PERFORM = "PerformEffect"
_AWAIT_PROVIDER = "AwaitProvider"
_ANSWER = "Answer?"
_AWAIT_STRAGGLER = "AwaitStraggler"
_AWAIT_FIND = "AwaitFind"
_PERFORMED = "Performed?"
_DECISION = "Decision"
_DONE = "Done"
_FAILED = "Failed"

# What the definition's own expressions say, in the cause of the error that they end with.
_NOT_ASKED_FOR = "It is not asked for."
_NOT_LOOKED_UP = "It is not looked up."

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


def path_in_words(name: str, steps: Sequence[Step], stays: Sequence[Stay]) -> list[str]:
    """The way of an execution, in sentences that follow one another; at least one.

    Args:
        name: the execution's.
        steps: what its history tells, not none.
        stays: its dead letters, which say why they were posted.
    """
    return list(_Teller(name, steps, stays).sentences()) or ["It was begun."]


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
        """The name and the cause of its last error; empty texts where the history has none."""
        detail = self.last("error") or {}
        return str(detail.get("error", "")), str(detail.get("cause", ""))

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

    def __init__(self, name: str, steps: Sequence[Step], stays: Sequence[Stay]) -> None:
        self._visits = _visits(steps)
        # The definition has the name and the time in it, so that no message's text passes for it.
        self._said = re.compile(rf"{re.escape(name)} at \S{{1,40}} was (rejected|not performed): ?")
        self._reasons = [str(stay.failure.get("reason")) for stay in stays]
        self._stay = 0  # the one that is told next
        self._round = 1  # as MaxRounds counts them
        self._times_asked = 0
        self._is_unclear = False
        self._looked_up: Any = None

    def sentences(self) -> Iterator[str]:
        """All of it."""
        at = 0
        while at < len(self._visits):
            visit = self._visits[at]
            end = at + 1
            if visit.what in ("ended", "redriven"):
                yield from self._whole(at)
            elif (pairs := self._in_turns(at, _PERFORM, _AWAIT_PROVIDER)) > at:
                end = pairs
                yield from self._not_performed(at, end)
            elif (pairs := self._in_turns(at, FIND_EFFECT, _AWAIT_FIND)) > at:
                end = pairs
                yield from self._not_looked_up(at, end)
            else:
                yield from self._TELLS.get(visit.state, _Teller._other)(self, at)
            at = end

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

    def _in_turns(self, at: int, asks: str, waits: str) -> int:
        """Where the visits end that ask and wait in turns; `at`: there are none."""
        while at < len(self._visits) and self._visits[at].state == asks:
            if self._visits[at].what not in ("entered", "resumed"):
                break
            answered = at + 1 if self._follows(at) == _ANSWER else at
            if self._follows(answered) != waits:
                break
            at = answered + 2
        return at

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

    def _not_performed(self, at: int, end: int) -> Iterator[str]:
        begins = self._asked(at)
        asked = [visit for visit in self._visits[at:end] if visit.state == _PERFORM]
        self._times_asked += len(asked) - 1
        why = self._why_not_performed(asked[-1])
        if len(asked) == 1:
            yield f"{begins}, and was certainly not performed{why and f': {why}'}."
        else:
            yield (
                f"{begins} {len(asked)} times within {duration(asked[-1].at - asked[0].at)}, and "
                f"each time was certainly not performed{why and f'; the last time: {why}'}."
            )
        yield from self._waits_to(end - 1, "ask again", is_told=len(asked) == 1)

    def _why_not_performed(self, visit: _Visit) -> str:
        error, cause = visit.error
        said = self._said.search(cause)
        if said:
            return _error_in_words("", cause[said.end() :])
        return _error_in_words(error, cause)

    def _not_looked_up(self, at: int, end: int) -> Iterator[str]:
        begins = self._looked(at)
        asked = [visit for visit in self._visits[at:end] if visit.state == FIND_EFFECT]
        why = _error_in_words(*asked[-1].error)
        if len(asked) == 1:
            yield f"{begins} to be looked up, which failed{why and f': {why}'}."
        else:
            yield (
                f"{begins} to be looked up, which failed {len(asked)} times within "
                f"{duration(asked[-1].at - asked[0].at)}{why and f'; the last time: {why}'}."
            )
        yield from self._waits_to(end - 1, "look again", is_told=len(asked) == 1)

    def _waits_to(self, at: int, act: str, *, is_told: bool) -> Iterator[str]:
        wait = self._visits[at]
        follows = self._follows(at)
        if wait.until is None:
            yield f"It waits now, to {act}."
        elif follows in ("ended", "redriven"):
            yield f"It had waited {wait.lasted} to {act}."
        elif is_told:
            yield f"It waited {wait.lasted} to {act}."

    def _perform(self, at: int) -> Iterator[str]:
        visit, follows = self._visits[at], self._follows(at)
        if follows == _ANSWER:
            return  # told there, where it is known what the answer was
        if not follows and visit.what == "resumed":
            yield "It has not gone on from there yet."
            return
        asked = self._asked(at)
        attempt = visit.last("attempt")
        asked += "" if attempt is None else f" in {attempt['number']} attempts"
        error, cause = visit.error
        why = _error_in_words(error, cause)
        self._is_unclear = False
        if not follows:
            yield f"{asked}, and has not answered yet."
            return
        if follows == "ended" and _status(self._visits[at + 1]) == "SUCCEEDED":
            yield f"{asked}, and was performed in {visit.lasted}."
            return
        if error in _PROOFS:
            yield f"{asked}, and {_PROOFS[error]}{why and f': {why}'}."
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

    def _answer(self, at: int) -> Iterator[str]:
        """Of PerformEffect, too, which is before it."""
        if self._came_from(at) != _PERFORM:
            yield from self._other(at)
            return
        follows = self._follows(at)
        cause = self._visits[at - 1].error[1]
        said = self._said.search(cause)
        is_not_asked = said is None and _NOT_ASKED_FOR in cause
        is_late = is_not_asked or (said is None and self._reason() == "not_performed")
        if follows == DEAD_LETTER and is_late:
            yield "It was not asked for once more: the time for asking was over."
        elif follows == _AWAIT_STRAGGLER and is_not_asked:
            self._is_unclear = True
            yield "It was not asked for: redriven, the execution looks first."
        elif is_not_asked:
            yield "It was not asked for: it was redriven, or the time for asking was over."
        elif follows == DEAD_LETTER and (said or self._reason() == "rejected"):
            self._is_unclear = False
            why = _error_in_words("", cause[said.end() :]) if said else ""
            yield f"{self._asked(at - 1)}, and was rejected{why and f': {why}'}."
        elif follows == DEAD_LETTER:
            yield "It was rejected, or the time for asking for it was over."
        else:
            self._is_unclear = True
            asked = self._asked(at - 1)
            yield f"{asked}, and did not clearly answer that it was performed: {UNCLEAR}."

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
        elif not follows:
            yield f"{begins} to be looked up, and there is no answer yet."
        elif follows == DEAD_LETTER and _NOT_LOOKED_UP in cause:
            yield (
                "It was not looked up once more: the time for looking was over."
                if self._came_from(at) == _AWAIT_FIND
                else "Nothing can look it up: the stack names no function for it (FindFunctionArn)."
            )
        else:
            why = _error_in_words(error, cause)
            yield f"{begins} to be looked up, which failed{why and f': {why}'}."

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

    def _waits(self, at: int) -> Iterator[str]:
        """Of a wait that was not told with what it waits for."""
        visit = self._visits[at]
        yield "It waits now." if visit.until is None else f"It waited {visit.lasted}."

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
        _ANSWER: _answer,
        _AWAIT_PROVIDER: _waits,
        _AWAIT_STRAGGLER: _await_straggler,
        FIND_EFFECT: _find,
        _AWAIT_FIND: _waits,
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
    if decision not in ("retry", "resolve", "reject"):
        return f"After {lasted} an answer came that is none of the decisions{said}."
    by = decided.get("decided_by")
    return f"After {lasted} {f'{by} decided' if by else 'it was decided'}: {decision}{said}."
