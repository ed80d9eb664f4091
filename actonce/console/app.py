"""The console's addresses, and what is told where something fails."""

import contextlib
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from actonce.console.access import Access
from actonce.console.answers import page, problem
from actonce.console.desk import Desk
from actonce.console.views import (
    audit,
    dead_letters,
    first,
    message,
    messages,
    unstarted,
    works,
)
from actonce.console.watching import told
from actonce.terminal.errors import Failed, WrongUse

_STATIC = Path(__file__).parent / "static"
_LAST_SECONDS = 10.0
"""For what was begun to come to its end, when the console is ended."""

View = Callable[[Desk, Request], Response] | Callable[[Desk, Request], Awaitable[Response]]


def app(desk: Desk, token: str, port: int) -> ASGIApp:
    """The application, behind what decides who may ask it.

    Where the console may only read, what changes something has no address at all; and should
    anything slip through, its call of AWS is refused (`calls.Calls`).
    """
    shows: list[tuple[str, View]] = [
        ("/", first.first),
        ("/waiting", first.waiting),
        ("/stack", first.stack),
        ("/dead-letters", dead_letters.list_),
        ("/unstarted", unstarted.list_),
        ("/unstarted/entry", unstarted.entry),
        ("/messages", messages.list_),
        ("/find", messages.find),
        ("/message", message.message),
        ("/message/now", message.now),
        ("/message/log", message.log),
        ("/message/raw", message.raw),
        ("/message/verdict", message.verdict),
        ("/audit", audit.audit),
        ("/audit/page", audit.its_page),
        ("/works", works.list_),
        ("/works/{number}", works.work),
        ("/works/{number}/now", works.now),
        ("/dead-letters/decide", dead_letters.confirm),
        ("/unstarted/clear", unstarted.confirm),
    ]
    changes: list[tuple[str, View]] = [
        ("/dead-letters/decide", dead_letters.decide),
        ("/unstarted/clear", unstarted.clear),
        ("/works/{number}/stop", works.stop),
    ]
    routes: list[Route | Mount] = [
        Route(path, partial(_answer, desk, view), methods=["GET"]) for path, view in shows
    ]
    routes.append(Route("/look", partial(_answer, desk, first.look), methods=["POST"]))
    if not desk.read_only:
        routes += [
            Route(path, partial(_answer, desk, view), methods=["POST"]) for path, view in changes
        ]
    routes.append(Mount("/static", StaticFiles(directory=_STATIC)))

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        desk.letters.look()
        desk.unstarted.look()
        yield
        desk.works.stop_all()
        await run_in_threadpool(desk.works.rest, _LAST_SECONDS)

    return Access(
        Starlette(
            routes=routes,
            lifespan=lifespan,
            exception_handlers={HTTPException: partial(_no_such, desk)},
        ),
        token,
        port,
    )


# Any: Starlette's type of a handler knows no partial.
async def _answer(desk: Desk, view: Any, request: Request) -> Response:
    """What a view answers; what fails in it is told in one sentence, where the view would stand."""
    try:
        if iscoroutinefunction(view):
            answer: Response = await view(desk, request)
            return answer
        return await run_in_threadpool(view, desk, request)
    except WrongUse as error:
        return _failed(desk, request, str(error), 422)
    except (Failed, ClientError, BotoCoreError, ResponseParserError) as error:
        return _failed(desk, request, told(error), 502)
    except Exception as error:  # noqa: BLE001 - this view has a fault; the others go on
        traceback.print_exception(error)
        sentence = (
            f"This view has failed ({type(error).__name__}); what happened is told in the terminal "
            "in which the console was started."
        )
        return _failed(desk, request, sentence, 500)


def _failed(desk: Desk, request: Request, sentence: str, status: int) -> Response:
    if "hx-request" in request.headers:
        return problem(desk, sentence, status)
    query = f"?{request.url.query}" if request.url.query else ""
    back = "/" + request.url.path.lstrip("/\\") + query  # //other.example is another host
    return page(desk, "lost.html.j2", code=status, sentence=sentence, back=back)


async def _no_such(desk: Desk, request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    if desk.read_only and request.method != "GET":
        sentence = "This console was started with --read-only: nothing is changed by it."
        return _failed(desk, request, sentence, 403)
    sentence = "There is no such page in this console."
    return _failed(desk, request, sentence, status)
