"""What a view is asked, and the answers that views give: a page, a part of one, elsewhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import RedirectResponse, Response

from actonce.console.context import Context


@dataclass(frozen=True, slots=True)
class Asked:
    """What an address or a form asks for.

    Attributes:
        fields: of the address of what is only shown, else of the form; a name may come several
            times. What the address's path names is among them.
        by_script: htmx asks, and puts the answer into a page.
    """

    fields: Mapping[str, Sequence[str]]
    by_script: bool

    def one(self, name: str) -> str:
        """A field that comes once; empty if it does not come."""
        return self.fields.get(name, [""])[0]

    def number(self, name: str) -> int:
        """A number; 0 where it is none."""
        text = self.one(name)
        return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0

    @property
    def message_id(self) -> str:
        """Of the message whose page is asked for.

        Raises:
            Refused: it is empty.
        """
        message_id = self.one("id")
        if not message_id:
            raise Refused("No message has an empty id.", 404, "/messages")
        return message_id


class Refused(Exception):
    """What is asked for is not done, or cannot be shown; nothing was changed.

    Attributes:
        sentence: why.
        status: of HTTP.
        back: the address of the list that it was chosen from; None: the same address again.
    """

    def __init__(self, sentence: str, status: int = 422, back: str | None = None) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.status = status
        self.back = back


def page(context: Context, template: str, /, code: int = 200, **values: Any) -> Response:
    """A page, or a part of one."""
    return Response(context.render(template, values), code, media_type="text/html")


def elsewhere(asked: Asked, address: str) -> Response:
    """To another address; htmx is told in a header of its own, for it would follow in place."""
    if asked.by_script:
        return Response(status_code=204, headers={"HX-Redirect": address})
    return RedirectResponse(address, 303)
