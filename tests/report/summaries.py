"""Summaries as the audit writes them, one per way that a day can be."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

from pipeline.audit.verdict_names import VERDICTS

BUCKETS = (1, 10, 60, 300, 3600, 6 * 3600, 86_400, 14 * 86_400, 90 * 86_400, None)
START = datetime(2026, 3, 1, 8, 30, tzinfo=UTC)
HOSTILE_IDS = (
    "<script>document.title='taken over'</script>",
    '"><img src=x onerror="document.title=\'taken over\'">',
    "{{ 7 * 7 }} {% for x in y %} $x^2$ &amp; </summary></details>",
    "m" * 2048,
    "\u202egnirts\u202c \x00 \ud800 \u200b end",
    "https://example.com/a.png?b=<c>",
    "",
)


def at(milliseconds: int) -> str:
    """So many milliseconds after the beginning, as the records write it."""
    return (START + timedelta(milliseconds=milliseconds)).isoformat(timespec="milliseconds")[
        :-6
    ] + "Z"


def alarm(message_id: str, verdict: str) -> dict[str, Any]:
    timelines = {
        "performed_again": [
            (0, "sent", "accepted by SQS"),
            (412, "deliveries", "started"),
            (470, "executions", "RUNNING"),
            (1_890, "effects", "appointment-7 in the book of main, slot 4"),
            (31_900, "effects", "appointment-9 in the book of main, slot 5"),
            (32_044, "executions", "SUCCEEDED, performed"),
            (86_400_000, "deliveries", "suppressed"),
        ],
        "lost": [(0, "sent", "accepted by SQS"), (900, "deliveries", "failed: TimeoutError")],
        "conflict": [
            (0, "deliveries", "started"),
            (2_000, "effects", "appointment-8 in the book of north, slot 1"),
            (61_000, "deliveries", "refused: conflict, another content under this id"),
        ],
    }
    return {
        "message_id": message_id,
        "verdict": verdict,
        "timeline": [
            {"at": at(ms), "stream": stream, "what": what}
            for ms, stream, what in timelines[verdict]
        ],
    }


def all_good() -> dict[str, Any]:
    """One day, as the demo leaves it once every dead letter is decided."""
    verdicts = dict.fromkeys(VERDICTS, 0) | {"performed_once": 198, "resolved": 2}
    return {
        "version": 1,
        "from": "2026-03-01",
        "to": "2026-03-01",
        "generated_at": "2026-03-02T02:00:11.480Z",
        "sentence": "Each of the 200 messages was acted on at most once, and none was lost.",
        "exit_status": 0,
        "messages": 200,
        "totals": {
            "sent": 240,
            "deliveries": 265,
            "started": 200,
            "suppressed": 65,
            "refused": {},
            "failed": 0,
            "executions": 200,
            "effects": 198,
            "dead_letters": 2,
        },
        "verdicts": verdicts,
        "days": [day("2026-03-01", verdicts)],
        "records": "records/",
        "asked_for": {"rejected": 2},
        "listed": {},
        "gaps": {
            "duplicates": 65,
            "buckets": [
                {"up_to_seconds": up_to, "duplicates": n}
                for up_to, n in zip(BUCKETS, (4, 22, 17, 10, 5, 3, 1, 2, 1, 0), strict=True)
            ],
            "within_5_minutes": 53 / 65,
            "within_14_days": 64 / 65,
            "within_90_days": 1.0,
        },
        "latency": {
            "sent_to_effect": {"count": 198, "p50": 640, "p90": 2300, "p99": 41_200, "max": 62_007},
            "first_delivery_to_effect": {
                "count": 198,
                "p50": 210,
                "p90": 1250,
                "p99": 31_000,
                "max": 61_650,
            },
        },
        "alarms": [],
        "alarms_total": 0,
        "quarantine": {"lines": 0, "by_reason": {}, "examples": []},
        "cannot_judge": [],
        "late_days": [],
    }


def day(name: str, verdicts: dict[str, int], *cannot_judge: str) -> dict[str, Any]:
    messages = sum(verdicts.values())
    return {
        "day": name,
        "messages": messages,
        "verdicts": dict(verdicts),
        "streams": {
            "sent": messages + messages // 5,
            "deliveries": messages + messages // 3,
            "executions": messages * 2,
            "effects": messages,
            "dead_letters": 2,
        },
        "cannot_judge": list(cannot_judge),
    }


def alarms_of_each_kind() -> dict[str, Any]:
    summary = all_good()
    summary["verdicts"] |= {
        "performed_once": 189,
        "resolved": 1,
        "rejected": 1,
        "performed_again": 1,
        "lost": 2,
        "conflict": 1,
        "refused": 2,
        "awaiting_decision": 2,
        "in_flight": 1,
    }
    summary["days"] = [day("2026-03-01", summary["verdicts"])]
    summary["sentence"] = (
        "1 message was acted on more than once, 2 were lost and 1 came with two contents."
    )
    summary["exit_status"] = 1
    summary["totals"] |= {
        "started": 196,
        "suppressed": 60,
        "refused": {"malformed": 1, "no_message_id": 1, "conflict": 1},
        "failed": 6,
    }
    summary["alarms"] = [
        alarm("request-17", "performed_again"),
        alarm("request-21", "lost"),
        alarm("request-22", "lost"),
        alarm("request-90", "conflict"),
    ]
    summary["alarms_total"] = 4
    return summary


def missing_streams() -> dict[str, Any]:
    summary = all_good()
    summary["sentence"] = (
        "None of the 200 messages was acted on twice; whether any was lost cannot be judged."
    )
    missing = "There is no stream `sent` for 2026-03-01: what SQS never delivered cannot be judged."
    also = "There is no stream `executions` for 2026-03-01: in flight cannot be told from lost."
    summary["totals"] |= {"sent": None, "executions": None}
    summary["cannot_judge"] = [missing, also]
    summary["days"] = [day("2026-03-01", summary["verdicts"], missing, also)]
    summary["days"][0]["streams"] |= {"sent": None, "executions": None}
    summary["latency"]["sent_to_effect"] = dict.fromkeys(("p50", "p90", "p99", "max")) | {
        "count": 0
    }
    summary["late_days"] = ["2026-02-27", "2026-02-28"]
    return summary


def effects_only() -> dict[str, Any]:
    """Nothing but the effects was recorded."""
    summary = missing_streams()
    summary["totals"] = {
        "sent": None,
        "deliveries": None,
        "started": 0,
        "suppressed": 0,
        "refused": {},
        "failed": 0,
        "executions": None,
        "effects": 200,
        "dead_letters": None,
    }
    summary["latency"]["first_delivery_to_effect"] = summary["latency"]["sent_to_effect"]
    return without_duplicates(summary)


def with_quarantine() -> dict[str, Any]:
    summary = all_good()
    summary["exit_status"] = 1
    summary["sentence"] = (
        "No alarm among 200 messages, but 3 lines could not be read: this may not be everything."
    )
    summary["quarantine"] = {
        "lines": 3,
        "by_reason": {"not JSON": 2, "unknown version 7": 1},
        "examples": [
            {
                "file": "records/deliveries/dt=2026-03-01/part-0000-2f0b7c50-1cde.jsonl.gz",
                "line": 17,
                "reason": "not JSON: ends in the middle of a text",
            },
            {
                "file": "records/sent/dt=2026-03-01/<b>bold</b>.jsonl",
                "line": None,
                "reason": "not JSON: the gzip member ends early",
            },
        ],
    }
    return summary


def without_duplicates(summary: dict[str, Any]) -> dict[str, Any]:
    summary["gaps"] = {
        "duplicates": 0,
        "buckets": [{"up_to_seconds": up_to, "duplicates": 0} for up_to in BUCKETS],
        "within_5_minutes": None,
        "within_14_days": None,
        "within_90_days": None,
    }
    return summary


def empty_gaps() -> dict[str, Any]:
    return without_duplicates(all_good())


def nothing_at_all() -> dict[str, Any]:
    """An audit with nothing to judge."""
    summary = without_duplicates(missing_streams())
    summary["messages"] = 0
    summary["days"] = []
    summary["exit_status"] = 2
    summary["sentence"] = "There is nothing to audit for 2026-03-01."
    summary["verdicts"] = dict.fromkeys(VERDICTS, 0)
    summary["totals"] = dict.fromkeys(summary["totals"]) | {
        "started": 0,
        "suppressed": 0,
        "failed": 0,
        "refused": {},
    }
    none = dict.fromkeys(("p50", "p90", "p99", "max")) | {"count": 0}
    summary["latency"] = {"sent_to_effect": none, "first_delivery_to_effect": none}
    return summary


def ninety_days() -> dict[str, Any]:
    """A quarter with millions of messages, one alarm and a day with a missing stream."""
    summary = all_good()
    days = []
    verdicts = dict.fromkeys(VERDICTS, 0)
    for number in range(90):
        name = (date(2026, 1, 1) + timedelta(days=number)).isoformat()
        of_day = dict.fromkeys(VERDICTS, 0) | {
            "performed_once": 12_000 + 170 * number - (9_000 if number % 7 > 4 else 0),
            "resolved": number % 3,
            "refused": number % 5,
        }
        if number == 40:
            of_day["performed_again"] = 1
        missing = (f"There is no stream `sent` for {name}: lost cannot be judged.",)
        days.append(day(name, of_day, *(missing if number in {63, 64} else ())))
        for verdict, count in of_day.items():
            verdicts[verdict] += count
    messages = sum(verdicts.values())
    summary |= {
        "from": "2026-01-01",
        "to": "2026-03-31",
        "sentence": f"1 of {messages:,} messages was acted on more than once; none was lost.",
        "exit_status": 1,
        "messages": messages,
        "verdicts": verdicts,
        "days": days,
        "alarms": [alarm("request-4711", "performed_again")],
        "alarms_total": 1,
        "cannot_judge": [sentence for one in days for sentence in one["cannot_judge"]],
    }
    summary["totals"] |= {
        "sent": messages + messages // 5,
        "deliveries": messages + messages // 3,
        "started": messages - 180,
        "suppressed": messages // 3 - 40,
        "refused": {"malformed": 120, "too_old_to_tell": 60},
        "failed": 40,
        "executions": messages - 180,
        "effects": messages - 180,
        "dead_letters": 90,
    }
    summary["gaps"] |= {
        "duplicates": 520_000,
        "buckets": [
            {"up_to_seconds": up_to, "duplicates": n}
            for up_to, n in zip(
                BUCKETS,
                (9_800, 120_000, 210_400, 90_100, 51_000, 20_300, 9_000, 7_400, 1_900, 100),
                strict=True,
            )
        ],
        "within_5_minutes": 430_300 / 520_000,
        "within_14_days": 518_000 / 520_000,
        "within_90_days": 519_900 / 520_000,
    }
    return summary


def thousand_alarms() -> dict[str, Any]:
    summary = alarms_of_each_kind()
    kinds = ("performed_again", "lost", "conflict")
    summary["alarms"] = [alarm(f"request-{n}", kinds[n % 3]) for n in range(1000)]
    summary["alarms_total"] = 4200
    summary["messages"] = 5000
    summary["totals"] |= {"sent": 5100, "deliveries": 5200, "started": 5000}
    summary["verdicts"] = dict.fromkeys(VERDICTS, 0) | {
        "performed_once": 800,
        "performed_again": 1400,
        "lost": 1400,
        "conflict": 1400,
    }
    summary["sentence"] = "1,400 messages were acted on more than once and 1,400 were lost."
    return summary


def hostile() -> dict[str, Any]:
    """Every text that somebody outside can choose, chosen by somebody malicious."""
    summary = with_quarantine()
    script = HOSTILE_IDS[0]
    summary["sentence"] = f"7 messages {script} were acted on more than once."
    summary["alarms"] = [alarm(one, "performed_again") for one in HOSTILE_IDS]
    for one in summary["alarms"]:
        one["timeline"].append({"at": "not a <b>time</b>", "stream": script, "what": "w" * 3000})
    summary["alarms_total"] = len(HOSTILE_IDS)
    summary["verdicts"] |= {"performed_once": 191, "performed_again": 7}
    summary["totals"]["refused"] = {script: 3, "r" * 300: 1}
    summary["quarantine"]["by_reason"] = {script: 3}
    summary["quarantine"]["examples"].append({"file": "f" * 400, "line": 1, "reason": script})
    summary["cannot_judge"] = [script, "c" * 500]
    summary["days"] = [day("2026-03-01", summary["verdicts"], script)]
    summary["late_days"] = [script]
    return summary


ALL = {
    summary.__name__: summary
    for summary in (
        all_good,
        alarms_of_each_kind,
        missing_streams,
        effects_only,
        with_quarantine,
        empty_gaps,
        nothing_at_all,
        ninety_days,
        thousand_alarms,
        hostile,
    )
}
