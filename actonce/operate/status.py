"""How a stack is: whether it takes messages, what waits where, and what is wrong with it."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from actonce.operate.pausing import Feed, feeds, workers_feed
from actonce.queues.standing import Depth, Pause, depth_of, find_pause, highest_ages
from actonce.records import audit_summary
from actonce.stack.clients import Stack
from actonce.terminal.errors import Failed
from actonce_core.records import timestamp

T = TypeVar("T")

_FAILS_WITHIN = timedelta(minutes=30)
"""What keeps failing has failed within these, as StarterFailedDeliveriesAlarm has it."""

MOST_COUNTED = 1000
"""As many open executions are counted: one page of Step Functions' list."""


@dataclass(frozen=True, slots=True)
class Open:
    """Executions that have not ended; `more` than those that were counted."""

    count: int
    more: bool


@dataclass(frozen=True, slots=True)
class Alarm:
    """An alarm that is on: its name, and since when (UTC)."""

    name: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Status:
    """A stack's.

    Attributes:
        stack: its name.
        pause: None where it is not paused.
        feeds: what its queue feeds.
        is_for_workers: whether workers on hosts are to take its messages, and no function.
        queues: by `requests`, `unstarted` and `dead_letters`.
        account: its number.
        region: its name.
        embedded_at: where the embedded AWS listens; None: it is not there.
        version: of the release that it was deployed from; None: it does not say it.
        strategy: the parameter Strategy; None: it does not say it.
        open: None where there are no executions, or they could not be seen.
        alarms: that are on; None: they could not be seen.
        audited: of the last audit's summary `from` and `to` (the days that it judged),
            `generated_at`, `sentence` and `exit_status`; None: there is none at hand, or it could
            not be seen.
        oldest_failed_seconds: how old the oldest delivery was that failed in the last half hour, by
            the starter's own metric; None: none failed, or CloudWatch does not say.
        not_seen: why not, by `open_executions`, `alarms` and `last_audit`.
    """

    stack: str
    pause: Pause | None
    feeds: tuple[Feed, ...]
    queues: Mapping[str, Depth]
    account: str = ""
    region: str = ""
    embedded_at: str | None = None
    version: str | None = None
    strategy: str | None = None
    open: Open | None = None
    alarms: tuple[Alarm, ...] | None = None
    audited: Mapping[str, Any] | None = None
    oldest_failed_seconds: int | None = None
    not_seen: Mapping[str, str] = field(default_factory=dict)
    is_for_workers: bool = False

    @property
    def is_stopped_without_pause(self) -> bool:
        """Nothing is taken, and nobody said pause: what the queue feeds was disabled by others."""
        off = all(one.is_disabled for one in self.feeds)
        return self.pause is None and off and not self.is_for_workers

    @property
    def is_fed_all_the_same(self) -> bool:
        """It says that it is paused, and messages are taken: the mapping was enabled by others.

        A deployment does that where it makes the mapping anew, or changes it.
        """
        return self.pause is not None and any(one.is_enabled for one in self.feeds)

    def as_json(self) -> dict[str, Any]:
        """For machines; fields may be added."""
        return {
            "stack": self.stack,
            "account": self.account,
            "region": self.region,
            "embedded_at": self.embedded_at,
            "version": self.version,
            "strategy": self.strategy,
            "paused": asdict(self.pause) if self.pause else None,
            "fed_all_the_same": self.is_fed_all_the_same,
            "stopped_without_pause": self.is_stopped_without_pause,
            "feeds": [{"function": one.function, "state": one.state} for one in self.feeds],
            "queues": {name: asdict(depth) for name, depth in self.queues.items()},
            "open_executions": asdict(self.open) if self.open else None,
            "alarms": None
            if self.alarms is None
            else [{"name": one.name, "since": timestamp(one.since)} for one in self.alarms],
            "last_audit": self.audited,
            "not_seen": dict(self.not_seen),
            "oldest_failed_seconds": self.oldest_failed_seconds,
        }


def status(stack: Stack, now: datetime, own_audit: Path | None = None) -> Status:
    """Look at the stack; it receives nothing, so it hides no message from anybody.

    Args:
        stack: to look at.
        now: the time.
        own_audit: the folder of an audit's results that are of this stack; None: what its daily
            audit left counts.

    Raises:
        ClientError: queues, or what they feed, may not be looked at.
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
        pause = threads.submit(find_pause, stack.sqs, stack.requests_queue)
        fed = threads.submit(feeds, stack)
        failing = threads.submit(_oldest_failed, stack, now)
        opened = threads.submit(_seen, not_seen, "open_executions", lambda: _open(stack))
        alarms = threads.submit(_seen, not_seen, "alarms", lambda: _alarms(stack))
        audited = threads.submit(_seen, not_seen, "last_audit", lambda: _audited(stack, own_audit))
    region, account = stack.region_and_account
    return Status(
        stack=stack.called,
        account=account,
        region=region,
        embedded_at=stack.aws.endpoint_url,
        version=stack.version,
        strategy=stack.outputs.get("Strategy"),
        pause=pause.result(),
        is_for_workers=workers_feed(stack),
        feeds=tuple(fed.result()),
        queues={name: depth.result() for name, depth in depths.items()},
        open=opened.result(),
        alarms=alarms.result(),
        audited=audited.result(),
        oldest_failed_seconds=failing.result(),
        not_seen=not_seen,
    )


def _seen(not_seen: dict[str, str], name: str, look: Callable[[], T | None]) -> T | None:
    """What a look found; where it is not allowed, or fails, why."""
    try:
        return look()
    except (ClientError, BotoCoreError, Failed) as error:
        not_seen[name] = str(error)
        return None


def _open(stack: Stack) -> Open | None:
    """Rows of a ledger or a lease are not counted: that would read their whole table."""
    if stack.ledger_table is not None:
        return None
    answer = stack.stepfunctions.list_executions(
        stateMachineArn=stack.state_machine, statusFilter="RUNNING", maxResults=MOST_COUNTED
    )
    return Open(len(answer["executions"]), bool(answer.get("nextToken")))


def _alarms(stack: Stack) -> tuple[Alarm, ...]:
    """The alarms that tell the stack's topic, and are on."""
    topic = stack.outputs["AlarmTopicArn"]
    pages = stack.aws.client("cloudwatch").get_paginator("describe_alarms")
    found = [
        Alarm(one["AlarmName"], one["StateUpdatedTimestamp"].astimezone(UTC))
        for page in pages.paginate(
            ActionPrefix=topic,
            StateValue="ALARM",
            AlarmTypes=["MetricAlarm", "CompositeAlarm"],
        )
        for one in (*page.get("MetricAlarms", []), *page.get("CompositeAlarms", []))
        # Asked for above, as far as whoever answers can tell; a prefix has more than one.
        if topic in one["AlarmActions"] and one["StateValue"] == "ALARM"
    ]
    return tuple(sorted(found, key=lambda one: one.since))


def _audited(stack: Stack, own: Path | None) -> Mapping[str, Any] | None:
    """The last audit, where its summary is at hand."""
    bucket = stack.outputs.get("AuditBucketName")
    if own is not None:
        told = audit_summary.of_folder(own)
    elif bucket is not None:
        told = audit_summary.of_bucket(stack.aws.client("s3"), f"s3://{bucket}/audit/")
    else:
        told = None
    names = ("from", "to", "generated_at", "sentence", "exit_status")
    return None if told is None else {name: told.get(name) for name in names}


def _oldest_failed(stack: Stack, now: datetime) -> int | None:
    metric = ("ActOnce", "OldestFailedAge")
    service = {"Name": "service", "Value": stack.service}
    ages = highest_ages(stack.aws, metric, service, now - _FAILS_WITHIN, now)
    return max(ages, default=None)
