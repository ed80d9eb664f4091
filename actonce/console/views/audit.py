"""What the last audit found, if its results are at hand."""

from starlette.responses import Response

from actonce.console.context import Context
from actonce.console.responses import ViewRequest, page
from actonce.records import audit_summary


def audit(context: Context, _: ViewRequest) -> Response:
    """Its sentence, its days and its alarms.

    Raises:
        Failed: there are results that cannot be read, or are another stack's.
        ClientError: AWS says no.
    """
    place, summary = audit_summary.last_of(context.stack, context.audit) or (None, None)
    return page(
        context,
        "audit.html.j2",
        summary=summary,
        severity=summary and audit_summary.SEVERITIES.get(summary.get("exit_status")),
        has_ended=summary is not None and audit_summary.has_ended(summary),
        results=place,
    )
