"""`actonce status`."""

from datetime import UTC, datetime

from actonce.cli import tables
from actonce.cli.options import Json, stack_options
from actonce.messages.filters import age, lasted
from actonce.messages.states import STATES, StateName
from actonce.operate.status import Count, Status
from actonce.operate.status import status as status_of
from actonce.queues.depth import Depth
from actonce.records.audit_summary import of_demo
from actonce.stack.endpoint import TargetOptions
from actonce.stack.target import find_stack
from actonce.terminal import output as console


@stack_options()
def status(*, at: TargetOptions, json: Json = False) -> None:
    """Show what waits for whom, the worst first.

    Then it shows how the stack is. A message that waits for a decision has a dead letter. One that
    was not started is in UnstartedQueue. One that is retrying waits for the provider: an attempt
    failed, and ActOnce tries again by itself. Numbers of messages are SQS's estimates.

    Running it hides no message from other readers.

    Examples:

        actonce status

        watch -n 30 actonce status
    """
    stack = find_stack(at)
    found = status_of(stack, datetime.now(UTC), of_demo(stack))
    if json:
        console.print_json(found.as_json())
    else:
        _show(found, datetime.now(UTC), stack.options)


def _show(found: Status, now: datetime, options: str) -> None:
    tables.print_fields({"Stack": found.stack, "Waits for": _waits_for(found)})
    console.out.print()
    tables.print_rows(("What", "Number", "Oldest", "See"), _what_waits(found, options))
    console.out.print()
    mappings = found.event_source_mappings
    feeds = ", ".join(f"{mapping.function} ({mapping.state})" for mapping in mappings)
    fields = {
        "Account": found.account,
        "Region": found.region,
        "Version": found.version,
        "Executions": found.executions_label,
        "Paused": _paused(found),
        "Queue feeds": feeds or _not_seen(found, "event_source_mappings", "nothing"),
        "Alarms": _alarms(found, now),
        "Last audit": _audited(found),
    }
    if found.oldest_failed_seconds is not None:
        oldest = lasted(found.oldest_failed_seconds)
        fields["Failing"] = f"deliveries, within half an hour; the oldest was sent {oldest} before"
    tables.print_fields(fields)
    if found.is_enabled_while_paused:
        console.err.print(
            "The stack is paused and takes messages nevertheless: a deployment, or somebody, "
            f"enabled its event source mapping. Pause it again (actonce pause{options}), or "
            f"resume it (actonce resume{options})."
        )
    if found.is_disabled_without_pause:
        console.err.print(
            "The stack takes no messages, and nobody paused it by actonce pause: its event source "
            f"mapping was disabled or deleted. Resume it (actonce resume{options}), or record the "
            f"pause (actonce pause{options})."
        )


def _waits_for(found: Status) -> str:
    whom = {"person": "a person", "provider": "the provider", None: "nobody"}[found.waits_for]
    is_sure = found.waits_for == "person" or found.is_seen_whole
    return whom if is_sure else f"{whom}, as far as could be seen"


def _what_waits(found: Status, options: str) -> list[tuple[str, str, str, str]]:
    """The rows of what waits, the worst first."""
    letters, lying, requests = (
        found.queues[name] for name in ("dead_letters", "unstarted", "requests")
    )
    number = found.waiting_for_decision
    rows = [
        (
            _label("waiting_for_decision"),
            _about(number),
            _oldest(letters) if number else "",
            "dead-letters list",
        ),
        (_label("not_started"), _about(found.not_started), _oldest(lying), "unstarted list"),
    ]
    executions = found.executions
    if executions is not None:
        rows += [
            (_label("aborted"), _counted(executions.aborted), "", "list --status aborted"),
            (_label("failed"), _counted(executions.failed), "", "list --status failed"),
            (_label("retrying"), _counted(executions.retrying), "", "list --status running"),
            (_label("at_work"), _counted(executions.at_work), "", ""),
        ]
    else:
        why = _not_seen(found, "executions", "")
        rows.append((f"{_label('retrying')}, {_label('at_work')}", why, "", ""))
    taken = f", {requests.in_flight:,} in flight" if requests.in_flight else ""
    delayed = f", {requests.delayed:,} delayed" if requests.delayed else ""
    rows.append(("requests queue", f"{requests.waiting:,}{taken}{delayed}", _oldest(requests), ""))
    return [
        (what, number, oldest, f"actonce {see}{options}" if see and number != "0" else "")
        for what, number, oldest, see in rows
    ]


def _label(state: StateName) -> str:
    return STATES[state].label


def _about(number: int) -> str:
    """SQS counts so; none is none."""
    return f"about {number:,}" if number else "0"


def _counted(count: Count) -> str:
    return f"{count.count:,}{' or more' if count.more else ''}"


def _oldest(depth: Depth) -> str:
    """By CloudWatch, which is some minutes late; an embedded AWS has no such metric."""
    if depth.oldest_seconds is not None:
        return f"{lasted(depth.oldest_seconds)} or more"
    return "not known" if depth.waiting + depth.in_flight + depth.delayed else ""


def _paused(found: Status) -> str:
    if found.pause is not None:
        return f"since {found.pause.text}"
    taken = "no, but nothing is taken" if found.is_disabled_without_pause else "no"
    return _not_seen(found, "pause", taken)


def _alarms(found: Status, now: datetime) -> str:
    if found.alarms is None:
        return _not_seen(found, "alarms", "no data yet")
    alarms = [f"{one.name} (for {age(one.since, now)})" for one in found.alarms]
    return ", ".join(alarms) or "none is on"


def _audited(found: Status) -> str:
    if found.audited is None:
        return _not_seen(
            found,
            "last_audit",
            "none by a daily audit or a demo; actonce audit has a page of its own",
        )
    one = found.audited
    days = one["from"] if one["from"] == one["to"] else f"{one['from']} to {one['to']}"
    when = f"made {lasted(one['age_seconds'])} ago"
    what = f"{one['severity']}; {when}" if one["severity"] else when
    return f"{f'of {days}; ' if days else ''}{what}: {one['sentence']}"


def _not_seen(found: Status, name: str, otherwise: str) -> str:
    why = found.not_seen.get(name)
    return otherwise if why is None else f"cannot be told: {why}"
