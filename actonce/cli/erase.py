"""`actonce erase`: the content of one message."""

from actonce.cli import tables
from actonce.cli.options import MessageId, check_id, of_a_stack
from actonce.operate.erasing import look
from actonce.stack.endpoint import Chosen
from actonce.stack.target import find_stack
from actonce.terminal import output as console
from actonce.terminal.errors import Failed


@of_a_stack(asks=True)
def erase(
    message_id: MessageId,
    *,
    at: Chosen,
) -> None:
    """Erase the content of one message that has ended, and say what stays.

    It takes the body, the effect's answer and notes out of the records' bucket and out of a
    ledger's row. Each record keeps the id and what it is judged by, so the audit says the same as
    before. What remembers the id stays: a duplicate is still not acted on. It shows what it would
    erase and what it cannot, and asks.

    An open message is refused: decide it, send it back or discard it first. So is one that failed
    or was aborted undecided, while it can be continued. Erase the effect's own data yourself, and
    keep what its look-up looks for.

    Example:

        actonce erase request-4711
    """
    check_id(message_id)
    stack = find_stack(at)
    found = look(stack, message_id)
    bucket = stack.outputs.get("RecordsBucketName")
    rows = [
        (f"s3://{bucket}/{one.key}", f"{one.lines:,} records, {one.unread:,} that cannot be read")
        for one in found.records
    ]
    rows += [(stack.fingerprints_table, ", ".join(found.row))] if found.row else []
    tables.print_rows(("To erase", "What"), rows or [("nothing", "")])
    console.out.print()
    tables.print_rows(("It stays in", "What, until when"), found.kept())
    if rows:
        if not at.yes:
            console.agree("Erase it?", "Nothing was erased: say --yes, where nobody can be asked.")
        records = console.counted(found.run(), "record", "records")
        console.out.print(f"Erased in {records}{' and in the row' if found.row else ''}.")
        if found.records:
            audits = stack.outputs.get("AuditBucketName")
            results = f"s3://{audits}/audit/" if audits else "RESULTS"
            console.out.print(
                "An audit that has judged these files judges nothing until you accept them: "
                f"actonce audit verify {results} --accept",
                markup=False,
            )
    if unread := sum(one.unread for one in found.records):
        raise Failed(
            f"{console.counted(unread, 'line', 'lines')} may be of it and cannot be read: nothing "
            "of them was erased. Mend them, or remove them by hand."
        )
