"""The audit's state machine: its nights, one run each. tests/embedded has one for real."""

import json
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dead_letters_of_day
from actonce.records import audit_package
from pipeline.audit.request import parser, requested
from tests.support import asl, audit_machine

DAY = {"day": "2026-11-20"}
CONTEXT = {
    "Execution": {"Name": "audit-2026-11-20"},
    "StateMachine": {"Id": "arn:aws:states:us-east-1:1:stateMachine:audit"},
}
SATURDAY = 5
WHOLE_DAYS = st.dates(date(2020, 1, 2), date(2080, 12, 30))
STATES: dict[str, Any] = audit_machine.definition()["States"]


def summary(sentence: str, exit_status: int, *, indent: int | None = None) -> dict[str, str]:
    whole = {
        "version": 1,
        "from": "2026-11-20",
        "to": "2026-11-20",
        "generated_at": "2026-11-21T03:00:00.000Z",
        "sentence": sentence,
        "exit_status": exit_status,
        "alarms": ["x" * 5000],
    }
    text = json.dumps(whole, ensure_ascii=False, indent=indent)
    return {"Body": text[:4096]}  # ReadSummary's range


def listed(*keys: str) -> dict[str, Any]:
    """What S3 answers; without a key it leaves `Contents` out."""
    return {"KeyCount": len(keys)} | ({"Contents": [{"Key": key} for key in keys]} if keys else {})


def export(status: str, **more: str) -> dict[str, Any]:
    return {"ExportDescription": {"ExportStatus": status, "ExportArn": "arn:export", **more}}


GOOD_NIGHT: dict[str, Any] = {
    "RecordDeadLetters": {},
    "FindCode": listed("code/audit.py", "code/other.py", "code/pipeline.zip"),
    "ListEffects": listed(),
    "ExportEffects": export("IN_PROGRESS"),
    "DescribeExport": [export("IN_PROGRESS"), export("COMPLETED")],
    "ForgetSummary": {},
    "RunAudit": {},
    "ReadSummary": summary("All is well.", 0),
    "PublishOutcome": {},
    "TellOutcome": {},
}
JOB_FAILED = RuntimeError("States.TaskFailed")  # so EMR calls every exit status but 0


def night(**answers: Any) -> asl.Run:
    return asl.run(audit_machine.definition(), DAY, GOOD_NIGHT | answers, CONTEXT)


def told(ended: asl.Run) -> tuple[str, str, int]:
    """How the subject ends, the sentence, and the exit status; all three stand for themselves.

    The event tells the same.
    """
    published, outcome = ended.arguments["PublishOutcome"], ended.outputs["PublishOutcome"]
    (entry,) = ended.arguments["TellOutcome"]["Entries"]
    assert (entry["Source"], entry["DetailType"]) == ("actonce", "Day Audited")
    same = {name: outcome[name] for name in ("day", "exit_status", "sentence")}
    assert entry["Detail"] == {"version": 1, "stack": "audit", **same}
    assert ended.outputs["TellOutcome"] == outcome
    assert len(published["Subject"]) < 100  # SNS
    assert outcome["sentence"] in published["Message"]
    assert published["Message"].endswith("\n\nactonce audit page s3://audit/audit/")
    subject = published["Subject"].removeprefix("ActOnce audit of 2026-11-20: ")
    return subject, outcome["sentence"], outcome["exit_status"]


# --------------------------------------------------------------------------- the nights


def test_a_good_night_exports_judges_and_says_so() -> None:
    ended = night()

    assert told(ended) == ("nothing to do", "All is well.", 0)
    assert ended.error == ""
    assert ended.arguments["RecordDeadLetters"]["Payload"] == DAY
    assert ended.states == [
        *("Day?", "RecordDeadLetters", "FindCode", "Code?", "ListEffects", "Exported?"),
        *("ExportEffects", *("AwaitExport", "DescribeExport", "ExportDone?") * 2),
        *("ForgetSummary", "RunAudit", "ReadSummary"),
        *("PublishOutcome", "TellOutcome", "Good?", "Done"),
    ]


@pytest.mark.parametrize(
    ("keys", "is_exported"),
    [
        ([], False),
        (["collected.jsonl.gz"], True),
        (["AWSDynamoDB/1/_started", "AWSDynamoDB/data/x.json.gz"], False),
        (["AWSDynamoDB/1/_started", "AWSDynamoDB/2/manifest-summary.json"], True),
    ],
)
def test_a_day_that_was_exported_is_not_exported_again_and_a_begun_one_is_no_exported_one(
    keys: list[str], is_exported: bool
) -> None:
    ended = night(ListEffects=listed(*(f"effects/dt=2026-11-20/{key}" for key in keys)))

    assert ("ExportEffects" not in ended.states) is is_exported


SAID = 'Zoë\'s "request" was acted on twice.'


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    ("exit_status", "job", "subject", "ends", "error"),
    [
        (0, JOB_FAILED, "ALARM", 1, "Alarms"),
        (1, {}, "ALARM", 1, "Alarms"),
        (1, JOB_FAILED, "ALARM", 1, "Alarms"),
        (2, JOB_FAILED, "not audited", 2, "NotAudited"),
        (3, JOB_FAILED, "not judged whole", 3, "NotWhole"),
        (4, JOB_FAILED, "not judged whole", 3, "NotWhole"),
    ],
)
def test_only_a_job_that_succeeded_and_says_so_is_good(
    exit_status: int, indent: int | None, job: Any, subject: str, ends: int, error: str
) -> None:
    ended = night(RunAudit=job, ReadSummary=summary(SAID, exit_status, indent=indent))

    assert (told(ended), ended.error) == ((subject, SAID, ends), error)


def test_a_summary_that_cannot_be_understood_is_no_good_outcome() -> None:
    assert told(night(ReadSummary={"Body": "{}"}))[2] == 1


def test_a_job_that_crashed_left_no_summary_and_is_told_by_its_error() -> None:
    ended = night(RunAudit=JOB_FAILED, ReadSummary=RuntimeError("S3.NoSuchKeyException"))

    subject, sentence, exit_status = told(ended)
    assert (subject, exit_status, ended.error) == ("not audited", 2, "NotAudited")
    assert "(States.TaskFailed)" in sentence


@pytest.mark.parametrize(
    "task",
    [
        *("FindCode", "ListEffects", "ExportEffects", "DescribeExport"),
        *("ForgetSummary", "ReadSummary"),
    ],
)
def test_whatever_fails_before_the_outcome_is_published_is_published(task: str) -> None:
    ended = night(**{task: RuntimeError("SomethingNew")})

    assert (told(ended)[0], ended.error) == ("not audited", "NotAudited")
    assert ended.states[-5:] == [task, "PublishOutcome", "TellOutcome", "Good?", "NotAudited"]


@pytest.mark.parametrize(("exit_status", "error"), [(0, ""), (1, "Alarms")])
def test_a_bus_that_fails_changes_no_outcome(exit_status: int, error: str) -> None:
    said = summary("A sentence.", exit_status)
    ended = night(ReadSummary=said, TellOutcome=RuntimeError("EventBridge.FailedEntry"))
    assert (told(ended)[1:], ended.error) == (("A sentence.", exit_status), error)


def test_every_task_but_the_last_word_is_caught_whatever_it_raises() -> None:
    caught = {
        name: [one["ErrorEquals"] for one in state.get("Catch", [])]
        for name, state in STATES.items()
        if state["Type"] == "Task"
    }

    assert caught.pop("PublishOutcome") == []  # an outcome that cannot be told fails the execution
    assert caught.pop("StartDay") == [["StepFunctions.ExecutionAlreadyExistsException"]]
    assert list(caught.values()) == [[["States.ALL"]]] * len(caught)


@pytest.mark.parametrize("keys", [[], ["code/pipeline.zip", "code/README"]])
def test_without_its_code_nothing_is_exported_or_started(keys: list[str]) -> None:
    ended = night(FindCode=listed(*keys))

    subject, sentence, _ = told(ended)
    assert subject == "not audited"
    assert "actonce audit package --to s3://audit/code/" in sentence
    assert "ListEffects" not in ended.states


@pytest.mark.parametrize(
    ("more", "reason"),
    [({"FailureMessage": "No such bucket"}, "No such bucket"), ({}, "no reason was given")],
)
def test_an_export_that_failed_says_why_and_what_to_do(more: dict[str, str], reason: str) -> None:
    ended = night(DescribeExport=export("FAILED", **more))

    subject, sentence, _ = told(ended)
    assert subject == "not audited"
    assert f"failed: {reason} (remove" in sentence
    assert "RunAudit" not in ended.states


# --------------------------------------------------------------------------- dead letters


@pytest.mark.parametrize(
    ("exit_status", "subject", "ends"), [(0, "ALARM", 1), (1, "ALARM", 1), (2, "not audited", 2)]
)
def test_a_day_whose_dead_letters_were_not_recorded_is_told_and_no_good_one(
    exit_status: int, subject: str, ends: int
) -> None:
    ended = night(
        RecordDeadLetters=RuntimeError("TooManyExecutions"),
        ReadSummary=summary("All is well.", exit_status),
    )

    got, sentence, status = told(ended)
    assert (got, status) == (subject, ends)
    for part in (
        "All is well.\n",
        "TooManyExecutions",
        "actonce collect --day 2026-11-20 --stream dead_letters --to records/",
        "aws s3 sync records/ s3://records/",
    ):
        assert part in sentence


def test_only_what_another_try_may_mend_is_tried_again() -> None:
    never, again = STATES["RecordDeadLetters"]["Retry"]
    raised = {
        error.__name__
        for error in (
            dead_letters_of_day.TooManyExecutions,
            dead_letters_of_day.OutOfTime,
            dead_letters_of_day.UnreadableRecords,
        )
    }

    assert (set(never["ErrorEquals"]), never["MaxAttempts"]) == (raised, 0)
    assert again["ErrorEquals"] == ["States.TaskFailed"]


# --------------------------------------------------------------------------- the schedule


@given(WHOLE_DAYS, st.times())
def test_the_schedule_starts_the_day_before_under_its_name(day: date, at: time) -> None:
    scheduled = datetime.combine(day + timedelta(days=1), at, UTC)
    data = {"scheduled": scheduled.isoformat(timespec="seconds").replace("+00:00", "Z")}

    ended = asl.run(audit_machine.definition(), data, {"StartDay": {}}, CONTEXT)

    assert ended.states == ["Day?", "StartDay", "Done"]
    assert ended.arguments["StartDay"] == {
        "StateMachineArn": CONTEXT["StateMachine"]["Id"],
        "Name": f"audit-{day.isoformat()}",
        "Input": {"day": day.isoformat()},
    }


def test_a_schedule_that_fires_twice_is_suppressed_by_the_executions_name() -> None:
    exists = "StepFunctions.ExecutionAlreadyExistsException"
    data = {"scheduled": "2026-11-21T03:00:00Z"}
    answers = {"StartDay": RuntimeError(exists)}

    ended = asl.run(audit_machine.definition(), data, answers, CONTEXT)

    assert (ended.error, ended.states[-1]) == ("", "Done")
    assert STATES["StartDay"]["Retry"][0] == {"ErrorEquals": [exists], "MaxAttempts": 0}


# --------------------------------------------------------------------------- what is asked for


def asked(task: str, day: str, **substitutions: str) -> Any:
    state = audit_machine.definition(**substitutions)["States"][task]
    return asl.evaluate(state["Arguments"], input={"day": day}, context=CONTEXT)


@given(WHOLE_DAYS)
def test_exactly_the_day_is_exported_and_once(day: date) -> None:
    arguments = asked("ExportEffects", day.isoformat())

    window = arguments["IncrementalExportSpecification"]
    since, until = (
        datetime.fromisoformat(window[name]) for name in ("ExportFromTime", "ExportToTime")
    )
    assert since == datetime.combine(day, time(), UTC)
    assert until - since == timedelta(days=1)
    assert arguments["S3Prefix"] == f"effects/dt={day.isoformat()}"
    assert arguments["ClientToken"] == f"effects-{day.isoformat()}"


def test_what_is_exported_is_under_the_key_that_holds_the_rest() -> None:
    key = "arn:aws:kms:us-east-1:1:key/k"
    for arn, expected in (
        ("", {"S3SseAlgorithm": "AES256"}),
        (key, {"S3SseAlgorithm": "KMS", "S3SseKmsKeyId": key}),
    ):
        arguments = asked("ExportEffects", "2026-01-05", KmsKeyArn=arn)
        assert {name: arguments[name] for name in arguments if name.startswith("S3Sse")} == expected


def submitted(day: str) -> Any:
    return asked("RunAudit", day)["JobDriver"]["SparkSubmit"]


@given(WHOLE_DAYS)
def test_the_day_is_judged_as_of_its_end_and_the_day_before_it_once_more(day: date) -> None:
    # The night after a Saturday, a Sunday's, believes nothing that was kept.
    assert submitted(day.isoformat())["EntryPointArguments"] == [
        "s3://records/",
        *("--from", (day - timedelta(days=1)).isoformat()),
        *("--until", day.isoformat()),
        *("--as-of", f"{day + timedelta(days=1)}T00:00:00Z"),
        *("--reach", "100"),
        *("--out", "s3://audit/audit"),
        *(["--from-raw"] if day.weekday() == SATURDAY else []),
    ]


def test_the_job_is_asked_for_something_that_it_can_be_asked_for() -> None:
    words = vars(parser().parse_args(submitted("2026-11-21")["EntryPointArguments"]))

    request = requested(**{name: value for name, value in words.items() if name != "json"})

    assert words["from_raw"] is True
    assert (request.since, request.until) == (date(2026, 11, 20), date(2026, 11, 21))
    assert request.as_of == datetime(2026, 11, 22, tzinfo=UTC)
    assert request.reach is not None
    assert request.reach > 90  # days that AWS keeps the name of an execution
    assert request.out + "/summary.json" == "s3://{Bucket}/{Key}".format(
        **STATES["ReadSummary"]["Arguments"]
    )


def test_the_package_is_where_the_job_looks_for_it() -> None:
    submit = submitted("2026-11-20")
    files = {f"s3://audit/code/{file.name}" for file in audit_package.pack()}

    option, package, *_ = submit["SparkSubmitParameters"].split()
    assert option == "--py-files"
    assert {submit["EntryPoint"], package} == files
