"""What was asked for: how far it is, what became of each, and stopping it."""

from starlette.requests import Request
from starlette.responses import Response

from actonce.console.answers import as_json, elsewhere, number, one, page, wants_json
from actonce.console.desk import Desk
from actonce.console.templating import address
from actonce.console.views.many import PAGE, asked
from actonce.console.works import Work

_NO_WORK = "There is no such work: this console forgets them when it ends, and old ones before."


def list_(desk: Desk, _: Request) -> Response:
    """All that this console still knows."""
    return page(desk, "works.html.j2", works=[(work, work.progress()) for work in desk.works.all()])


def work(desk: Desk, request: Request) -> Response:
    """One of them."""
    found = _found(desk, request)
    if found is None:
        return page(desk, "lost.html.j2", code=404, sentence=_NO_WORK, back="/works")
    if wants_json(request):
        return as_json(found.as_json())
    return _page(desk, request, found, "work.html.j2")


def now(desk: Desk, request: Request) -> Response:
    """The part of its page that changes while it runs."""
    found = _found(desk, request)
    if found is None:
        return page(desk, "problem.html.j2", code=404, sentence=_NO_WORK)
    return _page(desk, request, found, "work_now.html.j2")


async def stop(desk: Desk, request: Request) -> Response:
    """Stop it; what it has not come to stays as it was."""
    found = _found(desk, request)
    if found is None:
        return page(desk, "lost.html.j2", code=404, sentence=_NO_WORK, back="/works")
    desk.works.stop(found)
    return elsewhere(request, f"/works/{found.number}")


def _found(desk: Desk, request: Request) -> Work | None:
    return desk.works.get(number(request.path_params["number"]))


def _page(desk: Desk, request: Request, found: Work, template: str) -> Response:
    progress = found.progress()
    # Those that did not come to their end first: they are what somebody has to look at.
    ended = sorted(progress.ended, key=lambda one: one.happened)
    pages = max(1, -(-len(ended) // PAGE))
    here = min(max(1, number(one(asked(request), "page"))), pages)
    return page(
        desk,
        template,
        work=found,
        progress=progress,
        done=len(ended),
        shown=ended[(here - 1) * PAGE : here * PAGE],
        page=here,
        pages_=pages,
        page_link=lambda to: address(f"/works/{found.number}", page=to),
    )
