"""The numbers of a page: totals, days, alarms, and one sentence."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from operator import itemgetter
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from actonce_pipeline.audit.cache import DayCounts
from actonce_pipeline.audit.horizon import Horizon
from actonce_pipeline.audit.judging.verdict_names import ALARMS, VERDICTS
from actonce_pipeline.audit.reading.listing import UNFINISHED_EXPORT, Listing
from actonce_pipeline.audit.reading.streams import REFUSED, STREAMS, TELLS, WITNESSES
from actonce_pipeline.audit.request import Request, Status
from actonce_pipeline.audit.times import DAY_MS, Interval, absent, day_of, intervals

MAX_ALARMS: Final = 1_000
MAX_EVENTS: Final = 10_000
"""Of all alarms together, so that a page stays one that a browser opens."""
_ROWS_OF: Final = {
    "sent": "sent",
    "deliveries": "deliveries",
    "executions": "execution_records",
    "effects": "effect_records",
    "dead_letters": "dead_letter_records",
}
_COUNTED: Final = (
    "sent", "deliveries", "started", "suppressed", "execution_records", "effect_records",
    "effects", "dead_letter_records", *(f"refused_{reason}" for reason in REFUSED),
)  # fmt: skip


def numbers(over: int) -> list[Column]:
    """Aggregates over messages, as `totals` and `of_days` read them.

    Not yet judged is what is in flight and has a record of a day that is not over (ms).
    """
    verdict = F.col("verdict")
    waits = (verdict == "in_flight") & (F.unix_millis("last_at") >= over)
    found = {
        "messages": F.count("*"),
        **{name: F.count_if(verdict == name) for name in VERDICTS},
        "unjudged": F.count_if(~F.col("judged")),
        "not_yet_judged": F.count_if(waits),
        "failed": F.sum("failed"),
        "executions": F.count_if(F.col("execution_records") > 0),
        **{name: F.sum(name) for name in _COUNTED},
    }
    return [number.alias(name) for name, number in found.items()]


def totals(days: Sequence[Mapping[str, Any]], listing: Listing, nameless: int) -> dict[str, Any]:
    """What the streams told of the days' messages; null where a stream has no file at all.

    `nameless` deliveries failed before anybody could tell whose they were.
    """

    def total(name: str) -> int:
        return sum(day[name] for day in days)

    refused = {reason: total(f"refused_{reason}") for reason in REFUSED}
    failed = total("failed") + nameless
    found = {
        "sent": total("sent"),
        "deliveries": total("deliveries") + failed,
        "started": total("started"),
        "suppressed": total("suppressed"),
        "refused": {reason: count for reason, count in refused.items() if count},
        "failed": failed,
        "executions": total("executions"),
        "effects": total("effects"),
        "dead_letters": total("dead_letter_records"),
    }
    return found | {name: None for name in found if name in STREAMS and not listing.days_of(name)}


Caveat = tuple[Interval, str]
"""Days, and a sentence that names them and says what cannot be told of them."""


def of_days(
    days: Sequence[Mapping[str, Any]], listing: Listing, caveats: Sequence[Caveat]
) -> list[dict[str, Any]]:
    """The days for the page, with what cannot be judged of each."""
    return [
        {
            "day": day["day"].isoformat(),
            "messages": day["messages"],
            "verdicts": {verdict: day[verdict] for verdict in VERDICTS},
            "streams": {
                stream: day[column] if day["day"] in listing.days_of(stream) else None
                for stream, column in _ROWS_OF.items()
            },
            "cannot_judge": _of_day(day, listing, caveats),
        }
        for day in days
    ]


def _of_day(day: Mapping[str, Any], listing: Listing, caveats: Sequence[Caveat]) -> list[str]:
    """What cannot be judged of a day's messages."""
    name, which = day["day"].isoformat(), day["day"]
    sentences = [sentence for (since, until), sentence in caveats if since <= which <= until]
    in_flight = day["in_flight"] - day["not_yet_judged"]
    if in_flight and which not in listing.days_of("dead_letters"):
        sentences.append(
            f"{name}: dead_letters is missing, so it cannot be told whether "
            f"{_messages(in_flight)} in flight wait for a decision."
        )
    if day["unjudged"]:
        sentences.append(
            f"{name}: {_messages(day['unjudged'])} could not be judged: a stream is missing, could "
            "not be read, or has files that are older than what they tell."
        )
    return sentences


def notes(request: Request, counts: Iterable[DayCounts]) -> list[str]:
    """What changes no answer, a sentence each; `counts`: of the days that are judged."""
    others = sum(one.of_others for one in counts)
    if not others or request.effects is None:
        return []
    which = f"Items of the effects table without {request.effects.time}"
    return [f"{which}, which are not counted as effects: {others:,}."]


def uncovered(listing: Listing, span: Interval, horizon: Horizon) -> list[Caveat]:
    """What keeps days from being clean, whatever was found: a witness is missing.

    Nothing is missed of days that are not over.
    """
    (since, until), every_day = span, listing.days()
    found: list[Caveat] = []
    # Of the day that is not over, or two of them for an hour, there may be no file yet.
    begun = {day_of(horizon.over + days * DAY_MS) for days in (0, 1)}
    nothing = absent(every_day | begun, since, until)
    found += [(days, "no stream has a file, so nothing was looked at.") for days in nothing]
    over = day_of(max(horizon.over, DAY_MS) - 1)
    until, last = min(until, over), min(max(every_day), over)
    exporting = {file.day for file in listing.unread if file.reason == UNFINISHED_EXPORT}
    found += [((day, day), _UNFINISHED) for day in exporting if day and since <= day <= until]
    for stream in WITNESSES:
        # Days without any file have a sentence above.
        missing = every_day - listing.days_of(stream)
        elsewhere = [day for day in missing if since <= day <= until]
        found += [(days, _missing(stream)) for days in intervals(elsewhere)]
    if last > until:
        found += [
            (days, "effects is missing, so an effect may have been repeated there unseen.")
            for days in absent(listing.days_of("effects"), until + timedelta(days=1), last)
        ]
    return [(days, f"{_days(days)}: {sentence}") for days, sentence in sorted(found)]


_UNFINISHED: Final = (
    "an export of the effects has no manifest-summary.json: let it end, or remove it."
)


def unrecorded(listing: Listing, span: Interval) -> list[Caveat]:
    """That nobody records what is sent, which keeps no day from being clean; see `WITNESSES`."""
    without = absent(listing.days_of("sent"), *span)
    return [(days, f"{_days(days)}: {_missing('sent')}") for days in without]


def _missing(stream: str) -> str:
    return f"{stream} is missing, so it cannot be told {TELLS[stream]}."


def _days(days: Interval) -> str:
    since, until = days
    return f"{since}" if since == until else f"{since} to {until}"


def known_by(alarms: Sequence[Mapping[str, Any]], late_alarms: Sequence[str]) -> str:
    """SHA-256, the same of the same alarms: who was told of them need not be told again.

    Args:
        alarms: of `alarms`, in whatever order.
        late_alarms: days.
    """
    keys = sorted((alarm["message_id"], alarm["verdict"]) for alarm in alarms)
    return hashlib.sha256(json.dumps([keys, late_alarms]).encode()).hexdigest()


def alarms(messages: DataFrame, rows: DataFrame) -> list[dict[str, Any]]:
    """The first alarms by time, each with everything that any stream says of it."""
    order = F.array_position(F.lit(list(ALARMS)), F.col("verdict"))
    found = (
        messages.where(F.col("verdict").isin(*ALARMS))
        .orderBy(order, "first_at", "message_id")
        .select("message_id", "verdict")
        .limit(MAX_ALARMS)
        .collect()
    )
    if not found:
        return []
    # The first and the last of each: how it began, and how it ended.
    most = max(4, MAX_EVENTS // len(found))
    timelines: dict[str, list[dict[str, Any]]] = {row["message_id"]: [] for row in found}
    time = F.date_format(F.timestamp_millis("at"), "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")
    by_time = Window.partitionBy("message_id").orderBy("at", "code", "description")
    events = (
        rows.where(F.col("message_id").isin(*timelines))
        .select(
            *("message_id", "at", "stream", "code", "description"),
            time.alias("time"),
            F.row_number().over(by_time).alias("turn"),
            F.count("*").over(Window.partitionBy("message_id")).alias("all"),
        )
        .where(f"turn <= {most // 2} OR turn > all - {most - most // 2}")
        .collect()
    )
    # Put in order here: Spark would read everything twice, first to see how it is spread.
    for row in sorted(events, key=itemgetter("turn")):
        timeline = timelines[row["message_id"]]
        timeline.append({"at": row["time"], "stream": row["stream"], "what": row["description"]})
        if row["turn"] == most // 2 and row["all"] > most:
            between = f"… and {row['all'] - most:,} more records …"
            timeline.append({"at": row["time"], "stream": "", "what": between})
    return [row.asDict() | {"timeline": timelines[row["message_id"]]} for row in found]


def not_over(span: Interval, over: int, not_yet_judged: int) -> str:
    """That days are not over, of which nothing is called missing, and how many messages wait."""
    open_since = max(span[0], day_of(over)) if over else span[0]
    sentence = f"Of {_days((open_since, span[1]))} nothing is called missing yet"
    if not_yet_judged:
        verb = "is" if not_yet_judged == 1 else "are"
        sentence += f"; {_messages(not_yet_judged)} {verb} in flight"
    return f"{sentence}."


def changed_files(changed: Mapping[str, str]) -> str:
    """That files by which days were judged are others now, and what to do."""
    became = {"changed": "has changed", "gone": "is gone", "come": "has come"}
    (first, what), number = min(changed.items()), len(changed)
    if number == 1:
        found = f"{first} {became[what]} since its day was judged"
    else:
        found = f"{number:,} files are others since their days were judged, {first} ({what}) first"
    return f"{found}: look, and accept what is there with --from-raw."


_MOST_SENTENCES: Final = 3
_BEFORE: Final = ("Look with actonce where ID before you send a lost one again.",)


@dataclass(frozen=True, slots=True)
class Findings:
    """What the sentence and the exit status depend on.

    Attributes:
        verdicts: how many messages of the days have each.
        unjudged: how many of them could not be judged.
        not_yet_judged: how many of them it says nothing of.
        unread: how many lines or files could not be read.
        late_alarms: other days, on which a message began that has an alarm and a record of these.
        unseen: sentences that say what was not looked at.
        unrepeatable: messages of which an effect has no id.
    """

    verdicts: Mapping[str, int]
    unjudged: int = 0
    not_yet_judged: int = 0
    unread: int = 0
    late_alarms: Sequence[str] = ()
    unseen: Sequence[str] = ()
    unrepeatable: int = 0

    @property
    def alarms(self) -> int:
        """How many messages of the days have one."""
        return sum(self.verdicts[name] for name in ALARMS)

    @property
    def status(self) -> Status:
        """How the audit ends."""
        if self.alarms or self.late_alarms:
            return Status.ALARMS
        if self.unjudged or self.unread or self.unseen:
            return Status.NOT_WHOLE
        return Status.ON_TRUST if self.unrepeatable else Status.CLEAN

    @property
    def trusted(self) -> list[str]:
        """What no record can show, a sentence."""
        if not self.unrepeatable:
            return []
        return [f"Of {_messages(self.unrepeatable)} an effect has no id: a second one is not seen."]

    def sentence(self) -> str:
        """The answer."""
        verdicts, unread = self.verdicts, self.unread
        total = sum(verdicts.values()) - self.not_yet_judged
        found = [f"{verdicts[name]:,} {words}" for name, words in ALARMS.items() if verdicts[name]]
        if found:
            answer = [f"Of {_messages(total)}, {_listed(found)}.", *_BEFORE[: verdicts["lost"]]]
        elif not total:
            answer = [f"There was no {'other ' * bool(self.not_yet_judged)}message."]
        elif self.status is not Status.CLEAN:
            # "All are accounted for" would contradict what comes after it.
            answer = [f"Of {_messages(total)}, none is known to be acted on twice or lost."]
        elif total == 1:
            answer = ["The one message is accounted for, and was not acted on twice."]
        else:
            answer = [f"All {total:,} messages are accounted for, and none was acted on twice."]
        if self.unjudged:
            answer.append(f"{_messages(self.unjudged)} could not be judged.")
        if unread:
            lines = "1 line or file" if unread == 1 else f"{unread:,} lines or files"
            answer.append(f"{lines} could not be read.")
        if self.late_alarms:
            days = _listed(_first(self.late_alarms, _MOST_DAYS, "more days"))
            answer.append(f"A message that began earlier has an alarm: audit {days} again.")
        if self.unseen:
            answer.append("This is not the whole answer.")
            answer += _first(self.unseen, _MOST_SENTENCES, "more like these.")
        return " ".join([*answer, *self.trusted])


_MOST_DAYS: Final = 10


def _first(items: Sequence[str], most: int, rest: str) -> list[str]:
    """So many of them, and how many more there are."""
    more = [f"{len(items) - most:,} {rest}"] if len(items) > most else []
    return [*items[:most], *more]


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count:,} messages"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
