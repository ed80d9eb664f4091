"""What the last audit said, of its days and of a message, where its results are at hand."""

from typing import Any

from starlette.responses import Response

from actonce.console.answers import Asked, page
from actonce.console.context import Context
from actonce.records import audit_summary


def audit(context: Context, _: Asked) -> Response:
    """Its sentence, its days and its alarms."""
    summary = _summary(context)
    return page(
        context,
        "audit.html.j2",
        summary=summary,
        has_ended=summary is not None and audit_summary.has_ended(summary),
        results=_place(context),
    )


def verdict(context: Context, asked: Asked) -> Response:
    """What it said of a message: a part of the message's page."""
    name, told = _verdict(context, asked.message_id)
    return page(context, "verdict.html.j2", verdict=name, told=told)


def _verdict(context: Context, message_id: str) -> tuple[str | None, str]:
    """A verdict's name, None where the summary has none; and one sentence."""
    summary = _summary(context)
    if summary is None:
        return None, "No audit's results are at hand."
    if not audit_summary.has_ended(summary):
        return None, str(summary.get("sentence") or "The audit has not come to its end.")
    audit = f"The audit of {summary.get('from')} to {summary.get('to')}"
    for alarm in summary.get("alarms", []):
        if alarm.get("message_id") == message_id:
            return str(alarm["verdict"]), f"{audit} raised an alarm of it."
    for name, ids in summary.get("listed", {}).items():
        if message_id in ids:
            return name, f"{audit} says so."
    return None, (
        f"{audit} does not name it among its alarms; its verdict is in the table below "
        f"{_place(context)}messages/, which this page does not read."
    )


def _place(context: Context) -> str | None:
    """Where the results are; None: there are none at hand."""
    if context.audit is not None:
        return f"{context.audit}/"
    bucket = context.stack.outputs.get("AuditBucketName")
    return None if bucket is None else f"s3://{bucket}/audit/"


def _summary(context: Context) -> dict[str, Any] | None:
    """The audit's `summary.json`; None: there is none.

    Raises:
        Failed: there is one that cannot be read.
        ClientError: AWS says no.
    """
    if context.audit is not None:
        return audit_summary.of_folder(context.audit)
    place = _place(context)
    return None if place is None else audit_summary.of_bucket(context.stack.aws.client("s3"), place)
