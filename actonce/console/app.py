"""The console's addresses, and the answer where a view fails."""

import asyncio
import contextlib
import traceback
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from actonce.console.access import Access
from actonce.console.answers import Refused, ViewRequest, page
from actonce.console.context import Context
from actonce.console.views import audit, dead_letters, first, jobs, message, messages, unstarted
from actonce.stack.aws_errors import error_text
from actonce.terminal.errors import Failed, WrongUse

_STATIC = Path(__file__).parent / "static"
_LAST_SECONDS = 10.0
"""For a running job to finish what it has begun, when the console ends."""

MOST_AT_ONCE: Final = 32
"""Views that may call AWS at the same time; the others have threads of their own."""

LONGEST_SECONDS: Final = 30.0
"""For a view that calls AWS; what it has begun goes on, and nobody waits for it."""

View = Callable[[Context, ViewRequest], Response]

_SHOWS: dict[str, View] = {
    "/": first.first,
    "/waiting": first.waiting,
    "/stack": first.stack,
    "/stopped": first.stopped,
    "/dead-letters": dead_letters.VIEW.list_,
    "/dead-letters/decide": dead_letters.VIEW.confirm,
    "/unstarted": unstarted.VIEW.list_,
    "/unstarted/decide": unstarted.VIEW.confirm,
    "/unstarted/entry": unstarted.entry,
    "/messages": messages.list_,
    "/find": messages.find,
    "/message": message.message,
    "/message/now": message.now,
    "/message/log": message.log,
    "/message/raw": message.raw,
    "/audit": audit.audit,
    "/jobs": jobs.list_,
    "/jobs/{number}": jobs.job,
    "/jobs/{number}/now": jobs.now,
}
_CHANGES: dict[str, View] = {
    "/dead-letters/decide": dead_letters.VIEW.act,
    "/unstarted/decide": unstarted.VIEW.act,
    "/jobs/{number}/stop": jobs.stop,
}
_AT_HAND: Final = frozenset({jobs.list_, jobs.job, jobs.now, jobs.stop, messages.find})
"""Views that call no AWS."""


def app(context: Context, token: str, port: int) -> ASGIApp:
    """The application, behind `Access`, which decides who may ask it.

    A read-only console has no address that changes anything; and should something slip through,
    the clients refuse the call (`read_only`).
    """
    posts = {"/scan": first.scan} | ({} if context.read_only else _CHANGES)
    asking = ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="views")
    routes: list[Route | Mount] = [
        Route(path, partial(_answer, context, asking, view), methods=[method])
        for method, views in (("GET", _SHOWS), ("POST", posts))
        for path, view in views.items()
    ]
    routes.append(Mount("/static", StaticFiles(directory=_STATIC)))

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        context.letters.scan()
        context.unstarted.scan()
        yield
        asking.shutdown(wait=False, cancel_futures=True)
        context.jobs.stop_all()
        await run_in_threadpool(context.jobs.wait, _LAST_SECONDS)

    not_found = {HTTPException: partial(_no_such, context)}
    starlette = Starlette(routes=routes, lifespan=lifespan, exception_handlers=not_found)
    return Access(starlette, token, port)


async def _answer(context: Context, asking: Executor, view: View, request: Request) -> Response:
    """What a view answers; if it fails, one sentence stands where the view would.

    Args:
        context: handed to the view.
        asking: runs views that call AWS.
        view: the view.
        request: the browser's.
    """
    query = request.url.query
    if request.method == "POST":
        try:
            query = (await request.body()).decode("utf-8", "replace")
        except ClientDisconnect:
            return Response()  # nobody is there to get it
    fields = parse_qs(query, keep_blank_values=True)
    fields |= {name: [text] for name, text in request.path_params.items()}
    of_view = ViewRequest(fields, "hx-request" in request.headers)
    back = None
    try:
        if view in _AT_HAND:
            return await run_in_threadpool(view, context, of_view)
        answer = asyncio.get_running_loop().run_in_executor(asking, view, context, of_view)
        return await asyncio.wait_for(answer, LONGEST_SECONDS)
    except TimeoutError:
        status = 504
        sentence = (
            f"AWS has not answered for {LONGEST_SECONDS:.0f} s: look again. What was asked for may "
            "still be begun."
        )
    except Refused as refused:
        status, sentence, back = refused.status, str(refused), refused.back
    except WrongUse as error:
        status, sentence = 422, str(error)
    except (Failed, ClientError, BotoCoreError, ResponseParserError) as error:
        status, sentence = 502, error_text(error)
    except Exception as error:  # noqa: BLE001 - the other views go on
        traceback.print_exception(error)
        status = 500
        sentence = (
            f"This view has failed ({type(error).__name__}); what happened is told in the terminal "
            "in which the console was started."
        )
    return _failed(context, request, sentence, status, back)


def _failed(
    context: Context, request: Request, sentence: str, status: int, back: str | None = None
) -> Response:
    if "hx-request" in request.headers:  # whatever was typed stays where it is
        return page(context, "problem.html.j2", code=status, sentence=sentence)
    if back is None and request.method == "GET":
        query = f"?{request.url.query}" if request.url.query else ""
        back = "/" + request.url.path.lstrip("/\\") + query  # //other.example is another host
    return page(context, "error.html.j2", code=status, sentence=sentence, back=back or "/")


async def _no_such(context: Context, request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    if context.read_only and request.method != "GET":
        sentence = "This console was started with --read-only: nothing is changed by it."
        return _failed(context, request, sentence, 403)
    return _failed(context, request, "There is no such page in this console.", status)
