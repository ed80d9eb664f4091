"""A message's state, what happened and what to do, for the command line and the console."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from actonce.messages.advice import Advice, advise
from actonce.messages.arguments import command
from actonce.messages.dead_letters import DeadLetter
from actonce.messages.effect_store import DynamoDbEffects, find_effect_store
from actonce.messages.facts import gather_facts
from actonce.messages.filters import Entry
from actonce.messages.history import Execution
from actonce.messages.sentences import describe, describe_conflicts
from actonce.messages.states import STATES, StateName
from actonce.messages.story import Part, Story, UnstartedScan
from actonce.messages.unstarted import Unstarted
from actonce.stack.clients import Stack
from actonce_core.histories.stays import DecisionWait


@dataclass(frozen=True, slots=True)
class Summary:
    """The state of a message, what happened to it and what to do.

    Attributes:
        state: one of `STATES`, with its `label` and `explanation`.
        status: AWS's of its execution, or what its row says of itself; None: it has neither.
        outcome: `performed`, `found`, `resolved` or `rejected`; None: it has not ended, or does not
            say.
        effects: how many effects were found; None: that is not known.
        sentence: what happened, and who did it.
        advice: what to do now, and why; None: nothing.
        advised: the decision that is advised; None: no decision is due, or a person has to find
            something out first.
        conflicts: what came with the same id and another content; None: nothing did.
        unread: for each part that could not be read, a sentence with the reason. Nothing is called
            absent because of it.
    """

    state: StateName
    label: str
    explanation: str
    status: str | None
    outcome: str | None
    effects: int | None
    sentence: str
    advice: str | None
    advised: str | None
    conflicts: str | None
    unread: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """For machines; fields may be added."""
        return asdict(self)


def summarize(story: Story, *, differs_beside: bool = False) -> Summary:
    """Summarize all that was read of a message.

    Args:
        story: the message's.
        differs_beside: what differs in a conflict is shown beside it, so no command is named.
    """
    facts, execution, row = gather_facts(story), story.execution, story.row or {}
    advice, conflicts = advise(facts), describe_conflicts(story)
    if any(entry.is_conflict for entry in story.unstarted):
        remedy = _REMEDY
        if not differs_beside:
            remedy += f" What differs is shown by {command(story, 'unstarted show')}"
        if advice.text is None:
            advice = Advice(remedy)
        else:
            conflicts = f"{conflicts} {remedy}"
    return Summary(
        state=facts.state,
        label=STATES[facts.state].label,
        explanation=STATES[facts.state].explanation,
        status=row.get("status") if execution is None else execution.status,
        outcome=row.get("outcome") if execution is None else execution.outcome,
        effects=len(story.effects) if facts.are_effects_known else None,
        sentence=describe(facts),
        advice=advice.text,
        advised=advice.action,
        conflicts=conflicts,
        unread=tuple(
            f"{_PARTS[part]} could not be read: {why}" for part, why in story.unread.items()
        ),
    )


def advice_on(
    stack: Stack,
    entry: Entry,
    effect_store: DynamoDbEffects | None = None,
    *,
    differs_beside: bool = False,
) -> Advice:
    """What to do about an entry of DeadLetterQueue or UnstartedQueue, by the entry alone.

    Unlike `where`, it reads neither history nor effects.
    """
    letter = entry if isinstance(entry, DeadLetter) else None
    effect_store = effect_store or find_effect_store(stack)
    is_unknown = letter is not None and not letter.nothing_happened
    unstarted = [entry] if isinstance(entry, Unstarted) else []
    execution, wait = (None, None) if letter is None else _by_letter(letter)
    story = Story(
        message_id=entry.ids["message_id"] or entry.display_name,
        execution_name=entry.display_name if letter is None else letter.execution_name,
        execution=execution,
        dead_letters=[] if wait is None else [wait],
        unstarted_scan=UnstartedScan(unstarted),
        effects_location=None if effect_store is None else effect_store.location,
        has_find_function=stack.find_function is not None,
        unread={"effects": ""} if effect_store is not None and is_unknown else {},
        options=stack.options,
    )
    summary = summarize(story, differs_beside=differs_beside)
    is_conflict = any(entry.is_conflict for entry in unstarted)
    return Advice(summary.advice, "discard" if is_conflict else summary.advised)


def _by_letter(letter: DeadLetter) -> tuple[Execution, DecisionWait]:
    """The execution of a letter that waits, and its wait, as far as the letter tells."""
    arn, name, since = letter.execution_arn, letter.execution_name, letter.since
    failure = {"reason": letter.reason, "cause": letter.cause}
    running = Execution(arn, name, "RUNNING", since, None, None, None, {}, {})
    return running, DecisionWait(since, failure)


_REMEDY = (
    "Compare the two contents, and ask the producer which is right. Then discard the refused one, "
    "or have it sent under a new id; sent back, it would be refused again."
)

_PARTS: Final[Mapping[Part, str]] = {
    "execution": "Its execution",
    "history": "Its execution's history, which tells whether it waits for a decision,",
    "row": "What the Fingerprints table has of it",
    "effects": "What its effect left",
    "unstarted": "UnstartedQueue",
    "log": "Its deliveries",
}
