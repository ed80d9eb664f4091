"""A stack's status: whether it takes messages, what waits where, and what is wrong."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from actonce.messages.recent import EndedMessages, page
from actonce.messages.states import BROKEN_OFF, REDRIVEN_FOR
from actonce.operate.pausing import EventSourceMapping, event_source_mappings
from actonce.queues.depth import Depth, Pause, depth_of, find_pause, highest_ages
from actonce.records import audit_summary
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from actonce_core.records import timestamp

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions.literals import ExecutionStatusType

T = TypeVar("T")

_FAILS_WITHIN = timedelta(minutes=30)
"""What keeps failing failed within this time; StarterFailedDeliveriesAlarm uses the same."""

MOST_LOOKED_UP = 10
"""Executions that failed, each by a DescribeExecution. AWS allows an account some ten a second, so
that also `watch actonce status`, every two seconds, leaves half of them to others."""

MOST_COUNTED = 1000
"""As many executions that run, or were aborted, are counted: one page of Step Functions' list."""


@dataclass(frozen=True, slots=True)
class Count:
    """A number; `more`: not all were counted, so there may be more."""

    count: int
    more: bool = False


@dataclass(frozen=True, slots=True)
class Executions:
    """The state machine's executions that are not finished, by the newest `MOST_COUNTED`.

    Attributes:
        at_work: have run for no longer than one attempt may take.
        retrying: have run for longer and have no letter in DeadLetterQueue, by SQS's estimate: an
            attempt failed, and they wait for the provider.
        aborted: somebody stopped them, and Step Functions can still continue them.
        failed: failed or timed out before anybody had decided, and can still be continued; of the
            newest `MOST_LOOKED_UP` of each, for only its error tells one from what a person
            rejected.
    """

    at_work: Count
    retrying: Count
    aborted: Count
    failed: Count = Count(0)


@dataclass(frozen=True, slots=True)
class Alarm:
    """An alarm that is on, and since when (UTC)."""

    name: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Status:
    """The status of a stack; what is None is not there, or was not seen.

    Attributes:
        event_source_mappings: what its queue feeds.
        queues: by `requests`, `unstarted` and `dead_letters`.
        embedded_at: the address of the embedded AWS; None: the stack is on AWS.
        version: of the release that it was deployed from.
        start_executions: the parameter.
        alarms: those that are on; None also: they have no data yet.
        audited: of the last audit's summary the days, `generated_at`, `sentence`, `exit_status`,
            `over_until` and `not_yet_judged`, with its age in seconds and its severity
            (`audit_summary.SEVERITIES`).
        oldest_failed_seconds: how old the oldest delivery was that failed in the last half hour, by
            the starter's own metric.
        not_seen: why not, by `pause`, `event_source_mappings`, `executions`, `alarms` and
            `last_audit`.
    """

    stack: str
    pause: Pause | None
    event_source_mappings: tuple[EventSourceMapping, ...]
    queues: Mapping[str, Depth]
    account: str = ""
    region: str = ""
    embedded_at: str | None = None
    version: str | None = None
    start_executions: str | None = None
    executions: Executions | None = None
    alarms: tuple[Alarm, ...] | None = None
    audited: Mapping[str, Any] | None = None
    oldest_failed_seconds: int | None = None
    not_seen: Mapping[str, str] = field(default_factory=dict)

    @property
    def waiting_for_decision(self) -> int:
        """Letters in DeadLetterQueue, by SQS's estimate; of an aborted execution, too."""
        return _all(self.queues["dead_letters"])

    @property
    def not_started(self) -> int:
        """Deliveries in UnstartedQueue, likewise."""
        return _all(self.queues["unstarted"])

    @property
    def waits_for(self) -> Literal["person", "provider"] | None:
        """Who has to act before everything is finished; None: nobody, as far as was seen."""
        counts = self.executions
        stopped = counts.aborted.count + counts.failed.count if counts else 0
        if self.waiting_for_decision or self.not_started or stopped:
            return "person"
        is_failing = self.oldest_failed_seconds is not None
        return "provider" if is_failing or (counts and counts.retrying.count) else None

    @property
    def executions_label(self) -> str:
        """When executions are started, in words."""
        return "on trouble only" if self.start_executions == "on-trouble" else "for each message"

    @property
    def is_seen_whole(self) -> bool:
        """Whether `waits_for` rests on everything; otherwise somebody may have to act after all."""
        counts = self.executions
        waiting = () if counts is None else (counts.retrying, counts.aborted, counts.failed)
        return not any(count.more for count in waiting) and "executions" not in self.not_seen

    @property
    def is_disabled_without_pause(self) -> bool:
        """Whether others disabled what the queue feeds: nothing is taken, without a pause."""
        off = all(mapping.is_disabled for mapping in self.event_source_mappings)
        is_seen = self.not_seen.keys().isdisjoint(("pause", "event_source_mappings"))
        return self.pause is None and off and is_seen

    @property
    def is_enabled_while_paused(self) -> bool:
        """Whether others enabled the mapping in a pause; a deployment that changes it does."""
        is_enabled = any(mapping.is_enabled for mapping in self.event_source_mappings)
        return self.pause is not None and is_enabled

    def as_json(self) -> dict[str, Any]:
        """For machines; fields may be added."""
        fields = asdict(self)
        alarms = self.alarms and [
            {"name": alarm.name, "since": timestamp(alarm.since)} for alarm in self.alarms
        ]
        return fields | {
            "paused": fields.pop("pause"),
            "enabled_while_paused": self.is_enabled_while_paused,
            "disabled_without_pause": self.is_disabled_without_pause,
            "event_source_mappings": [
                {"function": mapping.function, "state": mapping.state}
                for mapping in self.event_source_mappings
            ],
            "waits_for": self.waits_for,
            "waiting_for_decision": self.waiting_for_decision,
            "not_started": self.not_started,
            "alarms": alarms,
            "last_audit": fields.pop("audited"),
        }


def status(
    stack: Stack, now: datetime, own_audit: Path | None = None, known: EndedMessages | None = None
) -> Status:
    """Read a stack's status; it receives no message, so it hides none from others.

    `own_audit`: the folder of an audit's results of this stack; None: those of its daily audit.
    `known`: messages that earlier calls looked up.

    Raises:
        ClientError: the queues cannot be read.
    """
    queues = {
        "requests": stack.requests_queue,
        "unstarted": stack.unstarted_queue,
        "dead_letters": stack.dead_letter_queue,
    }
    for service in ("sqs", "lambda", "stepfunctions", "cloudwatch", "s3"):
        stack.aws.client(service)  # made here: clients may be shared by threads, not made by them
    not_seen: dict[str, str] = {}
    with ThreadPoolExecutor(8, thread_name_prefix="status") as threads:
        depths = {name: threads.submit(depth_of, stack, url, now) for name, url in queues.items()}
        pause = threads.submit(
            _seen, not_seen, "pause", lambda: find_pause(stack.sqs, stack.requests_queue)
        )
        mappings = threads.submit(
            _seen, not_seen, "event_source_mappings", lambda: event_source_mappings(stack)
        )
        failing = threads.submit(_oldest_failed, stack, now)

        def letters() -> int:
            return _all(depths["dead_letters"].result())

        executions = threads.submit(
            _seen, not_seen, "executions", lambda: _executions(stack, now, known, letters)
        )
        alarms = threads.submit(_seen, not_seen, "alarms", lambda: _alarms(stack))
        audited = threads.submit(
            _seen, not_seen, "last_audit", lambda: _audited(stack, own_audit, now)
        )
    region, account = stack.region_and_account
    return Status(
        stack=stack.display_name,
        account=account,
        region=region,
        embedded_at=stack.aws.endpoint_url,
        version=stack.version,
        start_executions=stack.start_executions,
        pause=pause.result(),
        event_source_mappings=tuple(mappings.result() or ()),
        queues={name: depth.result() for name, depth in depths.items()},
        executions=executions.result(),
        alarms=alarms.result(),
        audited=audited.result(),
        oldest_failed_seconds=failing.result(),
        not_seen=not_seen,
    )


def _seen(not_seen: dict[str, str], name: str, look: Callable[[], T | None]) -> T | None:
    """What `look` returns; None if it fails, with the reason in `not_seen`."""
    try:
        return look()
    except (ClientError, BotoCoreError, Failed) as error:
        not_seen[name] = str(error)
        return None


def _executions(
    stack: Stack, now: datetime, known: EndedMessages | None, letters: Callable[[], int]
) -> Executions:
    """Count them.

    Of what has run for long, each letter is of one that waits for a decision and not for more.

    Raises:
        Failed: the stack does not say for how long an attempt may take.
    """
    seconds = stack.outputs.get("EffectTimeoutSeconds")
    if seconds is None:
        raise Failed("The stack does not say its EffectTimeoutSeconds: deploy it anew.")
    first_attempt_since = now - timedelta(seconds=int(seconds)) - _STARTED_WITHIN
    running, more = _page(stack, "RUNNING")
    young = sum(execution["startDate"] >= first_attempt_since for execution in running)
    old = len(running) - young
    aborted, more_aborted = _page(stack, "ABORTED")
    since = now - REDRIVEN_FOR
    continued = sum(execution["stopDate"] >= since for execution in aborted)
    pages = [
        page(stack, status=status, between=(since, None), limit=MOST_LOOKED_UP, known=known)
        for status in ("FAILED", "TIMED_OUT")
    ]
    looked_at = [message.state for each in pages for message in each.messages]
    is_more = any(page.cursor for page in pages)
    waiting = letters()
    beyond = 0 if more else max(0, waiting - old)  # of what was refused at once
    return Executions(
        at_work=Count(max(0, young - beyond), more and not old),
        retrying=Count(max(0, old - waiting), more),
        aborted=Count(continued, more_aborted and continued == len(aborted)),
        failed=Count(
            sum(state in BROKEN_OFF for state in looked_at), is_more or "ended" in looked_at
        ),
    )


_STARTED_WITHIN = timedelta(seconds=5)
"""What PerformEffect's time-out adds to the function's."""


def _page(stack: Stack, status: "ExecutionStatusType") -> tuple[list[Any], bool]:
    """The newest executions in a status, and whether there are more."""
    answer = stack.stepfunctions.list_executions(
        stateMachineArn=stack.state_machine, statusFilter=status, maxResults=MOST_COUNTED
    )
    return list(answer["executions"]), bool(answer.get("nextToken"))


def _alarms(stack: Stack) -> tuple[Alarm, ...] | None:
    """The alarms on the stack's topic that are on; None: none has any data yet."""
    topic = stack.outputs["AlarmTopicArn"]
    pages = stack.aws.client("cloudwatch").get_paginator("describe_alarms")
    alarms = [
        alarm
        for page in pages.paginate(ActionPrefix=topic, AlarmTypes=["MetricAlarm", "CompositeAlarm"])
        for alarm in (*page.get("MetricAlarms", []), *page.get("CompositeAlarms", []))
        if topic in alarm["AlarmActions"]  # a prefix has more than one
    ]
    if alarms and all(alarm["StateValue"] == "INSUFFICIENT_DATA" for alarm in alarms):
        return None
    found = [
        Alarm(alarm["AlarmName"], alarm["StateUpdatedTimestamp"].astimezone(UTC))
        for alarm in alarms
        if alarm["StateValue"] == "ALARM"
    ]
    return tuple(sorted(found, key=lambda alarm: alarm.since))


def _audited(stack: Stack, own: Path | None, now: datetime) -> Mapping[str, Any] | None:
    """The last audit of this stack, where its summary is at hand."""
    found = audit_summary.last_of(stack, own)
    if found is None:
        return None
    place, summary = found
    names = ("from", "to", "generated_at", "sentence", "exit_status", "over_until")
    made = datetime.fromisoformat(summary["generated_at"])
    return {
        **{name: summary.get(name) for name in (*names, "not_yet_judged")},
        "severity": audit_summary.SEVERITIES.get(summary.get("exit_status")),
        "age_seconds": max(0, int((now - made).total_seconds())),
        "place": place,
    }


def _all(depth: Depth) -> int:
    return depth.waiting + depth.in_flight + depth.delayed


def _oldest_failed(stack: Stack, now: datetime) -> int | None:
    metric = ("ActOnce", "OldestFailedAge")
    service = {"Name": "service", "Value": stack.service}
    ages = highest_ages(stack.aws, metric, service, now - _FAILS_WITHIN, now)
    return max(ages, default=None)
