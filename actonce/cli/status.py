"""`actonce status`."""

from datetime import UTC, datetime

from actonce.cli import tables
from actonce.cli.options import Json, of_a_stack
from actonce.messages.filters import age
from actonce.operate.status import Status
from actonce.operate.status import status as status_of
from actonce.records.audit_summary import of_demo
from actonce.stack.endpoint import Chosen
from actonce.stack.target import find_stack
from actonce.terminal import output as console


@of_a_stack()
def status(*, at: Chosen, json: Json = False) -> None:
    """Show how the stack is: paused or not, what waits where, which alarms are on.

    It receives no message, so it hides none from others.

    Examples:

        actonce status

        watch actonce status
    """
    stack = find_stack(at)
    found = status_of(stack, datetime.now(UTC), of_demo(stack))
    if json:
        console.print_json(found.as_json())
    else:
        _show(found, datetime.now(UTC))


def _show(found: Status, now: datetime) -> None:
    feeds = ", ".join(f"{one.function} ({one.state})" for one in found.feeds)
    fields = {
        "Account": found.account,
        "Region": found.region,
        "Stack": found.stack,
        "Version": found.version,
        "Strategy": found.strategy,
        "Paused": _paused(found),
        "Queue feeds": "workers on hosts" if found.is_for_workers else feeds or "nothing",
        "Open": _open(found),
        "Alarms": _alarms(found, now),
        "Last audit": _audited(found),
    }
    if found.oldest_failed_seconds is not None:
        seconds = found.oldest_failed_seconds
        fields["Failing"] = f"deliveries of up to {seconds} s of age, in half an hour"
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


def _alarms(found: Status, now: datetime) -> str:
    if found.alarms is None:
        return _not_seen(found, "alarms", "")
    told = [f"{one.name} (for {age(one.since, now)})" for one in found.alarms]
    return ", ".join(told) or "none is on"


def _audited(found: Status) -> str:
    if found.audited is None:
        return _not_seen(found, "last_audit", "none at hand: actonce collect, actonce audit")
    one = found.audited
    days = one["from"] if one["from"] == one["to"] else f"{one['from']} to {one['to']}"
    return f"{days}: {one['sentence']}" if days else str(one["sentence"])


def _not_seen(found: Status, name: str, otherwise: str) -> str:
    why = found.not_seen.get(name)
    return otherwise if why is None else f"cannot be seen: {why}"
