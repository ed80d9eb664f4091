"""What a browser asks a view for, and what a view answers: a page, a part of one, a redirect."""

from dataclasses import dataclass
from typing import Any, Final

from starlette.datastructures import QueryParams
from starlette.responses import RedirectResponse, Response

from actonce.console.context import Context
from actonce.terminal.errors import UsageError
from actonce.terminal.ids import check_id

A_MOMENT: Final = 0.3
"""Seconds for which a page waits for a queue that is being read: a person waits for the page."""

A_WHILE: Final = 2.0
"""The same of a part that the page's script asks for: the page shows the one before meanwhile."""


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """The fields of an address or a form.

    Attributes:
        fields: of a GET's query or a POST's form, and of the path.
        is_htmx: whether htmx asks, and puts the answer into a page.
    """

    fields: QueryParams
    is_htmx: bool

    def value(self, name: str) -> str:
        """A field's value, the last of several; empty where there is none."""
        return self.fields.get(name, "")

    @property
    def patience(self) -> float:
        """Seconds for which the answer may wait for a queue that is being read."""
        return A_WHILE if self.is_htmx else A_MOMENT

    def number(self, name: str) -> int:
        """A field's number; 0 where it is no number."""
        text = self.value(name)
        return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0

    @property
    def message_id(self) -> str:
        """The id in the address of a message's page.

        Raises:
            Refused: no message can have it.
        """
        try:
            return check_id(self.value("id"))
        except UsageError as error:
            raise Refused(str(error), 404, "/messages") from error


class Refused(Exception):
    """A view cannot do or show what it was asked for; it changed nothing.

    Attributes:
        status: of HTTP.
        back: where the error page leads back to; None: the same address again.
    """

    def __init__(self, sentence: str, status: int = 422, back: str | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.back = back


def page(context: Context, template: str, /, code: int = 200, **values: Any) -> Response:
    """A page, or a part of one."""
    return Response(
        context.templates.get_template(template).render(values), code, media_type="text/html"
    )


def redirect(request: ViewRequest, address: str) -> Response:
    """Redirect; htmx is told by a header of its own, for it would swap in what it is led to."""
    if request.is_htmx:
        return Response(status_code=204, headers={"HX-Redirect": address})
    return RedirectResponse(address, 303)
