"""`actonce dead-letters`: messages that wait for a decision."""

from typing import Annotated

import typer

from actonce import console, dead_letters, history
from actonce.commands import tables
from actonce.commands.options import Json, StackName
from actonce.dead_letters import Decision
from actonce.errors import Failed
from actonce.queue_peek import QueueReader
from actonce.target import find_stack

app = typer.Typer(
    help="Look at messages that wait for a decision, and decide.\n\n"
    "Example:\n\n    actonce dead-letters list",
    no_args_is_help=True,
    rich_markup_mode=None,
)

MessageId = Annotated[
    str, typer.Argument(metavar="ID", help="The message's id, or its execution's name.")
]
Note = Annotated[str, typer.Option(help="Why; it stays in the execution's history.")]


@app.command("list")
def list_(stack_name: StackName = "actonce", json: Json = False) -> None:
    """List the messages that wait for a decision, the longest waiting first.

    Example:

        actonce dead-letters list
    """
    stack = find_stack(stack_name)
    with QueueReader(stack.sqs, stack.dead_letter_queue) as queue:
        letters = dead_letters.waiting(queue)
    held = queue.held_elsewhere
    if json:
        found = [letter.as_json() for letter in letters]
        console.print_json({"dead_letters": found, "held_elsewhere": held})
    elif letters:
        rows = [
            (one.message_id, one.reason, str(one.rounds), one.posted_at, one.error)
            for one in letters
        ]
        tables.print_rows(("ID", "Reason", "Rounds", "Since", "Error"), rows)
    else:
        console.out.print("No message waits for a decision.")
    if held:
        console.err.print(f"Another reader holds {held} more at this moment.")


@app.command()
def show(
    message_id: MessageId,
    stack_name: StackName = "actonce",
    json: Json = False,
) -> None:
    """Show one dead letter whole, with its message.

    Example:

        actonce dead-letters show request-4711
    """
    stack = find_stack(stack_name)
    with QueueReader(stack.sqs, stack.dead_letter_queue) as queue:
        found = [letter for letter in dead_letters.waiting(queue) if letter.is_named(message_id)]
    if not found:
        raise Failed(
            f"There is no dead letter of {message_id!r} in the queue; "
            "actonce where tells its story."
        )
    letter = found[0]
    execution = history.find_execution(stack, letter.execution_name)
    status = execution.status if execution is not None else None
    message = letter.message
    if message is None and execution is not None:
        message = execution.input or None  # too large to be posted with the rest
    whole = letter.as_json() | {"execution_status": status, "message": message}
    if json:
        console.print_json(whole)
        return
    fields = {name: value for name, value in whole.items() if name != "message"}
    tables.print_fields(fields | {"cause": history.short_cause(letter.cause, 1000)})
    if message is None:
        console.out.print("The message was too large to be posted: it is the execution's input.")
    else:
        console.print_json_in_lines(message)


@app.command()
def retry(
    message_id: MessageId,
    note: Note = "",
    stack_name: StackName = "actonce",
    json: Json = False,
) -> None:
    """Have the effect tried again; where the outcome is unknown it is looked up first.

    If its execution failed because nobody decided in time, it is redriven and the dead letter
    posted again. An execution that somebody aborted is continued.

    Example:

        actonce dead-letters retry request-4711
    """
    _decide(message_id, "retry", note, stack_name, json=json)


@app.command()
def resolve(
    message_id: MessageId,
    note: Note,
    stack_name: StackName = "actonce",
    json: Json = False,
) -> None:
    """Declare it done: the effect happened, or was made to happen by hand.

    Example:

        actonce dead-letters resolve request-4711 --note 'booked by telephone'
    """
    _decide(message_id, "resolve", note, stack_name, json=json)


@app.command()
def reject(
    message_id: MessageId,
    note: Note,
    stack_name: StackName = "actonce",
    json: Json = False,
) -> None:
    """Declare that it shall not be done; its execution fails.

    Example:

        actonce dead-letters reject request-4711 --note 'the practice has closed'
    """
    _decide(message_id, "reject", note, stack_name, json=json)


def _decide(message_id: str, decision: Decision, note: str, stack_name: str, *, json: bool) -> None:
    answer = dead_letters.decide(find_stack(stack_name), message_id, decision, note)
    if json:
        console.print_json(
            {
                "message_id": message_id,
                "decision": decision,
                "decided": answer.decided,
                "posted_again": answer.posted_again,
                "continued": answer.continued,
                "said": answer.said,
            }
        )
    else:
        console.out.print(answer.said, markup=False)
