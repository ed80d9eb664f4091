"""`actonce status`."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from time import sleep
from typing import Annotated

import typer

from actonce.cli import tables
from actonce.cli.options import Json, of_a_stack
from actonce.messages.filters import age
from actonce.operate.status import Depth, Status, with_reasons
from actonce.operate.status import status as status_of
from actonce.queues.scan import held_by_another
from actonce.records.audit_summary import of_demo
from actonce.stack.endpoint import Chosen
from actonce.stack.target import find_stack
from actonce.terminal import output as console
from actonce.terminal.errors import WrongUse


@of_a_stack()
def status(
    *,
    watch: Annotated[bool, typer.Option("--watch", help="Look again, until Ctrl-C.")] = False,
    interval: Annotated[
        float, typer.Option(metavar="SECONDS", min=1, help="Between two looks of --watch.")
    ] = 5.0,
    reasons: Annotated[
        bool,
        typer.Option(
            "--reasons", help="Read the dead letters as well, and say why how many of them wait."
        ),
    ] = False,
    at: Chosen,
    json: Json = False,
) -> None:
    """Show how the stack is: paused or not, what waits where, which alarms are on.

    Without --reasons it receives no message, so it hides none from others. With --watch it is drawn
    anew on a terminal; elsewhere each look is a line.

    Examples:

        actonce status

        actonce status --reasons

        actonce status --watch

        actonce status --json
    """
    if watch and reasons:
        raise WrongUse("--watch looks often, and --reasons hides letters: leave one of them out.")
    stack = find_stack(at)

    def look() -> Status:
        return status_of(stack, datetime.now(UTC), of_demo(stack))

    def show(found: Status) -> None:
        if json:
            console.print_json(found.as_json())
        else:
            _show(found, datetime.now(UTC))

    if not watch:
        found = look()
        show(with_reasons(found, stack) if reasons else found)
    elif json:
        _again_and_again(look, show, interval)
    elif console.out.is_terminal and not console.out.is_dumb_terminal:
        with console.out.screen():  # what was on the terminal comes back

            def draw(found: Status) -> None:
                console.out.clear()
                show(found)

            _again_and_again(look, draw, interval)
    else:
        _again_and_again(look, lambda found: console.out.print(_line(found)), interval)


def _again_and_again(
    look: Callable[[], Status], show: Callable[[Status], None], interval: float
) -> None:
    try:
        while True:
            show(look())
            console.out.file.flush()
            sleep(interval)
    except KeyboardInterrupt:  # it ends in no other way, and there is nothing to go on with
        raise typer.Exit(130) from None


def _show(found: Status, now: datetime) -> None:
    told = [f"{one.function} ({one.state})" for one in found.feeds]
    if found.is_for_workers:
        told = ["workers on hosts"]
    fields = {
        "Account": found.account,
        "Region": found.region,
        "Stack": found.stack,
        "Version": found.version,
        "Strategy": found.strategy,
        "Paused": _paused(found),
        "Queue feeds": ", ".join(told) or "nothing",
        "Open": _open(found),
        **(
            {}
            if found.reasons is None
            else {"Decisions": _reasons(found.reasons, found.held_elsewhere)}
        ),
        **(
            {}
            if found.oldest_failed_seconds is None
            else {
                "Failing": f"deliveries of up to {found.oldest_failed_seconds} s of age, "
                "in half an hour"
            }
        ),
        "Alarms": _alarms(found, now),
        "Last audit": _audited(found),
    }
    tables.print_fields(fields)
    if found.is_fed_all_the_same:
        console.err.print(
            "It says that it is paused, and messages are taken all the same: a deployment, or "
            "somebody, has enabled what its queue feeds. actonce pause pauses it again, actonce "
            "resume lets it go on."
        )
    if found.is_stopped_without_pause:
        console.err.print(
            "Nothing is taken, and nobody said pause: what its queue feeds was disabled, or is "
            "gone, past actonce pause, or somebody paused and somebody resumed at the same time. "
            "actonce resume lets it go on, actonce pause says that it is meant."
        )
    console.out.print()
    rows = [
        (
            name.replace("_", " "),
            str(depth.waiting),
            str(depth.in_flight),
            str(depth.delayed),
            "" if depth.oldest_seconds is None else f"{depth.oldest_seconds} s or more",
            _tells[name] if depth.waiting + depth.in_flight and name in _tells else "",
        )
        for name, depth in found.queues.items()
    ]
    tables.print_rows(("Queue", "Waiting", "In flight", "Delayed", "Oldest", "See"), rows)


_tells = {"unstarted": "actonce unstarted list", "dead_letters": "actonce dead-letters list"}


def _paused(found: Status) -> str:
    if found.pause is not None:
        return f"since {found.pause.told}"
    return "no, but nothing is taken" if found.is_stopped_without_pause else "no"


def _open(found: Status) -> str:
    if found.open is None:
        return _not_seen(found, "open_executions", "rows: actonce list")
    number = f"{'more than ' if found.open.more else ''}{found.open.count:,}"
    return f"{number} execution{'' if number == '1' else 's'}"


def _reasons(reasons: Mapping[str, int], held_elsewhere: int | None) -> str:
    told = ", ".join(f"{reason} {number:,}" for reason, number in reasons.items())
    number = console.counted(sum(reasons.values()), "waits", "wait")
    if held_elsewhere:
        held = f"{held_by_another(held_elsewhere)}; look again"
        return f"{number}: {told}; {held}" if told else f"cannot be told: {held}"
    return f"{number}: {told}" if told else "none waits"


def _alarms(found: Status, now: datetime) -> str:
    if found.alarms is None:
        return _not_seen(found, "alarms", "")
    told = [f"{one.name} (for {age(one.since, now)})" for one in found.alarms]
    return ", ".join(told) or "none is on"


def _audited(found: Status) -> str:
    if found.audited is None:
        return _not_seen(found, "last_audit", "none at hand: actonce collect, actonce audit")
    one = found.audited
    days = one.first if one.first == one.last else f"{one.first} to {one.last}"
    return f"{days}: {one.sentence}" if days else one.sentence


def _not_seen(found: Status, name: str, otherwise: str) -> str:
    why = found.not_seen.get(name)
    return otherwise if why is None else f"cannot be seen: {why}"


def _line(found: Status) -> str:
    """The same in one line, for a log."""
    told = [_depth(name.replace("_", " "), depth) for name, depth in found.queues.items()]
    if found.open is not None:
        told.append(_open(found))
    if found.oldest_failed_seconds is not None:
        told.append(f"oldest that failed {found.oldest_failed_seconds} s")
    not_paused = "nothing is taken" if found.is_stopped_without_pause else "not paused"
    told.append("paused" if found.pause else not_paused)
    if found.alarms:
        told.append(f"alarms: {', '.join(one.name for one in found.alarms)}")
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}  {', '.join(told)}"


def _depth(name: str, depth: Depth) -> str:
    oldest = "" if depth.oldest_seconds is None else f" (oldest {depth.oldest_seconds} s or more)"
    in_flight = f" and {depth.in_flight} in flight" if depth.in_flight else ""
    return f"{name} {depth.waiting}{in_flight}{oldest}"
