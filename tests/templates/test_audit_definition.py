"""The audit's state machine: its nights and slots, a run each. tests/embedded has some for real."""

import json
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import execution_records
from actonce.records import audit_package
from actonce_pipeline.audit.reading.effects import Attributes
from actonce_pipeline.audit.request import Request, parser
from tests.support import asl, audit_machine
from tests.support.snapshots import Snapshot

DAY = {"day": "2026-11-20"}
SLOT = {"day": "2026-11-20", "until": "2026-11-20T14:10:00.000Z"}
MACHINE = "arn:aws:states:us-east-1:1:stateMachine:audit"


def context(name: str, entered: str = "2026-11-21T03:00:01.500Z") -> dict[str, Any]:
    return {
        "Execution": {
            "Id": f"{MACHINE}:{name}",
            "Name": name,
            "StartTime": "2026-11-21T03:00:00.000Z",
        },
        "State": {"EnteredTime": entered},
        "StateMachine": {"Id": MACHINE},
    }


CONTEXT = context("audit-2026-11-20")
STATES: dict[str, Any] = audit_machine.definition()["States"]


def summary(
    sentence: str,
    exit_status: int,
    *,
    indent: int | None = None,
    is_news: bool = True,
    run: str = "audit-2026-11-20",
) -> dict[str, str]:
    whole = {
        "version": 1,
        "run": run,
        "exit_status": exit_status,
        "sentence": sentence,
        "generated_at": "2026-11-21T03:00:00.000Z",
        "is_news": is_news,
        "from": "2026-11-20",
        "to": "2026-11-20",
        "alarms": ["x" * 5000],
    }
    return {"Body": json.dumps(whole, ensure_ascii=False, indent=indent)[:4096]}  # the range


def found(since: str = "", *, collected: bool = False, code: bool = True) -> dict[str, Any]:
    """What the function answers of what there is."""
    told = {"executions": 7, "code": code, "collected": collected, "since": since}
    return {"StatusCode": 200, "Payload": told}


def export(status: str, **more: str) -> dict[str, Any]:
    return {"ExportDescription": {"ExportStatus": status, "ExportArn": "arn:export", **more}}


SLOT_NAME = "audit-2026-11-20T14-15"
GOOD_NIGHT: dict[str, Any] = {
    "RecordExecutions": found(),
    "ExportEffects": export("IN_PROGRESS"),
    "DescribeExport": [export("IN_PROGRESS"), export("COMPLETED")],
    "RunAudit": {},
    "ReadSummary": summary("All is well.", 0),
    "PublishOutcome": {},
    "TellOutcome": {},
}
GOOD_SLOT = GOOD_NIGHT | {
    "RecordExecutions": found("13-55"),
    "ReadSummary": summary("All is well.", 0, is_news=False, run=SLOT_NAME),
}
JOB_FAILED = RuntimeError("States.TaskFailed")  # so EMR calls every exit status but 0


# --------------------------------------------------------------------------- runs

Answers = dict[str, Any]
SAID = 'Zoë\'s "request" was acted on twice.'
NO_SUMMARY = RuntimeError("S3.NoSuchKeyException")
NOT_RECORDED = RuntimeError("TooManyExecutions")


NIGHTS: dict[str, Answers] = {
    "a good night": {},
    # A day that was exported is not exported again, and a begun one is no exported one.
    "collected": {"RecordExecutions": found(collected=True)},
    "exported": {"RecordExecutions": found("24-00")},
    "exported by a slot only": {"RecordExecutions": found("23-55")},
    # Only a job that succeeded and says so is good; each summary is read in both layouts.
    **{
        f"the job {'failed' if job is JOB_FAILED else 'succeeded'} and says {status}{layout}": {
            "RunAudit": job,
            "ReadSummary": summary(SAID, status, indent=indent),
        }
        for status, job in [
            *((0, JOB_FAILED), (1, {}), (1, JOB_FAILED)),
            *((2, JOB_FAILED), (3, JOB_FAILED), (4, JOB_FAILED)),
        ]
        for indent, layout in ((None, ""), (2, ", set in"))
    },
    "a summary that is none": {"ReadSummary": {"Body": "{}"}},
    "the job failed and left the summary of the run before": {
        "RunAudit": JOB_FAILED,
        "ReadSummary": summary("All is well.", 0, run="audit-2026-11-19"),
    },
    "the job failed and left no summary": {"RunAudit": JOB_FAILED, "ReadSummary": NO_SUMMARY},
    # Whatever fails before the outcome is published is published.
    **{
        f"{task} fails": {task: RuntimeError("SomethingNew")}
        for task in ("RecordExecutions", "ExportEffects", "DescribeExport", "ReadSummary")
    },
    # AWS's own words say which table, and what it lacks.
    **{
        f"the effects' table {name}": {"ExportEffects": RuntimeError(f"DynamoDb.{error}", cause)}
        for name, error, cause in (
            ("is gone", "TableNotFoundException", "Table not found: orders"),
            (
                "has no point-in-time recovery",
                "PointInTimeRecoveryUnavailableException",
                "Point in time recovery is not enabled for table 'orders'",
            ),
        )
    },
    # A bus that fails changes no outcome.
    **{
        f"the bus fails after {status}": {
            "ReadSummary": summary("A sentence.", status),
            "TellOutcome": RuntimeError("EventBridge.FailedEntry"),
        }
        for status in (0, 1)
    },
    # Without its code nothing is exported or started.
    "no code": {"RecordExecutions": found(code=False)},
    "the export failed": {"DescribeExport": export("FAILED", FailureMessage="No such bucket")},
    "the export failed without a reason": {"DescribeExport": export("FAILED")},
    # A day whose executions were not recorded is no good one.
    **{
        f"executions were not recorded, the audit says {status}": {
            "RecordExecutions": NOT_RECORDED,
            "ReadSummary": summary("All is well.", status),
        }
        for status in (0, 1, 2)
    },
}

SLOTS: dict[str, Answers] = {
    "a good slot": {},
    # People are told what the last run did not tell.
    **{
        f"an exit status of {status}{', which is news' if is_news else ''}": {
            "ReadSummary": summary("", status, indent=indent, is_news=is_news, run=SLOT_NAME)
        }
        for status, is_news, indent in (
            *((0, True, None), (1, True, 1), (1, False, None), (3, True, None), (3, False, 1)),
        )
    },
    # One that was not audited, or lacks executions, fails for the alarm to tell.
    "the export failed": {"DescribeExport": export("FAILED")},
    "not audited": {"ReadSummary": summary("", 2, run=SLOT_NAME)},
    "executions were not recorded": {"RecordExecutions": NOT_RECORDED},
    # It exports what no export has; what was left out by slots before is made up for.
    **{
        f"exported until {until}": {"RecordExecutions": found(until)}
        for until in ("13-55", "09-10", "14-03")  # the last is less than DynamoDB exports
    },
    # What may be missing of yesterday, too.
    "the first one of the day": {"RecordExecutions": found()},
}

SCHEDULES: dict[str, tuple[dict[str, str], str]] = {
    "each night": ({"scheduled": "2026-03-01T03:00:00Z"}, "2026-03-01T03:00:01.500Z"),
    "in time": ({"scheduled": "2026-11-20T14:15:00Z"}, "2026-11-20T14:15:21.042Z"),
    # The slot at midnight is yesterday's last.
    "at midnight": ({"scheduled": "2026-11-21T00:00:00Z"}, "2026-11-21T00:00:09.000Z"),
    # Of a time that is not yet nobody can say that all was handed over.
    "too early": ({"scheduled": "2027-01-01T00:00:00Z"}, "2026-11-20T14:15:59.999Z"),
    "late": ({"scheduled": "2026-11-20T14:15:00Z"}, "2026-11-20T16:02:00.000Z"),
}
"""What the schedule gives, and when."""


def run(data: Any, answers: Answers, name: str, entered: str = "2026-11-21T03:00:01.500Z") -> Any:
    return asl.run(audit_machine.definition(), data, answers, context(name, entered))


def shown(ended: asl.Run) -> list[str]:
    """What a run does and tells: the states but choices, the export, the outcome, the end."""
    lines = [" ".join(name for name in ended.states if STATES[name]["Type"] != "Choice")]
    if exporting := ended.arguments.get("ExportEffects"):
        lines.append("exports {} to {} into {}".format(*window(exporting), exporting["S3Prefix"]))
    if telling := ended.arguments.get("TellOutcome"):
        ((entry,), outcome) = telling["Entries"], ended.outputs["TellOutcome"]
        assert (entry["Source"], entry["DetailType"]) == ("actonce", "Day Audited")
        event = entry["Detail"]
        same = {name: outcome[name] for name in ("day", "exit_status", "sentence")}
        assert event == {"version": 1, "stack": "audit", "until": event["until"]} | same
        lines.append(f"event: {event['exit_status']}, until {event['until']}")
        lines += str(event["sentence"]).split("\n")
        if mail := ended.arguments.get("PublishOutcome"):
            assert ended.outputs["PublishOutcome"] == outcome
            assert len(mail["Subject"]) < 100  # SNS
            page = "actonce audit page s3://audit/audit/"
            assert mail["Message"] == f"{outcome['sentence']}\n\n{page}"
            lines.append(f"mail: {mail['Subject']}")
    return [*lines, f"ends: {ended.error or 'well'}"]


def test_each_run_does_and_tells_what_is_reviewed(snapshot: Snapshot) -> None:
    nights = {name: run(DAY, GOOD_NIGHT | one, "audit-2026-11-20") for name, one in NIGHTS.items()}
    slots = {name: run(SLOT, GOOD_SLOT | one, SLOT_NAME) for name, one in SLOTS.items()}
    lines = []
    for kind, runs in (("night", nights), ("slot", slots)):
        for name, ended in runs.items():
            lines += [f"{kind}: {name}\n", *(f"    {one}\n" for one in shown(ended))]
    for name, (data, entered) in SCHEDULES.items():
        started = run(data, {"StartDay": {}}, "any", entered).arguments["StartDay"]
        lines += [f"schedule: {name}\n", f"    {json.dumps(started)}\n"]
    for ended in (nights["a good night"], slots["a good slot"]):
        lines.append("the calls of a good one\n")
        for task, arguments in ended.arguments.items():
            told = json.dumps(arguments, ensure_ascii=False, sort_keys=True)
            lines.append(f"    {task} {told}\n")
    snapshot("audit_runs.txt", "".join(lines))


def test_without_a_table_nothing_is_exported() -> None:
    without = audit_machine.definition(EffectsTableArn="arn:aws:dynamodb:eu-west-1:1:table/")
    ended = asl.run(without, DAY, GOOD_NIGHT, CONTEXT)
    assert not {"ExportEffects", "DescribeExport"} & set(ended.states)
    assert "RunAudit" in ended.states


def test_a_long_sentence_hides_no_exit_status() -> None:
    answers = GOOD_NIGHT | {"RunAudit": JOB_FAILED, "ReadSummary": summary("x" * 5000, 3)}
    assert run(DAY, answers, "audit-2026-11-20").outputs["TellOutcome"]["exit_status"] == 3


def test_an_export_is_awaited_for_three_hours() -> None:
    in_time = run(DAY, GOOD_NIGHT, "audit-2026-11-20", "2026-11-21T05:59:59.000Z")
    assert "RunAudit" in in_time.states
    too_late = run(DAY, GOOD_NIGHT, "audit-2026-11-20", "2026-11-21T06:00:00.000Z")
    assert too_late.error == "NotAudited"
    assert "did not end within three hours" in too_late.arguments["PublishOutcome"]["Message"]


def window(exporting: Any) -> tuple[str, str]:
    """From when to when effects are exported."""
    asked_for = exporting["IncrementalExportSpecification"]
    return asked_for["ExportFromTime"], asked_for["ExportToTime"]


# --------------------------------------------------------------------------- the text


def test_every_task_but_the_last_word_is_caught_whatever_it_raises() -> None:
    caught = {
        name: [one["ErrorEquals"] for one in state.get("Catch", [])]
        for name, state in STATES.items()
        if state["Type"] == "Task"
    }

    assert caught.pop("PublishOutcome") == []  # an outcome that cannot be told fails the execution
    assert caught.pop("StartDay") == [["StepFunctions.ExecutionAlreadyExistsException"]]
    assert list(caught.values()) == [[["States.ALL"]]] * len(caught)


def test_only_what_another_try_may_mend_is_tried_again() -> None:
    never, again = STATES["RecordExecutions"]["Retry"]
    raised = {
        error.__name__
        for error in (
            execution_records.TooManyExecutions,
            execution_records.OutOfTime,
            execution_records.UnreadableRecords,
        )
    }

    assert (set(never["ErrorEquals"]), never["MaxAttempts"]) == (raised, 0)
    assert again["ErrorEquals"] == ["States.TaskFailed"]


# --------------------------------------------------------------------------- the schedule


@pytest.mark.parametrize(
    "data", [{"scheduled": "2026-11-21T03:00:00Z"}, {"scheduled": "2026-11-21T03:15:00Z"}]
)
def test_the_schedule_that_fires_twice_is_suppressed_by_the_executions_name(
    data: dict[str, str],
) -> None:
    exists = "StepFunctions.ExecutionAlreadyExistsException"
    answers = {"StartDay": RuntimeError(exists)}

    ended = asl.run(audit_machine.definition(), data, answers, CONTEXT)

    assert (ended.error, ended.states[-1]) == ("", "Done")
    assert STATES["StartDay"]["Retry"][0] == {"ErrorEquals": [exists], "MaxAttempts": 0}


@pytest.mark.parametrize("data", [{}, {"slot": "2026-11-21T14:15:00Z"}, {"day": "yesterday"}])
def test_without_a_day_and_a_time_nothing_is_started(data: dict[str, str]) -> None:
    assert run(data, {}, "by-hand").states == ["Day?", "Failed"]
    assert "names no day" in asl.evaluate(STATES["Failed"]["Cause"], input=data)


# --------------------------------------------------------------------------- what is asked for


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 1435), st.booleans()), unique_by=lambda one: one[0]))
def test_whatever_slots_fail_the_exports_that_ended_leave_no_gap(
    slots: list[tuple[int, bool]],
) -> None:
    """From the first of them on; each of at least 15 minutes, and no more than 24 hours."""
    since, covered = "", None
    for minute, ends in sorted(slots):
        end = f"{minute // 60:02}-{minute % 60:02}"
        known = {"until": f"2026-11-20T{end.replace('-', ':')}:00.000Z", "end": end}
        left = asl.evaluate(
            STATES["RecordExecutions"]["Output"], known, input=DAY, result=found(since)
        )
        exporting = asl.evaluate(STATES["ExportEffects"]["Arguments"], known, input=left)
        begin, until = map(datetime.fromisoformat, window(exporting))
        assert timedelta(minutes=15) <= until - begin <= timedelta(days=1)
        assert covered is None or begin <= covered
        since, covered = (end, until) if ends else (since, covered)


def test_what_is_exported_is_under_the_key_that_holds_the_rest() -> None:
    key = "arn:aws:kms:us-east-1:1:key/k"
    for arn, expected in (
        ("", {"S3SseAlgorithm": "AES256"}),
        (key, {"S3SseAlgorithm": "KMS", "S3SseKmsKeyId": key}),
    ):
        made = audit_machine.definition(KmsKeyArn=arn)
        arguments = asl.run(made, DAY, GOOD_NIGHT, CONTEXT).arguments["ExportEffects"]
        assert {name: arguments[name] for name in arguments if name.startswith("S3Sse")} == expected


def submitted(day: str, until: str = "", unrecorded: str = "", **more: bool) -> Any:
    known = {"until": until, "end": "24-00", "unrecorded": unrecorded}
    told = CONTEXT | {"Execution": CONTEXT["Execution"] | {"Input": {"day": day} | more}}
    state = STATES["RunAudit"]["Arguments"]
    return asl.evaluate(state, known, input={"day": day}, context=told)["JobDriver"]["SparkSubmit"]


def test_the_job_is_asked_for_something_that_it_can_be_asked_for() -> None:
    asked_for = submitted("2026-11-21", unrecorded="Why.", accept=True)["EntryPointArguments"]

    request = Request.of(parser().parse_args(asked_for))

    assert request.from_raw
    assert request.present_only
    assert request.effects == Attributes.of_output("message_id,booked_at,practice,slot")
    assert request.days == (date(2026, 11, 20), date(2026, 11, 21))
    assert request.as_of is None
    assert request.out + "/summary.json" == "s3://{Bucket}/{Key}".format(
        **STATES["ReadSummary"]["Arguments"]
    )


def test_the_package_is_where_the_job_looks_for_it() -> None:
    submit = submitted("2026-11-20")
    files = {f"s3://audit/code/{name}" for name in audit_package.pack()}

    option, package, *_ = submit["SparkSubmitParameters"].split()
    assert option == "--py-files"
    assert {submit["EntryPoint"], package} == files
