"""From lines to rows: what each record says of its message, or what is wrong with it.

A line is a plain record, or AWS's envelope around it: a Logs subscription's batch of lines, an
EventBridge event, an item of a DynamoDB export. Firehose may put several on one line.

The lines of all streams are one table: five would be five times the work to plan.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import methodcaller
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from pipeline.audit.reading.listing import DAY, STREAM
from pipeline.audit.reading.streams import (
    KNOWN_VERSION,
    OPERATOR_REJECTED,
    REFUSED,
    STREAMS,
    Code,
)
from pipeline.audit.sql import literal

# What Spark takes for the text that the schema asks for, and is none: a number, a truth, an array.
_TEXT_NAMES: Final = (
    "stream|at|message_id|sqs_message_id|fingerprint|end|reason|execution_name|status|event"
    "|decision|effect_id|S"
)
# Where one object ends and the next begins. Inside a JSON string no quotation mark is bare, and
# after a string's end no letter follows, so this is never inside a record.
# What else two objects may be joined by is no JSON, or more than one value, and so corrupt.
_SEAM: Final = literal(r'(?<=\})\s*(?=\{\s*"[A-Za-z][A-Za-z_-]*"\s*:)')
_LOGS: Final = literal('"logEvents"')  # no plain record has it: its quotes are escaped in a string
_TIME: Final = literal(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|\+00:00)\z")
_NOT_TEXT: Final = literal(rf'"(?=\s*+:\s*+[-\d\[tf])(?<="(?:{_TEXT_NAMES})")')
# Java's `$` also matches before a line feed at the end.
_HASHED_ID: Final = literal(r"^sha256-[0-9a-f]{64}\z")
# Half a surrogate pair has no UTF-8: Spark makes it a question mark, and of two ids one. In an
# event the message's record is a text, with a backslash more.
_HALF_A_PAIR: Final = literal(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\{1,8}u[dD][c-fC-F])"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\{0,7})\\u[dD][c-fC-F]"
)
_HALF_A_PAIR_OF_LOGS: Final = literal(  # in the envelope itself; its lines are looked at apart
    r"(?<!\\)(\\\\)*(\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F])"
)
_ESCAPED: Final = literal(r"\u")
# A text that closes the array around it, and opens another: what follows would not be read.
_CLOSES: Final = literal(r"\}\s*\]")
_EARLIEST_MS: Final = 946_684_800_000  # 2000; an earlier or later time is none, or in other units
_LATEST_MS: Final = 4_102_444_800_000  # 2100
_DAY_MS: Final = 86_400_000
_CLOCKS_DIFFER_MS: Final = 3_600_000
_STORED_BYTES: Final = 2048
_NUMBERS: Final = 2  # f1 and f2
_SHOWN: Final = 500  # characters of what a record says

_BATCH: Final = "messageType:string,logEvents:array<struct<message:string>>"
_TEXTS: Final = (
    "message_id", "sqs_message_id", "end", "reason", "fingerprint", "status", "outcome", "error",
    "appointment_id", "event", "decision", "note", "decided_by",
)  # fmt: skip
_ITEM: Final = (
    "struct<message_id:struct<S:string>,appointment_id:struct<S:string>,booked_at:struct<S:string>>"
)
_EVENT: Final = (
    "struct<name:string,status:string,startDate:bigint,stopDate:bigint,redriveDate:bigint,"
    "input:string,output:string,error:string>"
)
_SCHEMA: Final = ",".join(
    (
        *(f"{name}:string" for name in ("stream", "version", "at", "effect_id", *_TEXTS)),
        f"`detail-type`:string,detail:{_EVENT}",
        f"Item:{_ITEM},NewImage:{_ITEM},Keys:{_ITEM}",
    )
)
"""Every stream's lines, plain and in their envelopes; fields not named are not read."""


def text_records(lines: DataFrame, streams: Iterable[str] = STREAMS) -> DataFrame:
    """The records of lines; which stream's a line is, its file's folder says.

    Args:
        lines: see `lines.plain_lines`.
        streams: those that there are.

    Returns:
        `stream`, `file`, `line`, `text`, `problem` (null: a good record), `message_id` (null where
        the record tells none), `at` (long, ms), `code`, `f1` and `f2` (longs: a delivery's
        fingerprint, an effect's identity), `what` (a few words for a person) and `sqs_message_id`
        (null where the record tells none).
    """
    # Exploded, because no filter goes below that: it would parse the line again, and again. Outer:
    # otherwise Spark asks, below, whether there are any, and makes them for that.
    plain = (
        lines.selectExpr(
            *("file", "line", "text", f"{STREAM} AS stream", f"{_PROBLEM_OF_LINE} AS problem"),
            f"{_parsed('text')} AS objects",
        )
        .selectExpr("file", "line", "stream", f"inline_outer({_PIECES})")
        .where("text IS NOT NULL AND NOT (problem IS NULL AND book)")
    )
    return _records(plain, _of_any_stream(streams))


def _stored(message_id: str) -> str:
    """A message id as every other record has it: itself, or its hash beyond a key's length."""
    return (
        f"CASE WHEN octet_length({message_id}) <= {_STORED_BYTES} "
        f"AND NOT rlike({message_id}, {_HASHED_ID}) THEN {message_id} "
        f"ELSE concat('sha256-', sha2({message_id}, 256)) END"
    )


def _milliseconds(text: str) -> str:
    return f"unix_millis(try_to_timestamp(CASE WHEN rlike({text}, {_TIME}) THEN {text} END))"


_IS_ITEM: Final = "stream = 'effects' AND one.r.stream IS NULL"
_IS_EVENT: Final = "stream = 'executions' AND one.r.`detail-type` IS NOT NULL"
_AN_ITEM: Final = "coalesce(one.r.Item, one.r.NewImage)"
_TOLD_ID: Final = "get_json_object(one.r.detail.input, '$.message_id')"
_OF_EVENTS: Final = {
    "at": "CASE WHEN one.r.detail.status = 'RUNNING' "
    "THEN coalesce(one.r.detail.redriveDate, one.r.detail.startDate) "
    "ELSE one.r.detail.stopDate END",
    # Without its input an event still tells the id: the execution is named by it, or by its hash.
    "message_id": f"coalesce({_stored(_TOLD_ID)}, "
    "CASE WHEN one.r.detail.input IS NULL THEN one.r.detail.name END)",
    "status": "one.r.detail.status",
    "outcome": "get_json_object(one.r.detail.output, '$.outcome')",
    "error": "one.r.detail.error",
    "problem": "CAST(NULL AS string)",
}
_OF_ITEMS: Final = {
    "at": _milliseconds(f"{_AN_ITEM}.booked_at.S"),
    "message_id": f"{_AN_ITEM}.message_id.S",
    "appointment_id": f"{_AN_ITEM}.appointment_id.S",
    "problem": f"CASE WHEN {_AN_ITEM} IS NULL AND one.r.Keys IS NOT NULL THEN 'deleted_effect' "
    f"WHEN {_AN_ITEM} IS NULL THEN 'not_a_record' END",
}
_OF_PLAIN: Final = {
    "at": _milliseconds("one.r.at"),
    # The stack's own column is of the example; an effect of another table has a name of its own, or
    # none: a table with one row per message.
    "appointment_id": "coalesce(one.r.effect_id, one.r.appointment_id, "
    "CASE stream WHEN 'effects' THEN '' END)",
    "problem": "CASE WHEN one.r.stream IS NULL OR one.r.stream != stream THEN 'not_a_record' "
    f"WHEN one.r.version IS NULL OR one.r.version != '{KNOWN_VERSION}' THEN 'unknown_version' "
    "WHEN one.r.at IS NULL THEN 'missing_field' END",
}
"""Columns of a plain record that are not simply its field."""


def _told(name: str) -> str:
    """A column of the plain record `one.r`, out of whichever envelope; `at` in ms."""
    cases = [
        f"WHEN {is_one} THEN {values[name]}"
        for is_one, values in ((_IS_EVENT, _OF_EVENTS), (_IS_ITEM, _OF_ITEMS))
        if name in values
    ]
    plain = _OF_PLAIN.get(name, f"one.r.`{name}`")
    return f"CASE {' '.join(cases)} ELSE {plain} END" if cases else plain


_BOOK: Final = (
    f"{_IS_ITEM} AND startswith(coalesce({_AN_ITEM}.appointment_id.S, "
    "one.r.Keys.appointment_id.S), 'book-')"
)
"""The table also holds the practices' books, which are no effects."""


def _alone(text: str) -> str:
    """Whether what Spark reads of a text, as `_parsed` has it, is all of it.

    Of what follows the first value Spark says nothing: of a bare text it forgets another object,
    of one in an array what follows a bracket. Nothing but one object is well in an array and, here,
    as an object's value.
    """
    return f"coalesce(size(json_object_keys(concat('{{\"x\":', {text}, '}}'))) = 1, false)"


def _parsed(text: str, fields: str = _SCHEMA) -> str:
    """The objects in a text; in an array, see `_alone`."""
    return f"from_json(concat('[', {text}, ']'), {literal(f'array<struct<{fields}>>')})"


def _single(text: str, fields: str = _SCHEMA) -> str:
    """An array with the one object of a text, or with null."""
    parsed = f"filter(array({_parsed(text, fields)}), objects -> size(objects) = 1)"
    return f"coalesce(get({parsed}, 0), array(NULL))"


# The log lines in a Logs subscription's batch; a control message has none.
_UNWRAPPED: Final = f"""
    CASE WHEN contains(one, {_LOGS}) AND {_alone("one")} THEN
        get(transform({_single("one", _BATCH)}, batch ->
            CASE WHEN batch.messageType = 'CONTROL_MESSAGE' THEN CAST(array() AS array<string>)
            WHEN batch.messageType = 'DATA_MESSAGE' AND batch.logEvents IS NOT NULL
                THEN transform(batch.logEvents, event -> coalesce(event.message, '{{}}'))
            ELSE array(one) END), 0)
    ELSE array(one) END
"""

_IDS_OF_ITEMS: Final = ", ".join(
    f"one.r.{item}.{name}.S"
    for item in ("Item", "NewImage")
    for name in ("message_id", "appointment_id")
)
_IDS: Final = f"""
    concat_ws('',
        one.r.message_id, one.r.sqs_message_id, one.r.fingerprint, {_IDS_OF_ITEMS},
        CASE WHEN one.r.detail.input IS NOT NULL
            THEN coalesce(get_json_object(one.r.detail.input, '$.message_id'), '?') END)
"""
"""What tells one message, delivery, content or effect from another."""

_MALFORMED: Final = f"""
    CASE WHEN one.r IS NULL OR NOT (startswith(one.text, '{{') AND endswith(one.text, '}}'))
        THEN 'corrupt_line'
    WHEN contains(one.text, ']') AND rlike(one.text, {_CLOSES}) AND NOT {_alone("one.text")}
        THEN 'corrupt_line'
    WHEN rlike(one.text, {_NOT_TEXT}) THEN 'wrong_type'
    WHEN contains(one.text, {_ESCAPED}) AND rlike(one.text, {_HALF_A_PAIR})
        AND contains({_IDS}, '?')
        THEN 'not_utf8' END
"""


_PROBLEM_OF_LINE: Final = f"""
    coalesce(problem, CASE WHEN NOT is_valid_utf8(text) THEN 'not_utf8'
        WHEN contains(text, {_LOGS}) AND contains(text, {_ESCAPED})
            AND rlike(text, {_HALF_A_PAIR_OF_LOGS}) THEN 'not_utf8' END)
"""
"""Two ids that differ in bytes that are no UTF-8 only would be one."""

_ORDINARY: Final = f"""
    problem IS NOT NULL OR (size(objects) = 1 AND startswith(text, '{{') AND endswith(text, '}}')
        AND NOT contains(text, {_LOGS}))
"""
_PIECES: Final = f"""
    transform(
        CASE WHEN {_ORDINARY} THEN array(struct(text, get(objects, 0) AS r))
        ELSE transform(
            filter(
                transform(
                    flatten(transform(split(text, {_SEAM}), one -> {_UNWRAPPED})),
                    one -> btrim(one, ' \t\r\n')
                ),
                one -> one != ''
            ),
            one -> struct(one AS text, get({_single("one")}, 0) AS r)
        ) END,
        one -> struct(
            one.text AS text,
            coalesce(problem, {_MALFORMED}, {_told("problem")}) AS problem,
            {", ".join(f"{_told(name)} AS `{name}`" for name in ("at", *_TEXTS))},
            coalesce({_BOOK}, false) AS book
        )
    )
"""
"""The objects of a line: nearly always the one that it is. Else seams are cut, and Logs' batches
opened. A log line keeps its line feed inside the batch."""


@dataclass(frozen=True, slots=True)
class _Told:
    """What a record tells, as SQL over its plain form.

    Attributes:
        code: one of `Code`; null: a value that nobody knows.
        what: a few words for a person.
        message_id: null if it tells none.
        problem: null: it has none.
        numbers: `f1` and `f2`; those left out are null.
    """

    code: str
    what: str
    message_id: str = "message_id"
    problem: str = "CASE WHEN message_id IS NULL THEN 'missing_field' END"
    numbers: tuple[str, ...] = ()

    def number(self, index: int) -> str:
        """`f1` or `f2`, counted from 0."""
        return self.numbers[index] if index < len(self.numbers) else "CAST(NULL AS bigint)"


def _records(plain: DataFrame, told: _Told) -> DataFrame:
    """Codes and numbers; every record without a code has a problem."""
    # What arrived on a day happened before its end.
    latest = (
        f"coalesce(unix_date(try_cast({DAY} AS date)) * {_DAY_MS}L "
        f"+ {_DAY_MS + _CLOCKS_DIFFER_MS}, {_LATEST_MS})"
    )
    possible = f"(at >= {_EARLIEST_MS} AND at < {latest})"
    # In steps, each a column of its own: written into each other, the code would stand in every
    # column some twenty times over, and Spark would plan, and work out, every one.
    coded = plain.selectExpr("*", f"CASE WHEN problem IS NULL THEN {told.code} END AS code")
    without = (
        f"CASE WHEN at IS NULL THEN 'wrong_type' WHEN NOT {possible} THEN 'impossible_time' "
        "WHEN code IS NULL THEN 'unknown_value' END"
    )
    sorted_out = coded.withColumn(
        "problem", F.expr(f"coalesce(problem, {told.problem}, {without})")
    )
    return sorted_out.selectExpr(
        *("stream", "file", "line", "text", "problem"),
        f"CASE WHEN problem IS NULL THEN {told.message_id} END AS message_id",
        "CASE WHEN problem IS NULL THEN at END AS at",
        f"CASE WHEN problem IS NULL THEN code ELSE {int(Code.QUARANTINED)} END AS code",
        *(
            f"CASE WHEN problem IS NULL THEN {told.number(index)} END AS f{index + 1}"
            for index in range(_NUMBERS)
        ),
        f"substring({told.what}, 1, {_SHOWN}) AS what",
        "sqs_message_id",
    )


def _of_any_stream(streams: Iterable[str]) -> _Told:
    told_by = {stream: _TOLD[stream] for stream in streams}

    def chosen(part: Callable[[_Told], str]) -> str:
        cases = (f"WHEN '{stream}' THEN {part(told)}" for stream, told in told_by.items())
        return f"CASE stream {' '.join(cases)} END"

    return _Told(
        code=chosen(lambda told: told.code),
        what=chosen(lambda told: told.what),
        message_id=chosen(lambda told: told.message_id),
        problem=chosen(lambda told: told.problem),
        numbers=tuple(chosen(methodcaller("number", index)) for index in range(_NUMBERS)),
    )


def _case(*cases: tuple[str, Code | str]) -> str:
    """The code of the first condition that holds, each with its code, or with SQL that tells it."""
    told = (
        f"WHEN {condition} THEN {int(code) if isinstance(code, Code) else code}"
        for condition, code in cases
    )
    return f"CASE {' '.join(told)} END"


_REFUSED: Final = ", ".join(f"'{reason}', {int(code)}" for reason, code in REFUSED.items())


# A message without an id of its own is known by SQS's.
_OR_SQS_ID: Final = "coalesce(message_id, concat('sqs:', sqs_message_id))"
_ACCEPTED: Final = "`end` IN ('started', 'suppressed')"

_TOLD: Final = {
    "sent": _Told(
        code=str(int(Code.SENT)),
        what="'accepted by SQS'",
        message_id=_OR_SQS_ID,
        problem=f"CASE WHEN {_OR_SQS_ID} IS NULL THEN 'missing_field' END",
    ),
    "deliveries": _Told(
        # Of many values a map: as many cases are code that Spark does not compile whole.
        code=_case(
            ("`end` = 'started'", Code.STARTED),
            ("`end` = 'suppressed'", Code.SUPPRESSED),
            ("`end` = 'refused'", f"try_element_at(map({_REFUSED}), reason)"),
            ("`end` = 'failed'", Code.FAILED),
        ),
        what="concat_ws(' ', `end`, reason)",
        message_id=_OR_SQS_ID,
        problem=f"""
            CASE WHEN `end` IS NULL THEN 'missing_field'
            WHEN {_ACCEPTED} AND (message_id IS NULL OR fingerprint IS NULL) THEN 'missing_field'
            WHEN {_ACCEPTED} AND length(fingerprint) != 64 THEN 'wrong_type'
            WHEN `end` = 'refused' AND (reason IS NULL OR {_OR_SQS_ID} IS NULL)
                THEN 'missing_field' END
        """,
        # A number for each half of what is a SHA-256: two contents that give the same two numbers
        # are as unlikely as two with the same first 128 bits, and comparing numbers is cheap.
        numbers=tuple(
            f"CASE WHEN {_ACCEPTED} THEN xxhash64(substring(fingerprint, {start}, 32)) END"
            for start in (1, 33)
        ),
    ),
    "executions": _Told(
        code=_case(
            ("status = 'RUNNING'", Code.RUNNING),
            ("status = 'SUCCEEDED' AND outcome = 'resolved'", Code.CLOSED_RESOLVED),
            ("status = 'SUCCEEDED' AND outcome = 'performed'", Code.CLOSED_PERFORMED),
            ("status = 'SUCCEEDED'", Code.CLOSED_FOUND),
            (f"status = 'FAILED' AND error = '{OPERATOR_REJECTED}'", Code.CLOSED_REJECTED),
            ("status IN ('FAILED', 'TIMED_OUT', 'ABORTED')", Code.CLOSED_FAILED),
        ),
        what="concat_ws(' ', status, outcome, error)",
        problem="CAST(NULL AS string)",  # somebody started it by hand, for no message
    ),
    "rows": _Told(
        code=_case(
            ("status = 'IN_PROGRESS'", Code.ROW_IN_PROGRESS),
            ("status = 'COMPLETE' AND outcome = 'dead_letter'", Code.ROW_DEAD_LETTER),
            ("status = 'COMPLETE' AND outcome = 'rejected'", Code.CLOSED_REJECTED),
            ("status = 'COMPLETE' AND outcome = 'resolved'", Code.CLOSED_RESOLVED),
            ("status = 'COMPLETE' AND outcome = 'found'", Code.CLOSED_FOUND),
            ("status = 'COMPLETE' AND outcome = 'performed'", Code.CLOSED_PERFORMED),
        ),
        what="concat_ws(' ', status, outcome)",
    ),
    "effects": _Told(
        code=str(int(Code.EFFECT)),
        what="CASE WHEN appointment_id = '' THEN 'an effect' ELSE appointment_id END",
        problem="CASE WHEN message_id IS NULL OR appointment_id IS NULL THEN 'missing_field' END",
        # Compared inside one message only: is this the same effect, exported again? Without a name
        # of its own there is no telling, and no number.
        numbers=("CASE WHEN appointment_id != '' THEN xxhash64(appointment_id) END",),
    ),
    "dead_letters": _Told(
        code=_case(
            ("event = 'posted'", Code.POSTED),
            ("event = 'decided' AND decision IN ('retry', 'perform')", Code.DECIDED_RETRY),
            ("event = 'decided' AND decision = 'resolve'", Code.DECIDED_RESOLVE),
            ("event = 'decided' AND decision = 'reject'", Code.DECIDED_REJECT),
        ),
        what="concat_ws(' ', event, decision, reason, error, note, decided_by)",
    ),
}
