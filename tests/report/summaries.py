"""Summaries as the audit writes them, one per way that a day can be."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

from pipeline.audit.judging.verdict_names import VERDICTS

BUCKETS = (1, 10, 60, 300, 3600, 86_400, 14 * 86_400, 90 * 86_400, None)
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
TIMELINES = {
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


def at(milliseconds: int) -> str:
    """So many milliseconds after the beginning, as the records write it."""
    moment = START + timedelta(milliseconds=milliseconds)
    return moment.isoformat(timespec="milliseconds")[:-6] + "Z"


def alarm(message_id: str, verdict: str) -> dict[str, Any]:
    timeline = [
        {"at": at(ms), "stream": stream, "what": what} for ms, stream, what in TIMELINES[verdict]
    ]
    return {"message_id": message_id, "verdict": verdict, "timeline": timeline}


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


def gaps(*messages: int) -> dict[str, Any]:
    """By bucket; none at all without."""
    total = sum(messages)
    shares = {"5_minutes": 4, "14_days": 7, "90_days": 8}
    return {
        "messages": total,
        "buckets": [
            {"up_to_seconds": end, "messages": count}
            for end, count in zip(BUCKETS, messages or [0] * len(BUCKETS), strict=True)
        ],
    } | {f"within_{n}": sum(messages[:i]) / total if total else None for n, i in shares.items()}


def latency(*numbers: int | None) -> dict[str, Any]:
    names = ("count", "p50", "p90", "p99", "max")
    return dict(zip(names, numbers or (0, None, None, None, None), strict=True))


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
            "sent": 240, "deliveries": 265, "started": 200, "suppressed": 65, "refused": {},
            "failed": 0, "executions": 200, "effects": 198, "dead_letters": 2,
        },
        "verdicts": verdicts,
        "days": [day("2026-03-01", verdicts)],
        "records": "records/",
        "gaps": gaps(4, 22, 17, 10, 5, 3, 2, 2, 0),
        "latency": {
            "sent_to_effect": latency(198, 640, 2300, 41_200, 62_007),
            "first_delivery_to_effect": latency(198, 210, 1250, 31_000, 61_650),
        },
        "alarms": [],
        "alarms_total": 0,
        "quarantine": {"lines": 0, "by_reason": {}, "examples": []},
        "cannot_judge": [],
        "late_days": [],
    }  # fmt: skip


def alarms_of_each_kind() -> dict[str, Any]:
    """And more of them than are listed, and lines that could not be read."""
    summary = all_good()
    summary["verdicts"] |= {
        "performed_once": 189, "resolved": 1, "rejected": 1, "performed_again": 1, "lost": 2,
        "conflict": 1, "refused": 2, "awaiting_decision": 2, "in_flight": 1,
    }  # fmt: skip
    kinds = ("performed_again", "lost", "lost", "conflict")
    summary |= {
        "days": [day("2026-03-01", summary["verdicts"])],
        "sentence": "1 message was acted on more than once, 2 were lost and 1 is in conflict.",
        "exit_status": 1,
        "alarms": [alarm(f"request-{n}", verdict) for n, verdict in enumerate(kinds, 17)],
        "alarms_total": 4200,
        "quarantine": {
            "lines": 3,
            "by_reason": {"corrupt_line": 2, "unknown_version": 1},
            "examples": [
                {"file": "records/deliveries/dt=2026-03-01/part-0000-2f0b7c50-1cde.jsonl.gz",
                 "line": 17, "reason": "corrupt_line"},
                {"file": "records/sent/dt=2026-03-01/<b>bold</b>.jsonl",
                 "line": None, "reason": "truncated_gzip"},
            ],
        },
    }  # fmt: skip
    summary["totals"] |= {
        "started": 196,
        "suppressed": 60,
        "refused": {"malformed": 1, "no_message_id": 1, "conflict": 1},
        "failed": 6,
    }
    return summary


def effects_only() -> dict[str, Any]:
    """Nothing but the effects was recorded."""
    summary = all_good()
    missing = ("2026-03-01: sent is missing.", "2026-03-01: executions is missing.")
    summary |= {
        "sentence": "None of the 200 messages was acted on twice; whether any was lost is unknown.",
        "exit_status": 3,
        "cannot_judge": list(missing),
        "days": [day("2026-03-01", summary["verdicts"], *missing)],
        "totals": dict.fromkeys(summary["totals"])
        | {"started": 0, "suppressed": 0, "refused": {}, "failed": 0, "effects": 200},
        "latency": {"sent_to_effect": latency(), "first_delivery_to_effect": latency()},
        "late_days": ["2026-02-27", "2026-02-28"],
        "gaps": gaps(),
    }
    summary["days"][0]["streams"] |= {"sent": None, "executions": None}
    return summary


def nothing_at_all() -> dict[str, Any]:
    """An audit with nothing to judge."""
    return effects_only() | {
        "messages": 0,
        "days": [],
        "sentence": "There was no message.",
        "verdicts": dict.fromkeys(VERDICTS, 0),
    }


def ninety_days() -> dict[str, Any]:
    """A quarter with millions of messages, one alarm and two days with a missing stream."""
    summary = all_good()
    days = []
    verdicts = dict.fromkeys(VERDICTS, 0)
    for number in range(90):
        name = (date(2026, 1, 1) + timedelta(days=number)).isoformat()
        of_day = dict.fromkeys(VERDICTS, 0) | {
            "performed_once": 12_000 + 170 * number - (9_000 if number % 7 > 4 else 0),
            "resolved": number % 3,
            "refused": number % 5,
            "performed_again": int(number == 40),
        }
        days.append(day(name, of_day, *([f"{name}: sent is missing."] * (number in {63, 64}))))
        for verdict, count in of_day.items():
            verdicts[verdict] += count
    messages = sum(verdicts.values())
    return summary | {
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
        "totals": summary["totals"] | {"deliveries": messages + messages // 3},
        "gaps": gaps(9_800, 120_000, 210_400, 90_100, 51_000, 29_300, 7_400, 1_900, 100),
    }


def hostile() -> dict[str, Any]:
    """Every text that somebody outside can choose, chosen by somebody malicious."""
    summary = alarms_of_each_kind()
    script = HOSTILE_IDS[0]
    summary |= {
        "sentence": f"7 messages {script} were acted on more than once.",
        "alarms": [alarm(one, "performed_again") for one in HOSTILE_IDS],
        "cannot_judge": [script, "c" * 500],
        "days": [day("2026-03-01", summary["verdicts"], script)],
        "late_days": [script],
    }
    for one in summary["alarms"]:
        one["timeline"].append({"at": "not a <b>time</b>", "stream": script, "what": "w" * 3000})
    summary["totals"]["refused"] = {script: 3, "r" * 300: 1}
    summary["quarantine"]["by_reason"] = {script: 3}
    summary["quarantine"]["examples"].append({"file": "f" * 400, "line": 1, "reason": script})
    return summary


ALL = {
    summary.__name__: summary
    for summary in (
        all_good, alarms_of_each_kind, effects_only, nothing_at_all, ninety_days, hostile,
    )
}  # fmt: skip
