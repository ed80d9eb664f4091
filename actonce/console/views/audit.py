"""What the last audit said: its sentence, its days, its alarms, and its own page."""

from collections.abc import Mapping

from starlette.responses import Response

from actonce.console.answers import Asked, Refused, as_json, page
from actonce.console.context import Context
from actonce.records.audit_summary import has_ended
from actonce.stack.extras import install

_HOW = "actonce collect and actonce audit make them; on AWS the daily audit does"

_OF_THE_PAGE: Mapping[str, str] = {
    # It is one file with its style in it, and no script; it is framed by nobody.
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )
}


def audit(context: Context, asked: Asked) -> Response:
    """Its summary."""
    summary = context.audits.summary()
    if asked.wants_json:
        return as_json(summary)
    return page(
        context,
        "audit.html.j2",
        summary=summary,
        has_ended=summary is not None and has_ended(summary),
        results=context.audits.place,
        how=_HOW,
    )


def its_page(context: Context, _: Asked) -> Response:
    """The audit's own page, drawn of its summary."""
    summary = context.audits.summary()
    if summary is None:
        raise Refused(f"No audit's results are at hand: {_HOW}.", 404, "/audit")
    try:
        from actonce.records.report.page import html  # noqa: PLC0415 - Matplotlib, a second to import
    except ImportError:
        sentence = f"The page is drawn by Matplotlib: {install('audit')}."
        raise Refused(sentence, 501, "/audit") from None
    try:
        drawn = html(summary)
    except ValueError as error:  # it has not come to its end, or is of another version, or torn
        raise Refused(f"The audit's page cannot be drawn: {error}", 404, "/audit") from error
    return Response(drawn, headers=dict(_OF_THE_PAGE), media_type="text/html")
