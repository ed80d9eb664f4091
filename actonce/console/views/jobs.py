"""The jobs: how far each is, what became of its messages, and stopping it."""

from starlette.responses import Response

from actonce.console.context import Context
from actonce.console.jobs import Job
from actonce.console.responses import Refused, ViewRequest, page, redirect
from actonce.console.templating import address
from actonce.console.views.queue_view import page_of


def list_(context: Context, _: ViewRequest) -> Response:
    """All that the console still knows."""
    jobs = [(job, job.progress()) for job in context.jobs.all()]
    return page(context, "jobs.html.j2", jobs=jobs)


def job(context: Context, request: ViewRequest) -> Response:
    """One of them."""
    return _page(context, request, "job.html.j2")


def now(context: Context, request: ViewRequest) -> Response:
    """The part of a job's page that changes while it runs."""
    return _page(context, request, "job_now.html.j2")


def stop(context: Context, request: ViewRequest) -> Response:
    """Stop a job; what it has not begun stays as it was."""
    found = _found(context, request)
    context.jobs.stop(found)
    return redirect(request, f"/jobs/{found.number}")


def _found(context: Context, request: ViewRequest) -> Job:
    found = context.jobs.get(request.number("number"))
    if found is None:
        raise Refused("There is no such job: a console forgets them when it ends.", 404, "/jobs")
    return found


def _page(context: Context, request: ViewRequest, template: str) -> Response:
    found = _found(context, request)
    progress = found.progress()
    # Failures first: somebody has to look at them.
    outcomes = sorted(progress.outcomes, key=lambda result: result.happened)
    return page(
        context,
        template,
        job=found,
        progress=progress,
        done=len(outcomes),
        shown=page_of(outcomes, request.number("page")),
        page_link=lambda to: address(f"/jobs/{found.number}", page=to),
    )
