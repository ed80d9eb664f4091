"""The input of a message's execution, and how large it may be."""

from actonce_core.strict_json import as_sqs_takes_it, canonical

MAX_EXECUTION_INPUT_BYTES = 256 * 1024 - 1024
"""Largest execution input that is started, in bytes of UTF-8.

Step Functions takes 256 KiB ("Quotas", Maximum input size), for an execution and again for each
state's arguments, in which the input stands with the function's ARN around it. An execution that
outgrows that fails past every Catch (States.DataLimitExceeded), so 1 KiB is kept for the rest.
"""


def execution_input(message_id: str, written: str, *, is_plain: bool) -> str:
    """Canonical JSON of `{"body": ..., "message_id": ...}`.

    Of `{"body_json": text, "message_id": ...}` where the body's value would not come through Step
    Functions unchanged.

    Args:
        message_id: the producer's.
        written: the body's canonical text.
        is_plain: see `strict_json.Read`.
    """
    if is_plain:
        name = "body"
    else:
        name = "body_json"
        written = canonical(as_sqs_takes_it(written))
    return f'{{"{name}":{written},"message_id":{canonical(message_id)}}}'


def too_large(execution_input: str) -> str | None:
    """What is wrong with an input that is too large to be started; None: nothing."""
    size = len(execution_input.encode("utf-8"))
    if size <= MAX_EXECUTION_INPUT_BYTES:
        return None
    return (
        f"As the input of an execution the message has {size:,} bytes of UTF-8; "
        f"an execution takes at most {MAX_EXECUTION_INPUT_BYTES:,}."
    )
