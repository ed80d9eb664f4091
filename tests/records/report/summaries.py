"""Summaries as the audit writes them, one per way that a day can be: the files of `audits/`."""

import json
from collections.abc import Callable
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

AUDITS = Path(__file__).parent / "audits"

Summary = dict[str, Any]


def read(name: str) -> Summary:
    """Anew each time, so that a test may change it."""
    summary: Summary = json.loads((AUDITS / f"{name}.json").read_text("utf-8"))
    return summary


all_good = partial(read, "all_good")
"""One day, as the demo leaves it once every dead letter is decided."""

alarms_of_each_kind = partial(read, "alarms_of_each_kind")
"""And more of them than are listed, and lines that could not be read."""

effects_only = partial(read, "effects_only")
"""Nothing but the effects was recorded."""

nothing_at_all = partial(read, "nothing_at_all")
"""An audit with nothing to judge."""

hostile = partial(read, "hostile")
"""Every text that somebody outside can choose, chosen by somebody malicious."""

HOSTILE_IDS = tuple(one["message_id"] for one in hostile()["alarms"])


def ninety_days() -> Summary:
    """A quarter with millions of messages, one alarm and two days with a missing stream."""
    summary = all_good()
    days = []
    for number in range(90):
        name = (date(2026, 1, 1) + timedelta(days=number)).isoformat()
        verdicts = dict.fromkeys(summary["verdicts"], 0) | {
            "performed_once": 12_000 + 170 * number - (9_000 if number % 7 > 4 else 0),
            "resolved": number % 3,
            "refused": number % 5,
            "performed_again": int(number == 40),
        }
        missing = [f"{name}: sent is missing."] * (number in {63, 64})
        of_day = {"day": name, "messages": sum(verdicts.values()), "verdicts": verdicts}
        days.append(summary["days"][0] | of_day | {"cannot_judge": missing})
    verdicts = {one: sum(day["verdicts"][one] for day in days) for one in summary["verdicts"]}
    messages = sum(verdicts.values())
    return summary | {
        "from": "2026-01-01",
        "to": "2026-03-31",
        "sentence": f"1 of {messages:,} messages was acted on more than once; none was lost.",
        "exit_status": 1,
        "messages": messages,
        "verdicts": verdicts,
        "days": days,
        "alarms": alarms_of_each_kind()["alarms"][:1],
        "alarms_total": 1,
        "cannot_judge": [sentence for one in days for sentence in one["cannot_judge"]],
    }


ALL: dict[str, Callable[[], Summary]] = {
    **{file.stem: partial(read, file.stem) for file in sorted(AUDITS.glob("*.json"))},
    "ninety_days": ninety_days,
}
