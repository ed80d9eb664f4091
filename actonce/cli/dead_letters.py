"""`actonce dead-letters`: messages that wait for a decision."""

from typing import Annotated, Any

import typer

from actonce.cli import bulk, tables
from actonce.cli.bulk import BulkOptions, EntryFormat, bulk_options
from actonce.cli.options import Json, check_id, stack_options, with_glossary
from actonce.cli.where import print_summary
from actonce.messages import history
from actonce.messages.arguments import command_to_decide
from actonce.messages.dead_letters import (
    EXPLANATIONS,
    REASONS,
    DeadLetter,
    describe_missing_letter,
    find_letter,
    is_of_last,
    list_dead_letters,
)
from actonce.messages.effect_store import find_effect_store
from actonce.messages.filters import Listing, reason_label
from actonce.messages.states import BROKEN_OFF
from actonce.messages.story import UnstartedScan, read_story
from actonce.messages.summary import summarize
from actonce.operate.decisions.allowed import Decision, decisions_on
from actonce.operate.decisions.deciding import BulkDecision, decide
from actonce.operate.decisions.results import ANOTHER_SINCE
from actonce.queues.scan import QueueReader
from actonce.stack.clients import Stack
from actonce.stack.endpoint import TargetOptions
from actonce.stack.target import find_stack
from actonce.terminal import output as console
from actonce.terminal.error_names import error_label
from actonce.terminal.errors import Failed, UsageError
from actonce.terminal.visible import json_text

app = typer.Typer(
    help="Look at what waits for a decision, and decide.\n\n"
    "Example:\n\n    actonce dead-letters list",
    no_args_is_help=True,
    rich_markup_mode=None,
)

MessageId = Annotated[
    str,
    typer.Argument(metavar="ID", help="The message's id, or its execution's name."),
]
OneOrAll = Annotated[
    str | None,
    typer.Argument(metavar="ID", help="The message's id, or its execution's name; or --all."),
]
Note = Annotated[str, typer.Option(help="Why you decide so; the execution's history keeps it.")]
Told = Annotated[
    str,
    typer.Option(
        "--note", help="Who has checked that it did not happen, and where; kept in the history."
    ),
]
_TEXTS = "id, error, cause or message"
_options_to_decide = bulk_options(REASONS, _TEXTS, errors=True, acts=True, paced=True)
_ITS_WORD = "You vouch that none of these has happened. Any that has will happen twice."
_LETTERS: EntryFormat[DeadLetter] = EntryFormat(
    queue="DeadLetterQueue",
    name="dead_letters",
    one="dead letter",
    several="dead letters",
    headers=("ID", "Letter", "Reason", "Since", "Error"),
    row=lambda one: (
        one.message_id,
        one.letter,
        reason_label(one.kind["reason"]),
        one.posted_at,
        ": ".join(filter(None, [error_label(one.error), history.short_cause(one.cause)])),
    ),
    as_json=DeadLetter.as_json,
)


@app.command("list")
@stack_options()
@bulk_options(REASONS, _TEXTS, errors=True)
@with_glossary(EXPLANATIONS)
def list_(*, how: BulkOptions, at: TargetOptions) -> None:
    """List what waits for a decision, the longest first.

    ActOnce posts a dead letter for a message that it cannot finish alone, and waits 14 days at most
    for somebody to decide. More than 50 are counted by kind; --limit lists so many. Nothing of an
    execution that ended undecided waits: actonce list --status aborted. Why a message waits:

    Examples:

        actonce dead-letters list

        actonce dead-letters list --reason not_performed --before 2h
    """
    stack = find_stack(at)
    listing = _look(stack, how)
    bulk.print_list(_LETTERS, listing, how)
    for state, number in listing.ended.items():
        if not how.json:
            console.say(
                f"Not listed, for nothing of it waits: {number:,} {reason_label(state)}. See "
                f"actonce dead-letters list --reason {state}{stack.options}"
            )
    if listing.entries and not how.json:
        for reason in dict.fromkeys(one.kind["reason"] for one in listing.entries):
            console.say(f"--reason {reason}: {EXPLANATIONS.get(reason, 'it does not say why')}.")
        console.say(f"What to do about one: actonce dead-letters show{stack.options} ID")


@app.command()
@stack_options()
def show(
    message_id: MessageId,
    *,
    at: TargetOptions,
    json: Json = False,
) -> None:
    """Show one dead letter whole, and what to do.

    It shows the message, and what is known of its effect, as well.

    Example:

        actonce dead-letters show request-4711
    """
    check_id(message_id)
    stack = find_stack(at)
    with QueueReader(stack.sqs, stack.dead_letter_queue) as queue:
        letter = find_letter(queue, message_id)
    if letter is None:
        unseen = describe_missing_letter(message_id, queue.in_flight_elsewhere)
        raise Failed(f"{unseen}; actonce where tells its story.")
    execution = history.find_execution(stack, letter.execution_name)
    status = execution.status if execution is not None else None
    message = letter.message
    if message is None and execution is not None:
        message = execution.message or None  # too large to be posted with the rest
    story = read_story(
        stack, letter.message_id, find_effect_store(stack), log=False, unstarted=UnstartedScan()
    )
    summary = summarize(story)
    whole = letter.as_json() | {"execution_status": status, "message": message}
    if json:
        console.print_json(whole | {"summary": summary.as_json()})
        return
    fields = {name: value for name, value in whole.items() if name != "message"}
    in_words = {"reason": reason_label(letter.reason), "error": error_label(letter.error)}
    in_words |= {"cause": history.short_cause(letter.cause, 1000)}
    tables.print_fields(fields | in_words)
    if message is None:
        console.out.print(
            "The message was too large for the dead letter: it is the execution's input."
        )
    else:
        for line in json_text(message, indent=2).splitlines():
            console.out.print(line)
    print_summary(summary)
    if story.dead_letters and not is_of_last(letter, story.dead_letters):
        console.say(f"This letter waits no more: {ANOTHER_SINCE}, which tells the reason.")
    if summary.state not in BROKEN_OFF:
        # What is advised comes first.
        choice = decisions_on(stack, letter.reason, letter.cause)
        choice.sort(key=lambda one: one != summary.advised)
        command = command_to_decide(stack.options, letter, "DECISION")
        console.say(f"To decide, with {', '.join(choice)} as DECISION: {command}")


@app.command()
@stack_options()
@_options_to_decide
def retry(
    *, message_id: OneOrAll = None, how: BulkOptions, note: Note = "", at: TargetOptions
) -> None:
    """Have ActOnce try again; in doubt it looks first.

    Where nobody knows whether the effect happened, ActOnce looks it up before it performs it. Where
    no function can look it up, ActOnce refuses a retry: find out by hand, then perform or resolve.

    Without --letter it continues an execution that somebody aborted, or that failed because nobody
    decided in time, which posts its dead letter again; and what waits without a dead letter.

    --all shows all that wait now, asks, and decides on these and on none that come later. If it is
    interrupted, give the same command again.

    Examples:

        actonce dead-letters retry --letter 5fea7756 request-4711

        actonce dead-letters retry --all --reason not_performed --rate 20
    """
    _decide(message_id, "retry", note, at, how)


@app.command()
@stack_options()
@_options_to_decide
def perform(
    *, message_id: OneOrAll = None, note: Told, how: BulkOptions, at: TargetOptions
) -> None:
    """Have ActOnce perform what you know did not happen.

    ActOnce takes your word and looks nothing up. So look yourself first, at the provider or in its
    table, and after the dead letter was posted: if the effect did happen, it happens twice.

    For --all see actonce dead-letters retry --help.

    Examples:

        actonce dead-letters perform --letter 5fea7756 --note 'not in the journal; Ann' request-4711

        actonce dead-letters perform --all --reason outcome_unknown --note 'never sent; Ann'
    """
    _decide(message_id, "perform", note, at, how)


@app.command()
@stack_options()
@_options_to_decide
def resolve(
    *, message_id: OneOrAll = None, note: Note, how: BulkOptions, at: TargetOptions
) -> None:
    """Close it as done: it happened, or you did it by hand.

    For --all see actonce dead-letters retry --help.

    Examples:

        actonce dead-letters resolve --letter 5fea7756 --note 'booked by telephone' request-4711

        actonce dead-letters resolve --all --match 'practice-7' --note 'booked by telephone'
    """
    _decide(message_id, "resolve", note, at, how)


@app.command()
@stack_options()
@_options_to_decide
def reject(*, message_id: OneOrAll = None, note: Note, how: BulkOptions, at: TargetOptions) -> None:
    """Close it as rejected: it shall not be done.

    For --all see actonce dead-letters retry --help.

    Examples:

        actonce dead-letters reject --letter 5fea7756 --note 'the practice has closed' request-4711

        actonce dead-letters reject --all --error Rejected --before 3d --note 'out of time'
    """
    _decide(message_id, "reject", note, at, how)


def _decide(
    message_id: str | None, decision: Decision, note: str, at: TargetOptions, how: BulkOptions
) -> None:
    if decision != "retry" and not note.strip():
        raise UsageError("The note is empty: say why, for whoever reads the history.")
    stack = how.stack(at, message_id)
    if message_id is None:
        work = BulkDecision(stack, _look(stack, how), decision, note.strip(), rate=how.rate)
        warning = _ITS_WORD if decision == "perform" else None
        bulk.act(_LETTERS, decision, work, how, warning=warning)
        return
    answer = decide(stack, message_id, decision, note.strip(), how.letter)
    if how.json:
        result: dict[str, Any] = {"message_id": message_id, "decision": decision}
        result |= {"end": answer.end, "text": answer.text, "left_behind": answer.left_behind}
        console.print_json(result)
    if not answer.end.happened:
        raise Failed(f"Nothing was decided. {answer.text}")
    if not how.json:
        console.out.print(answer.text)


def _look(stack: Stack, how: BulkOptions) -> Listing[DeadLetter]:
    queue = QueueReader(stack.sqs, stack.dead_letter_queue)
    return bulk.read(
        queue,
        _LETTERS.queue,
        lambda tell: list_dead_letters(stack, queue, how.entry_filter, tell),
    )
