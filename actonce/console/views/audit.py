"""What the last audit said: its sentence, its days, its alarms, and its own page."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from actonce.console.answers import as_json, page, wants_json
from actonce.console.desk import Desk
from actonce.records.audit_summary import has_ended
from actonce.records.report.page import html

_HOW = "actonce collect and actonce audit make them; on AWS the daily audit does"

_OF_THE_PAGE: Mapping[str, str] = {
    # It is one file with its style in it, and no script; it is framed by nobody.
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )
}


def audit(desk: Desk, request: Request) -> Response:
    """Its summary."""
    summary = desk.audits.summary()
    if wants_json(request):
        return as_json(summary)
    return page(
        desk,
        "audit.html.j2",
        summary=summary,
        has_ended=summary is not None and has_ended(summary),
        results=desk.audits.place,
        how=_HOW,
    )


def its_page(desk: Desk, _: Request) -> Response:
    """The audit's own page, drawn of its summary."""
    summary = desk.audits.summary()
    if summary is None:
        sentence = f"No audit's results are at hand: {_HOW}."
        return page(desk, "lost.html.j2", code=404, sentence=sentence, back="/audit")
    try:
        drawn = html(summary)
    except ValueError as error:  # it has not come to its end, or is of another version, or torn
        sentence = f"The audit's page cannot be drawn: {error}"
        return page(desk, "lost.html.j2", code=404, sentence=sentence, back="/audit")
    return Response(drawn, headers=dict(_OF_THE_PAGE), media_type="text/html")
