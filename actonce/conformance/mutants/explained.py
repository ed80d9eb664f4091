"""Why a mutant is not noticed, by its name: file, function or state, and what was changed."""

# ruff: noqa: E501 - names are what they are

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Explanation:
    """Of a survivor.

    Attributes:
        why: it does what the original does, or what hazard would notice it.
        is_equivalent: nothing promised depends on the decision.
    """

    why: str
    is_equivalent: bool = True


_LABEL = (
    "Started or suppressed is a label, no decision "
    "([decision 8](decisions/0008-started-or-suppressed-is-a-label.md))."
)
_THREADS = "It is for threads side by side; a walk's consumer has one delivery at a time."
_COST = "What is decided is the same; it costs more, or less (`tests/unit/test_hostile_bodies.py`)."
_SAME_TYPE = "Nothing that reaches it is of another type."
_INDEPENDENT = "Neither needs what the other gives."

_EQUIVALENT: Mapping[str, Mapping[str, str]] = {
    "functions/deduplication/executions.py Executions._start": {
        "`answer['startDate'] < asked_at` left out": _LABEL,
        "the boundary of `answer['startDate'] < asked_at`": _LABEL,
        "`not first_seen_now` left out": _LABEL,
        "`was_running` negated": _LABEL,
        "`asked_at.microsecond // 1000 * 1000` is `asked_at.microsecond // 1000`": _LABEL,
    },
    "functions/deduplication/message.py _no_collections": {
        "`was_enabled = gc.isenabled()` after `gc.disable()`": _COST,
        "`gc.disable()` left out": _COST,
        "`was_enabled` negated": _COST,
        "`gc.enable()` left out": _COST,
    },
    "functions/deduplication/message.py MessageReader.__init__": {
        "`self._content = _compile('ContentFrom', content_from) if …` after `self._id_is_in_body = message_id_from.startswith('body:')`": _INDEPENDENT,
        "`self._id_is_in_body = message_id_from.startswith('body:')` after `self._reading = threading.Lock()`": _INDEPENDENT,
    },
    "functions/deduplication/message.py MessageReader._too_large_to_read": {
        "the boundary of `len(delivery.body) <= MAX_EXECUTION_INPUT_BYTES`": _COST,
        "`return None` left out": _COST,
        "`len(delivery.body) <= MAX_EXECUTION_INPUT_BYTES` negated": _COST,
    },
    "functions/deduplication/message.py MessageReader._fingerprint": {
        "`self._id_path` left out": "Without names that lead to it, nothing is replaced in the body.",
    },
    "functions/deduplication/strict_json.py read": {
        "`written == text` negated": _COST,
    },
    "functions/locking/lease.py": {
        "HEARTBEATS_PER_LEASE: doubled": "How often, and not what.",
    },
    "functions/locking/lease.py Lease.__init__": {
        "`owner` left out": "The owner's name is for people.",
        "`f'{socket.gethostname()}:{os.getpid()}'` left out": "The owner's name is for people.",
    },
    "functions/locking/lease.py Lease._is_lost": {
        "the boundary of `unconfirmed_for >= holding.lease_seconds * WORKING_SHARE`": "One moment: a holder that is exactly half a lease old.",
    },
}

_OPEN: Mapping[str, Mapping[str, str]] = {}

EXPLAINED: Mapping[str, Explanation] = {
    f"{where}{' ' if where.endswith('.py') else ': '}{change}": Explanation(why, is_equivalent)
    for table, is_equivalent in ((_EQUIVALENT, True), (_OPEN, False))
    for where, changes in table.items()
    for change, why in changes.items()
}
