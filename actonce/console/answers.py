"""Answers that the views give: a page, a part of one, JSON, or to look elsewhere."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from actonce.console.desk import Desk
from pipeline.visible import json_text

Form = Mapping[str, list[str]]
"""What a page's form has sent; a name may come several times."""


def page(desk: Desk, template: str, /, code: int = 200, **values: Any) -> Response:
    """A page, or a part of one."""
    return Response(desk.render(template, values), code, media_type="text/html")


def problem(desk: Desk, sentence: str, code: int = 422) -> Response:
    """A part of a page that says what is wrong; whatever was typed stays where it is."""
    return page(desk, "problem.html.j2", code=code, sentence=sentence)


def as_json(value: Any, code: int = 200) -> Response:
    """An export."""
    return Response(json_text(value, indent=2) + "\n", code, media_type="application/json")


def wants_json(request: Request) -> bool:
    """Whether the address asks for an export."""
    return request.query_params.get("format") == "json"


def elsewhere(request: Request, address: str) -> Response:
    """To another address; htmx is told in a header of its own, for it would follow in place."""
    if "hx-request" in request.headers:
        return Response(status_code=204, headers={"HX-Redirect": address})
    return RedirectResponse(address, 303)


async def form(request: Request) -> Form:
    """What a form has sent, urlencoded."""
    body = await request.body()
    return parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)


def one(said: Form, name: str) -> str:
    """A field that comes once; empty if it does not come."""
    return said.get(name, [""])[0]


def number(text: str) -> int:
    """A number in an address or a form; 0 where it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
