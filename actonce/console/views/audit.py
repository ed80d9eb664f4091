"""What the last audit said: its sentence, its days and its alarms."""

from starlette.responses import Response

from actonce.console.answers import Asked, page
from actonce.console.context import Context
from actonce.records.audit_summary import has_ended


def audit(context: Context, _: Asked) -> Response:
    """Its summary."""
    summary = context.audits.summary()
    return page(
        context,
        "audit.html.j2",
        summary=summary,
        has_ended=summary is not None and has_ended(summary),
        results=context.audits.place,
    )
