"""The console's addresses, and the answer where a view fails."""

import asyncio
import contextlib
import traceback
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

from anyio.to_thread import run_sync
from botocore.exceptions import BotoCoreError, ClientError
from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from actonce.console.access import Access
from actonce.console.context import Context
from actonce.console.responses import Refused, ViewRequest, page
from actonce.console.views import audit, dead_letters, jobs, message, messages, overview, unstarted
from actonce.stack.aws_errors import error_text, unreadable_answer
from actonce.terminal.errors import Failed, UsageError

_STATIC = Path(__file__).parent / "static"
_LAST_SECONDS = 10.0
"""For a running job to finish what it has begun, when the console ends."""

MOST_AT_ONCE: Final = 32
"""Views that call AWS at the same time, those included that nobody waits for any more; the others
have threads of their own."""

LONGEST_SECONDS: Final = 30.0
"""For a view that calls AWS; what it has begun goes on, and nobody waits for it."""

View = Callable[[Context, ViewRequest], Response]

_SHOWS: dict[str, View] = {
    "/": overview.first,
    "/waiting": overview.waiting,
    "/stack": overview.stack,
    "/dead-letters": dead_letters.VIEW.list_,
    "/dead-letters/decide": dead_letters.VIEW.confirm,
    "/unstarted": unstarted.VIEW.list_,
    "/unstarted/decide": unstarted.VIEW.confirm,
    "/unstarted/entry": unstarted.entry,
    "/messages": messages.list_,
    "/message": message.message,
    "/message/now": message.now,
    "/message/log": message.log,
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
_AT_HAND: Final = frozenset({jobs.list_, jobs.job, jobs.now, jobs.stop})
"""Views that call no AWS."""


def app(context: Context, token: str, port: int) -> ASGIApp:
    """The application, behind `Access`, which decides who may ask it.

    A read-only console has no address that changes anything.
    """
    posts = {"/scan": overview.scan} | ({} if context.read_only else _CHANGES)
    # Not anyio's limiter, which counts a view no longer once nobody waits for it.
    calling_aws = ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="views")

    async def answer(view: View, request: Request) -> Response:
        query = request.url.query
        if request.method == "POST":
            query = (await request.body()).decode("utf-8", "replace")
        # What the path says comes last, and wins.
        fields = [*QueryParams(query).multi_items(), *request.path_params.items()]
        of_view = ViewRequest(QueryParams(fields), "hx-request" in request.headers)
        if view in _AT_HAND:
            return await run_sync(view, context, of_view)
        loop = asyncio.get_running_loop()
        running = loop.run_in_executor(calling_aws, view, context, of_view)
        return await asyncio.wait_for(running, LONGEST_SECONDS)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        context.letters.scan()
        context.unstarted.scan()
        yield
        calling_aws.shutdown(wait=False, cancel_futures=True)
        context.jobs.stop_all()
        await run_sync(context.jobs.wait, _LAST_SECONDS)

    routes: list[Route | Mount] = [
        Route(path, partial(answer, view), methods=[method])
        for method, views in (("GET", _SHOWS), ("POST", posts))
        for path, view in views.items()
    ]
    routes.append(Mount("/static", StaticFiles(directory=_STATIC)))
    starlette = Starlette(routes=routes, lifespan=lifespan, exception_handlers=_handlers(context))
    return Access(starlette, token, port)


def _handlers(context: Context) -> dict[Any, Callable[[Request, Any], Response]]:
    """What answers in a view's stead, by what it raised: one sentence stands where it would."""
    failed = partial(_failed, context)

    def no_such(request: Request, error: HTTPException) -> Response:
        if context.read_only and request.method != "GET":
            sentence = "This console was started with --read-only: nothing is changed by it."
            return failed(request, 403, sentence)
        return failed(request, error.status_code, "There is no such page in this console.")

    def timed_out(request: Request, _: TimeoutError) -> Response:
        sentence = (
            f"AWS has not answered for {LONGEST_SECONDS:.0f} s: look again. What was asked for may "
            "still be begun."
        )
        return failed(request, 504, sentence)

    def broken(request: Request, error: Exception) -> Response:
        traceback.print_exception(error)
        sentence = (
            f"This view has failed ({type(error).__name__}); what happened stands in the terminal "
            "in which the console was started."
        )
        return failed(request, 500, sentence)

    return {
        HTTPException: no_such,
        Refused: lambda request, error: failed(request, error.status, str(error), error.back),
        UsageError: lambda request, error: failed(request, 422, str(error)),
        **dict.fromkeys(
            (Failed, ClientError, BotoCoreError, unreadable_answer()),
            lambda request, error: failed(request, 502, error_text(error)),
        ),
        TimeoutError: timed_out,
        ClientDisconnect: lambda *_: Response(),  # nobody is there to get it
        Exception: broken,
    }


def _failed(
    context: Context, request: Request, status: int, sentence: str, back: str | None = None
) -> Response:
    if "hx-request" in request.headers:  # whatever was typed stays where it is
        return page(context, "problem.html.j2", code=status, sentence=sentence)
    if back is None and request.method == "GET":
        query = f"?{request.url.query}" if request.url.query else ""
        back = "/" + request.url.path.lstrip("/\\") + query  # //other.example is another host
    return page(context, "error.html.j2", code=status, sentence=sentence, back=back or "/")
