"""From lines to rows: what each record says of its message, or what is wrong with it.

A line is a plain record, or AWS's envelope around it: a Logs subscription's batch of lines, an
EventBridge event, an item of a DynamoDB export. Firehose may put several on one line.
"""

from collections.abc import Callable
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from pipeline.layout import file_path
from pipeline.streams import COLUMNS, KNOWN_VERSION, OPERATOR_REJECTED, REFUSED, Code

# Where one object ends and the next begins. Inside a JSON string no quotation mark is bare, and
# after a string's end no letter follows, so this is never inside a record.
_SEAM: Final = r'(?<=\})\s*(?=\{\s*"[A-Za-z][A-Za-z_-]*"\s*:)'
_LOGS: Final = '"logEvents"'  # no plain record has it: in a string its quotes are escaped
_TIME: Final = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|\+00:00)$"
# Where the schema says string, Spark takes a number or an object for its text.
_NOT_TEXT: Final = (
    r'"(stream|at|message_id|sqs_message_id|fingerprint|end|reason|execution_name|status|event'
    r'|decision|S)"\s*:\s*[-\d\[tf]'
)
_HASHED_ID: Final = r"^sha256-[0-9a-f]{64}$"
_STORED_BYTES: Final = 2048

_ITEM: Final = (
    "struct<message_id:struct<S:string>,appointment_id:struct<S:string>,booked_at:struct<S:string>>"
)
SCHEMAS: Final = {
    "sent": "stream:string,version:string,at:string,message_id:string,sqs_message_id:string",
    "deliveries": "stream:string,version:string,at:string,end:string,reason:string,"
    "message_id:string,fingerprint:string,sqs_message_id:string",
    "executions": "stream:string,version:string,at:string,execution_name:string,message_id:string,"
    "status:string,outcome:string,error:string,`detail-type`:string,"
    "detail:struct<name:string,status:string,startDate:bigint,stopDate:bigint,redriveDate:bigint,"
    "input:string,output:string,error:string>",
    "effects": f"Item:{_ITEM},NewImage:{_ITEM},Keys:{_ITEM}",
    "dead_letters": "stream:string,version:string,at:string,message_id:string,event:string,"
    "reason:string,error:string,decision:string,note:string,decided_by:string",
}
"""Every stream's lines, plain and in their envelopes; fields not named are not read."""


def text_records(lines: DataFrame, stream: str) -> DataFrame:
    """The records of one stream's lines.

    Returns:
        `stream`, `file`, `line`, `text`, `problem` (null: a good record), `message_id` (null where
        the record tells none), `at` (long, ms), `code`, `f1` to `f4` (longs: a delivery's
        fingerprint, an effect's identity) and `what` (a few words for a person).
    """
    parsed = (
        _single_objects(lines)
        .select(
            "file",
            "line",
            "text",
            "problem",
            # In an array: of a bare text Spark reads the first object and forgets what follows.
            F.from_json(
                F.concat(F.lit("["), "text", F.lit("]")), f"array<struct<{SCHEMAS[stream]}>>"
            ).alias("objects"),
        )
        .select(
            "file",
            "line",
            "text",
            F.coalesce("problem", _malformed(F.col("text"), F.col("objects"))).alias("problem"),
            F.get("objects", F.lit(0)).alias("r"),
        )
    )
    return _records(_plain(parsed, stream), stream)


def parquet_schema(stream: str) -> str:
    """The columns of a stream's Parquet files; one that a file lacks is null in its rows.

    Told to Spark, so that it neither reads a footer to find them nor takes one file's for all.
    """
    return ", ".join(
        f"{name} {'timestamp' if name == 'at' else 'string'}" for name in COLUMNS[stream]
    )


def parquet_records(table: DataFrame, stream: str, *, located: bool) -> DataFrame:
    """The records of a Parquet table with the columns of `parquet_schema`; see `text_records`.

    Effects are flat here: `message_id`, `appointment_id`, `at`.

    Args:
        table: the rows.
        stream: whose they are.
        located: `file` is wanted. Spark makes up a file's every property for every row as soon as
            one is asked for, and not every Spark Connect server can; without, it is null.
    """
    nothing = F.lit(None).cast("string")
    plain = table.select(
        F.unix_millis("at").alias("at"),
        *(name for name in COLUMNS[stream] if name != "at"),
        file_path() if located else nothing.alias("file"),
        F.lit(None).cast("long").alias("line"),
        nothing.alias("text"),
        nothing.alias("problem"),
    )
    return _records(plain, stream)


def _single_objects(lines: DataFrame) -> DataFrame:
    """One row per object: seams cut, and Logs' batches opened."""
    text = F.col("text")
    simple = ~text.contains("}{") & ~text.rlike(r"\}\s+\{") & ~text.contains(_LOGS)
    objects = F.when(
        text.isNull() | F.col("problem").isNotNull() | simple, F.array(text)
    ).otherwise(F.flatten(F.transform(F.split(text, _SEAM), _unwrapped)))
    # A log line keeps its line feed inside the batch.
    bare = F.btrim("text", F.lit(" \t\r\n"))
    pieces = lines.select("file", "line", "problem", F.explode(objects).alias("text")).select(
        "file", "line", "problem", bare.alias("text")
    )
    return pieces.where(F.col("problem").isNotNull() | (F.length("text") > 0))


def _unwrapped(text: Column) -> Column:
    """The log lines in a Logs subscription's batch; a control message has none."""
    batch = F.from_json(text, "struct<messageType:string,logEvents:array<struct<message:string>>>")
    inside = F.transform(batch["logEvents"], lambda event: event["message"])
    return F.when(
        text.contains(_LOGS) & text.endswith("}"),
        F.when(batch["messageType"] == "CONTROL_MESSAGE", F.array().cast("array<string>"))
        .when((batch["messageType"] == "DATA_MESSAGE") & batch["logEvents"].isNotNull(), inside)
        .otherwise(F.array(text)),
    ).otherwise(F.array(text))


def _malformed(text: Column, objects: Column) -> Column:
    whole = text.startswith("{") & text.endswith("}") & (F.size(objects) == 1)
    return F.when(~F.coalesce(whole, F.lit(False)), "corrupt_line").when(
        text.rlike(_NOT_TEXT), "wrong_type"
    )


def _plain(parsed: DataFrame, stream: str) -> DataFrame:
    """The plain record's columns, out of whichever envelope; `at` in ms."""
    r = F.col("r")
    if stream == "effects":
        return _plain_effects(parsed)
    values: dict[str, Column] = {name: r[name] for name in COLUMNS[stream]}
    values["at"] = _milliseconds(r["at"])
    event = F.lit(False)
    if stream == "executions":
        event = r["detail-type"].isNotNull()
        values = _execution(r, values, event)
    problem = F.when(~event, _header_problem(r, stream))
    return parsed.select(
        "file",
        "line",
        "text",
        F.coalesce("problem", problem).alias("problem"),
        *(value.alias(name) for name, value in values.items()),
    )


def _plain_effects(parsed: DataFrame) -> DataFrame:
    r = F.col("r")
    item = F.coalesce(r["Item"], r["NewImage"])
    # The table also holds the practices' books, which are no effects.
    key = F.coalesce(item["appointment_id"]["S"], r["Keys"]["appointment_id"]["S"])
    problem = F.when(item.isNull() & r["Keys"].isNotNull(), "deleted_effect").when(
        item.isNull(), "not_a_record"
    )
    return parsed.where(
        F.col("problem").isNotNull() | key.isNull() | ~key.startswith("book-")
    ).select(
        "file",
        "line",
        "text",
        F.coalesce("problem", problem).alias("problem"),
        _milliseconds(item["booked_at"]["S"]).alias("at"),
        item["message_id"]["S"].alias("message_id"),
        item["appointment_id"]["S"].alias("appointment_id"),
    )


def _execution(r: Column, plain: dict[str, Column], event: Column) -> dict[str, Column]:
    detail = r["detail"]
    message_id = F.get_json_object(detail["input"], "$.message_id")
    # Without its input an event still tells the id, if the execution is named by the id itself.
    of_name = F.when(~detail["name"].rlike(_HASHED_ID), detail["name"])
    at = F.when(
        detail["status"] == "RUNNING", F.coalesce(detail["redriveDate"], detail["startDate"])
    ).otherwise(detail["stopDate"])
    return {
        "at": F.when(event, at).otherwise(plain["at"]),
        "message_id": F.when(event, F.coalesce(_stored(message_id), of_name)).otherwise(
            plain["message_id"]
        ),
        "status": F.when(event, detail["status"]).otherwise(plain["status"]),
        "outcome": F.when(event, F.get_json_object(detail["output"], "$.outcome")).otherwise(
            plain["outcome"]
        ),
        "error": F.when(event, detail["error"]).otherwise(plain["error"]),
    }


def _stored(message_id: Column) -> Column:
    """A message id as every other record has it: itself, or its hash beyond a key's length."""
    as_it_is = (F.octet_length(message_id) <= _STORED_BYTES) & ~message_id.rlike(_HASHED_ID)
    return F.when(as_it_is, message_id).otherwise(
        F.concat(F.lit("sha256-"), F.sha2(message_id, 256))
    )


def _header_problem(r: Column, stream: str) -> Column:
    return (
        F.when(r["stream"].isNull() | (r["stream"] != stream), "not_a_record")
        .when(r["version"].isNull() | (r["version"] != KNOWN_VERSION), "unknown_version")
        .when(r["at"].isNull(), "missing_field")
    )


def _milliseconds(text: Column) -> Column:
    return F.unix_millis(F.try_to_timestamp(F.when(text.rlike(_TIME), text)))


def _records(plain: DataFrame, stream: str) -> DataFrame:
    """Codes and numbers; every record without a code has a problem."""
    told = _TOLD[stream]()
    # In steps, each a column of its own: written into each other, the code would stand in every
    # column some twenty times over, and Spark would plan, and work out, every one.
    coded = plain.withColumn("code", F.when(F.col("problem").isNull(), told.code))
    without = F.when(F.col("at").isNull(), "wrong_type").when(
        F.col("code").isNull(), "unknown_value"
    )
    sorted_out = coded.withColumn("problem", F.coalesce("problem", told.problem, without))
    good = F.col("problem").isNull()
    return sorted_out.select(
        F.lit(stream).alias("stream"),
        "file",
        "line",
        "text",
        "problem",
        F.when(good, told.message_id).alias("message_id"),
        F.when(good, F.col("at")).alias("at"),
        F.when(good, F.col("code"))
        .otherwise(F.lit(int(Code.QUARANTINED)))
        .cast("int")
        .alias("code"),
        *(F.when(good, number).alias(f"f{index}") for index, number in enumerate(told.numbers, 1)),
        told.what.alias("what"),
    )


class _Told:
    """What a stream's record tells, as columns over its plain form."""

    def __init__(
        self,
        code: Column,
        what: Column,
        *,
        message_id: Column | None = None,
        numbers: list[Column] | None = None,
        problem: Column | None = None,
    ) -> None:
        self.code = code
        self.what = what
        self.message_id = F.col("message_id") if message_id is None else message_id
        nothing = F.lit(None).cast("long")
        self.numbers = (numbers or []) + [nothing] * (4 - len(numbers or []))
        self.problem = (
            F.when(F.col("message_id").isNull(), "missing_field") if problem is None else problem
        )


def _sent() -> _Told:
    return _Told(
        F.lit(int(Code.SENT)),
        F.lit("accepted by SQS"),
        message_id=_or_sqs_id(),
        problem=F.when(
            F.col("message_id").isNull() & F.col("sqs_message_id").isNull(), "missing_field"
        ),
    )


def _deliveries() -> _Told:
    end, reason = F.col("end"), F.col("reason")
    refused = _chosen(reason, {reason: int(code) for reason, code in REFUSED.items()})
    accepted = end.isin("started", "suppressed")
    # A 64-bit hash of 8 bytes is one-to-one, so all four together are equal only if all 32 bytes
    # are: the hash is merely the quick way from bytes to a number.
    quarters = [
        F.xxhash64(F.unhex(F.substring("fingerprint", 1 + 16 * quarter, 16)))
        for quarter in range(4)
    ]
    return _Told(
        F.when(end == "started", int(Code.STARTED))
        .when(end == "suppressed", int(Code.SUPPRESSED))
        .when(end == "refused", refused)
        .when(end == "failed", int(Code.FAILED)),
        F.concat_ws(" ", end, reason),
        message_id=F.when(end != "failed", _or_sqs_id()),
        numbers=[F.when(accepted, quarter) for quarter in quarters],
        problem=F.when(end.isNull(), "missing_field")
        .when(
            accepted & (F.col("message_id").isNull() | F.col("fingerprint").isNull()),
            "missing_field",
        )
        .when(accepted & (F.length("fingerprint") != 64), "wrong_type")
        .when(
            (end == "refused")
            & (reason.isNull() | F.coalesce("message_id", "sqs_message_id").isNull()),
            "missing_field",
        ),
    )


def _executions() -> _Told:
    status, outcome = F.col("status"), F.col("outcome")
    closed_failed = F.when(
        F.col("error") == OPERATOR_REJECTED, int(Code.CLOSED_REJECTED)
    ).otherwise(int(Code.CLOSED_FAILED))
    return _Told(
        F.when(status == "RUNNING", int(Code.RUNNING))
        .when((status == "SUCCEEDED") & (outcome == "resolved"), int(Code.CLOSED_RESOLVED))
        .when(status == "SUCCEEDED", int(Code.CLOSED_PERFORMED))
        .when(status == "FAILED", closed_failed)
        .when(status.isin("TIMED_OUT", "ABORTED"), int(Code.CLOSED_FAILED)),
        F.concat_ws(" ", status, outcome, "error"),
    )


def _effects() -> _Told:
    return _Told(
        F.lit(int(Code.EFFECT)),
        F.col("appointment_id"),
        # Compared inside one message only: is this the same effect, exported again?
        numbers=[F.xxhash64("appointment_id")],
        problem=F.when(
            F.col("message_id").isNull() | F.col("appointment_id").isNull(), "missing_field"
        ),
    )


def _dead_letters() -> _Told:
    event, decision = F.col("event"), F.col("decision")
    return _Told(
        F.when(event == "posted", int(Code.POSTED))
        .when((event == "decided") & (decision == "retry"), int(Code.DECIDED_RETRY))
        .when((event == "decided") & (decision == "resolve"), int(Code.DECIDED_RESOLVE))
        .when((event == "decided") & (decision == "reject"), int(Code.DECIDED_REJECT)),
        F.concat_ws(" ", event, decision, "reason", "error", "note", "decided_by"),
    )


_TOLD: Final[dict[str, Callable[[], _Told]]] = {
    "sent": _sent,
    "deliveries": _deliveries,
    "executions": _executions,
    "effects": _effects,
    "dead_letters": _dead_letters,
}


def _or_sqs_id() -> Column:
    """A message without an id of its own is known by SQS's."""
    return F.coalesce("message_id", F.concat(F.lit("sqs:"), F.col("sqs_message_id")))


def _chosen(key: Column, values: dict[str, int]) -> Column:
    first, *rest = values.items()
    return reduce(
        lambda chain, item: chain.when(key == item[0], item[1]),
        rest,
        F.when(key == first[0], first[1]),
    )
