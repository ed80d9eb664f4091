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
_THREADS = "It is for bodies side by side, and their memory; a walk's consumer has one at a time."
_COST = "What is decided is the same; it costs more, or less (`tests/unit/test_hostile_bodies.py`)."
_INDEPENDENT = "Neither needs what the other gives."
_EXCLUDE = "The two conditions exclude each other."
_MOMENT = "One moment: exactly at the end of the time."
_NAMES = "The owner's name is for people."
_LAMBDA = "Then Lambda ends the process at that very moment, or before."
_VERSION = "A lease's row has a version, and a ledger's none, so that what follows tells the same."
_READ_ONCE = "What reaches it is a text or a whole number, and a text is replaced by itself."

_LOG_LINE = "Only the delivery's record has the id; a walk does not read the records."
_LEASE_END = "It would need a pause that ends in the second half of a lease, and an effect as long as the rest."
_LOOKED_UP = (
    "Then it is looked up first, in vain; it would need an effect that can never be looked up."
)

_NEARLY_TOO_LARGE = (
    "It would need a body of nearly 1 MiB with attributes (`tests/unit/test_unstarted.py`)."
)

_DEFINITION = "statemachine/process_message.asl.json"
_PERFORMED = "$states.input.performed = true"
_NOT_PERFORMED = "$states.input.performed = false and $states.input.rounds < $number('3')"
_NEITHER = "$type($states.input.performed) != 'boolean'"

_EQUIVALENT: Mapping[str, Mapping[str, str]] = {
    "functions/deduplication/executions.py Executions._start": {
        "`answer['startDate'] < asked_at` left out": _LABEL,
        "the boundary of `answer['startDate'] < asked_at`": _LABEL,
        "`not first_seen_now` left out": _LABEL,
        "`was_running` negated": _LABEL,
        "`asked_at.microsecond // 1000 * 1000` is `asked_at.microsecond // 1000`": _LABEL,
    },
    "functions/deduplication/memory.py way_of": {
        "`'memory' in row` negated": _VERSION,
        "`return str(row['memory']['S'])` left out": _VERSION,
    },
    "functions/deduplication/fingerprints.py refusal_of": {
        "the boundary of `now - known.first_seen > memories.names_remembered`": _MOMENT,
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
    "functions/deduplication/message.py MessageReader.read": {
        "not within `self._reading`": _THREADS,
    },
    "functions/deduplication/message.py MessageReader._too_large_to_read": {
        "the boundary of `size <= MAX_EXECUTION_INPUT_BYTES`": "With its id around it, it is too large anyhow.",
    },
    "functions/deduplication/message.py MessageReader._fingerprint": {
        "`isinstance(found, int)` left out": _READ_ONCE,
    },
    "functions/deduplication/message.py MessageReader._content_of": {
        "`return None` left out, number 2": "It is the end of the function.",
    },
    "functions/deduplication/message.py _id_finder": {
        "`argument` left out": "An empty expression is no JMESPath, and is refused as such.",
        "`return None` left out": "It is the end of the function.",
    },
    "functions/actonce_message/strict_json.py": {
        "_MAX_DIGITS: doubled": "What has more digits than that is an infinity anyhow.",
    },
    "functions/actonce_message/strict_json.py _refuse_endless_numbers": {
        "`len(found[0]) > _MAX_DIGITS` left out": "What has more digits than that is an infinity anyhow.",
    },
    "functions/actonce_message/strict_json.py _is_too_deep": {
        "the boundary of `outline.count(b'[') + outline.count(b'{') <= MAX_DEPTH`": _COST,
    },
    "functions/actonce_message/strict_json.py _is_plain": {
        "`may_be_none` left out": "It spares a search that would find nothing.",
        "`_NOT_PLAIN.search(outline)` left out": "Carried as a text where it need not be; the effect gets the same.",
    },
    "functions/locking/consumer.py": {
        "MAX_MARKS_SIDE_BY_SIDE: doubled": _THREADS,
        "MAX_MARKS_SIDE_BY_SIDE: halved": _THREADS,
    },
    "functions/locking/consumer.py _alone_if_of_many_values": {
        "`body.count(',') + body.count('[') + body.count('{')` is `body.count(',') + body.count('[')`": _THREADS,
        "`body.count(',') + body.count('[')` is `body.count(',')`": _THREADS,
        "the boundary of `marks > MAX_MARKS_SIDE_BY_SIDE`": _THREADS,
    },
    "functions/locking/consumer.py Consumer.consume": {
        "not within `_alone_if_of_many_values(delivery.body)`": _THREADS,
    },
    "functions/locking/idempotent.py idempotent": {
        "`key = stored_message_id(message_id(message))` after `print_of = hashlib.sha256(strict_json.canonical(content(m…`": _INDEPENDENT,
    },
    "functions/locking/lease.py Lease.__init__": {
        "`owner` left out": _NAMES,
        "`f'{socket.gethostname()}:{os.getpid()}'` left out": _NAMES,
    },
    "functions/locking/lease.py Lease._beat": {
        "`return False` negated": "The next heartbeat hears the same, and changes nothing either.",
        "`return False` left out": "The next heartbeat hears the same, and changes nothing either.",
    },
    "functions/locking/lease.py Lease._is_lost": {
        "the boundary of `unconfirmed_for >= holding.lease_seconds * WORKING_SHARE`": _MOMENT,
    },
    "functions/locking/ledger.py is_over": {
        "`updated = datetime.fromisoformat(row['updated']['S'])` after `silent_for = timedelta(seconds=float(row['lock_seconds'][…`": _INDEPENDENT,
        "the boundary of `now - updated > silent_for`": _MOMENT,
    },
    "functions/locking/ledger.py Ledger._is_lost": {
        "the boundary of `self.host.monotonic() >= work_until`": _MOMENT,
    },
    "functions/locking/row_locks.py RowLocks.__init__": {
        "`self._table = ProcessingTable(dynamodb, table_name)` after `self.host = host or Host()`": _INDEPENDENT,
        "`host` left out": "Only tests bring a host of their own; what ships has none.",
    },
    "functions/locking/row_locks.py RowLocks.acquire_processing_lock": {
        "`bid = Bid(self.WAY, message_id, fingerprint, self.host.ne…` after `began = self.host.monotonic()`": _INDEPENDENT,
        "`outcome_unknown, straggler_seconds = (True, self._straggl…` after `began = self.host.monotonic()`": _INDEPENDENT,
    },
    "functions/time_allowed.py seconds_left": {
        "the boundary of `remaining > configured`": "Of the two the one is as right as the other: what has been taken is nothing.",
        "the boundary of `configured <= allowed`, number 2": _LAMBDA,
        "`return None` left out, number 2": _LAMBDA,
    },
    "functions/invoked_effect.py InvokedEffect.perform": {
        "`raise` left out": "What follows ends in an error as well, and of any other error nobody knows what happened.",
    },
    "functions/invoked_effect.py _raise": {
        "`kind = str(error.get('errorType', 'an error without a typ…` after `text = str(error.get('errorMessage', ''))`": _INDEPENDENT,
    },
    "functions/locking/rows.py ProcessingTable._write_as_holder": {
        "`failure.row['attempt_id']['S'] == attempt.attempt_id` left out": "The row is complete, and its message done: the delivery is acknowledged at once, and not after it came once more.",
    },
    f"{_DEFINITION} PerformEffect, Catch of Rejected": {
        "after the one of NotPerformed, Lambda.TooManyRequestsException": "They are of other errors."
    },
    f"{_DEFINITION} Performed?, choice `{_PERFORMED}`": {f"after `{_NOT_PERFORMED}`": _EXCLUDE},
    f"{_DEFINITION} Performed?, choice `{_NOT_PERFORMED}`": {f"after `{_NEITHER}`": _EXCLUDE},
    f"{_DEFINITION} Decision, choice `$states.input.decision = 'retry'`": {
        "after `$states.input.decision = 'resolve'`": _EXCLUDE
    },
    f"{_DEFINITION} Decision, choice `$states.input.decision = 'resolve'`": {
        "after `$states.input.decision = 'reject'`": _EXCLUDE
    },
}

_OPEN: Mapping[str, Mapping[str, str]] = {
    "functions/deduplication/start.py Starter._start": {
        "`self.pace.hold()` left out": "It keeps a rate, and a walk has none to keep (`tests/unit/test_pace.py`).",
    },
    "functions/deduplication/unstarted.py": {
        "LARGEST_MESSAGE: doubled": _NEARLY_TOO_LARGE,
    },
    "functions/deduplication/unstarted.py has_room": {
        "the boundary of `size <= LARGEST_MESSAGE`": "One size: a refusal of exactly 1 MiB; the shorter one goes as well.",
    },
    "functions/deduplication/unstarted.py _as_they_came": {
        "`value.get('binaryValue') is not None` negated": "It would need a producer's attribute of bytes (`tests/unit/test_unstarted.py`).",
    },
    f"{_DEFINITION} FindEffect, Output": {
        "`$exists($states.result.Payload.effect) ? $states.result.Payload.effect : null` is `$states.result.Payload.effect`": "It would need a function that leaves `effect` out, as one of a team's own may (`tests/test_state_machine_definition.py`).",
    },
    "functions/deduplication/message.py _id_finder": {
        "`kind == 'attribute'` left out": "It would need a parameter with another word before its colon.",
    },
    "functions/deduplication/message.py _functions": {
        "`isinstance(child, dict)` negated": "A function within another expression that there is not; unit tests have one.",
    },
    "functions/time_allowed.py ends_in": {
        "`end_process_in(None)` left out": "A walk's invocation has a process of its own; a warm one would be ended later (`tests/unit/test_time_allowed.py`).",
    },
    "functions/locking/ledger.py Ledger._is_lost": {
        "`began + bid.lock_seconds - self._straggler_seconds` is `began + bid.lock_seconds`": "It would need a pause that ends in the last seconds of the time, and an effect that is as late as it may be.",
    },
    "functions/locking/lease.py": {
        "WORKING_SHARE: doubled": _LEASE_END,
    },
    "functions/locking/lease.py Lease._is_lost": {
        "`holding.lease_seconds * WORKING_SHARE` is `holding.lease_seconds`": _LEASE_END,
        "`holding.lost` left out": "Who is not confirmed for half a lease is lost by that, too; it would need a takeover within it.",
    },
    "functions/locking/lease.py Lease.at_work": {
        "`end()` left out": "The next heartbeat finds the row complete, and ends; it would need a process that lives on with a row that is not.",
    },
    "functions/locking/lease.py Lease._beat": {
        "`return True` left out": "After one heartbeat that failed there are none; it would need another contender in a longer effect.",
    },
    "functions/locking/rows.py _held_by": {
        "`IS_IN_PROGRESS` always holds": "It would need an attempt that has completed, and writes again.",
    },
    "functions/locking/idempotent.py idempotent": {
        "`{}` left out": "It would need a row that an operator has closed, which has no description.",
    },
    "functions/deduplication/memory.py way_of": {
        "`'version' in row` negated": "It would need a lock's row of an older version, which did not say whose it is.",
    },
    "functions/actonce_message/strict_json.py _is_plain": {
        "`b'e+' in outline` left out": "A walk's JSONata writes large numbers with their exponent; others may not (`tests/unit/test_unchanged.py`).",
    },
    "functions/deduplication/delivery.py Delivery.from_record": {
        "`{}` left out": "A record of SQS always has attributes.",
    },
    "functions/locking/dead_letters.py _text_that_fits": {
        "the boundary of `_size(text) <= MAX_SQS_BYTES`": "One size: a letter of exactly 1 MiB; the shorter one goes as well.",
        "the boundary of `_size(text) <= MAX_SQS_BYTES`, number 2": "One size: a letter of exactly 1 MiB; the shorter one goes as well.",
    },
    f"{_DEFINITION} Decision, choice `$states.input.decision = 'retry' and $states.input.failure.reason in ['rejected', 'not_performed']`": {
        "'not_performed' left out": _LOOKED_UP,
    },
    "functions/locking/dead_letters.py": {
        "MAX_CAUSE_CHARACTERS: doubled": "No error of a walk has so many words.",
    },
    "functions/deduplication/message.py MessageReader._too_large_to_read": {
        "`self._id_is_in_body` negated": _LOG_LINE,
        "`stored_message_id(message_id)` left out": _LOG_LINE,
    },
    "functions/locking/row_locks.py RowLocks.acquire_processing_lock": {
        "`began = self.host.monotonic()` after `taken = self._table.take_over(bid, over, taken, self.UNCH…`": "The look-up comes after it and finds what others did; it would need another pause between the look-up and the effect.",
    },
}

EXPLAINED: Mapping[str, Explanation] = {
    f"{where}{' ' if where.endswith('.py') else ': '}{change}": Explanation(why, is_equivalent)
    for table, is_equivalent in ((_EQUIVALENT, True), (_OPEN, False))
    for where, changes in table.items()
    for change, why in changes.items()
}
