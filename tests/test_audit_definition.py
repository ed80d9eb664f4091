"""The audit's state machine: its nights and slots, a run each. tests/embedded has some for real."""

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
from tests.support.log_filter import lets_through
from tests.support.snapshots import Snapshot
from tests.template import load, of_type

DAY = {"day": "2026-11-20"}
SLOT = {"day": "2026-11-20", "until": "2026-11-20T14:10:00.000Z"}
MACHINE = "arn:aws:states:us-east-1:1:stateMachine:audit"


def context(name: str, entered: str = "2026-11-21T03:00:01.500Z") -> dict[str, Any]:
    return {
        "Execution": {"Name": name},
        "State": {"EnteredTime": entered},
        "StateMachine": {"Id": MACHINE},
    }


CONTEXT = context("audit-2026-11-20")
SATURDAY = 5
WHOLE_DAYS = st.dates(date(2020, 1, 2), date(2080, 12, 30))
STATES: dict[str, Any] = audit_machine.definition()["States"]


def summary(
    sentence: str,
    exit_status: int,
    *,
    indent: int | None = None,
    alarms_sha256: str = "0f" * 32,
    digest: str | None = "5c" * 32,
    etag: str = '"of-this-run"',
) -> dict[str, str]:
    whole = {
        "version": 1,
        "digest": digest and {"number": 18, "sha256": digest},
        "from": "2026-11-20",
        "to": "2026-11-20",
        "generated_at": "2026-11-21T03:00:00.000Z",
        "sentence": sentence,
        "exit_status": exit_status,
        "alarms_sha256": alarms_sha256,
        "alarms": ["x" * 5000],
    }
    text = json.dumps(whole, ensure_ascii=False, indent=indent)
    return {"Body": text[:4096], "ETag": etag}  # ReadSummary's range


def listed(*keys: str) -> dict[str, Any]:
    """What S3 answers; without a key it leaves `Contents` out."""
    return {"KeyCount": len(keys)} | ({"Contents": [{"Key": key} for key in keys]} if keys else {})


def folders(*ends: str) -> dict[str, Any]:
    """What S3 answers of the exports of the day; without one it leaves `CommonPrefixes` out."""
    prefixes = [{"Prefix": f"effects/dt=2026-11-20/until-{end}/"} for end in ends]
    return {"KeyCount": len(ends)} | ({"CommonPrefixes": prefixes} if ends else {})


def running(*names: str) -> dict[str, Any]:
    """What Step Functions answers, the newest first."""
    return {"Executions": [{"Name": name, "Status": "RUNNING"} for name in names]}


def finished(end: str) -> dict[str, Any]:
    """What S3 answers of an export that has ended."""
    below = f"effects/dt=2026-11-20/until-{end}/AWSDynamoDB/0169-1"
    return listed(f"{below}/_started", f"{below}/manifest-summary.json")


def export(status: str, **more: str) -> dict[str, Any]:
    return {"ExportDescription": {"ExportStatus": status, "ExportArn": "arn:export", **more}}


GOOD_NIGHT: dict[str, Any] = {
    "RecordDeadLetters": {},
    "FindOthers": running("audit-2026-11-20", "e1b9-of-the-scheduler"),
    "FindCode": listed("code/audit.py", "code/other.py", "code/pipeline.zip"),
    "ListEffects": listed(),
    "ExportEffects": export("IN_PROGRESS"),
    "DescribeExport": [export("IN_PROGRESS"), export("COMPLETED")],
    "FindSummary": RuntimeError("S3.NoSuchKeyException"),
    "RunAudit": {},
    "ReadSummary": summary("All is well.", 0),
    "PublishOutcome": {},
    "TellOutcome": {},
}
GOOD_SLOT = GOOD_NIGHT | {
    "BeatDeliveries": {},
    "BeatExecutions": {},
    "FindOthers": running("audit-2026-11-20T14-15"),
    "ListEffects": folders("13-55"),
    "ListExport": finished("13-55"),
    "FindSummary": summary("All is well.", 0, etag='"of-the-last"'),
}
JOB_FAILED = RuntimeError("States.TaskFailed")  # so EMR calls every exit status but 0


# --------------------------------------------------------------------------- runs

Answers = dict[str, Any]
SAID = 'Zoë\'s "request" was acted on twice.'
OTHER = "audit-2026-11-20T14-00"
BOTH = running("audit-2026-11-20", OTHER)
NO_SUMMARY = RuntimeError("S3.NoSuchKeyException")
NO_DEAD_LETTERS = RuntimeError("TooManyExecutions")
BEGUN = {"ListEffects": folders("14-10"), "ListExport": finished("14-10")}


def before(exit_status: int, indent: int | None = None) -> dict[str, str]:
    return summary("", exit_status, indent=indent, etag="of-the-last")


NIGHTS: dict[str, Answers] = {
    "a good night": {},
    # A day that was exported is not exported again, and a begun one is no exported one.
    "collected": {"ListEffects": listed("effects/dt=2026-11-20/collected.jsonl.gz")},
    "exported": {"ListEffects": folders("24-00"), "ListExport": finished("24-00")},
    "exported after a slot's": {
        "ListEffects": folders("14-10", "24-00"),
        "ListExport": finished("24-00"),
    },
    "export begun": {
        "ListEffects": folders("24-00"),
        "ListExport": listed("effects/dt=2026-11-20/until-24-00/AWSDynamoDB/_started"),
    },
    "export without a file": {"ListEffects": folders("24-00"), "ListExport": listed()},
    "exported by a slot only": {"ListEffects": folders("23-55"), "ListExport": finished("23-55")},
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
    # Somebody else holds the newest digest, too.
    **{
        f"{digest and 'a'} digest, indent {indent}": {
            "ReadSummary": summary(SAID, 0, digest=digest, indent=indent)
        }
        for digest in ("5c" * 32, None)
        for indent in (None, 1)
    },
    "a summary that is none": {"ReadSummary": {"Body": "{}", "ETag": "any"}},
    "the job failed and left the summary of the run before": {
        "FindSummary": summary("All is well.", 0),
        "RunAudit": JOB_FAILED,
        "ReadSummary": summary("All is well.", 0),
    },
    "the job failed and left no summary": {"RunAudit": JOB_FAILED, "ReadSummary": NO_SUMMARY},
    # Whatever fails before the outcome is published is published.
    **{
        f"{task} fails": BEGUN | {task: RuntimeError("SomethingNew")}
        for task in (
            *("FindOthers", "FindCode", "ListEffects", "ListExport", "ExportEffects"),
            *("DescribeExport", "FindSummary", "ReadSummary"),
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
    "no code": {"FindCode": listed()},
    "half of its code": {"FindCode": listed("code/pipeline.zip", "code/README")},
    "the export failed": {"DescribeExport": export("FAILED", FailureMessage="No such bucket")},
    "the export failed without a reason": {"DescribeExport": export("FAILED")},
    # A day whose dead letters were not recorded is no good one.
    **{
        f"dead letters were not recorded, the audit says {status}": {
            "RecordDeadLetters": NO_DEAD_LETTERS,
            "ReadSummary": summary("All is well.", status),
        }
        for status in (0, 1, 2)
    },
    # The night waits for the audit that began before it.
    "another audit runs": {"FindOthers": [BOTH, BOTH, GOOD_NIGHT["FindOthers"]]},
}

SLOTS: dict[str, Answers] = {
    "a good slot": {},
    # A heartbeat that fails stops no audit.
    **{
        f"{task} fails": {task: RuntimeError("Throttled")}
        for task in ("BeatDeliveries", "BeatExecutions")
    },
    # Left out beside an audit that began before it; of two that see each other the first goes on.
    "after another": {"FindOthers": running("audit-2026-11-20T14-15", OTHER, "e1b9")},
    "before another": {"FindOthers": running(OTHER, "audit-2026-11-20T14-15")},
    # People are told what the last run did not tell.
    **{
        f"an exit status of {now} after {last}": {
            "FindSummary": NO_SUMMARY if last is None else before(last),
            "ReadSummary": summary("", now),
        }
        for last, now in ((0, 1), (1, 1), (1, 3), (None, 3), (None, 0), (1, 0))
    },
    "other alarms": {
        "FindSummary": before(1),
        "ReadSummary": summary("", 1, alarms_sha256="f0" * 32),
    },
    "another number": {
        "FindSummary": before(3),
        "ReadSummary": summary("Another number.", 3, indent=2),
    },
    "set in": {"FindSummary": before(3, indent=1), "ReadSummary": summary("", 3, indent=1)},
    # One that was not audited, or lacks dead letters, fails for the alarm to tell.
    "the export failed": {"DescribeExport": export("FAILED")},
    "not audited": {"ReadSummary": summary("", 2)},
    "dead letters were not recorded": {"RecordDeadLetters": NO_DEAD_LETTERS},
    # It exports what no export has; what was left out by slots before is made up for.
    **{
        f"exported until {until}": {
            "ListEffects": folders("00-10", until),
            "ListExport": listed(file),
        }
        for until in ("13-55", "09-10", "14-03")  # the last is less than DynamoDB exports
        for file in [f"effects/dt=2026-11-20/until-{until}/AWSDynamoDB/1/manifest-summary.json"]
    },
    # What may be missing of yesterday, too.
    "an export begun until 13-55": {
        "ListEffects": folders("00-10", "13-55"),
        "ListExport": listed("effects/dt=2026-11-20/until-13-55/AWSDynamoDB/1/_started"),
    },
    "the first one of the day": {"ListEffects": folders()},
}

SCHEDULES: dict[str, tuple[dict[str, str], str]] = {
    "in time": ({"slot": "2026-11-20T14:15:00Z"}, "2026-11-20T14:15:21.042Z"),
    # The slot at midnight is yesterday's last.
    "at midnight": ({"slot": "2026-11-21T00:00:00Z"}, "2026-11-21T00:00:09.000Z"),
    # Of a time that is not yet nobody can say that all was handed over.
    "too early": ({"slot": "2027-01-01T00:00:00Z"}, "2026-11-20T14:15:59.999Z"),
    "late": ({"slot": "2026-11-20T14:15:00Z"}, "2026-11-20T16:02:00.000Z"),
}
"""What a schedule gives, and when."""


def test_a_heartbeat_in_the_starters_log_is_kept_with_its_lines() -> None:
    (kept,) = of_type(load(asl.PROJECT / "records.yaml"), "AWS::Logs::SubscriptionFilter").values()
    (beat,) = STATES["BeatDeliveries"]["Arguments"]["LogEvents"]
    line = asl.evaluate(beat["Message"], {"until": SLOT["until"]})
    assert lets_through(kept["Properties"]["FilterPattern"], line)


def run(data: Any, answers: Answers, name: str, entered: str = "2026-11-21T03:00:01.500Z") -> Any:
    return asl.run(audit_machine.definition(), data, answers, context(name, entered))


def shown(ended: asl.Run) -> list[str]:
    """What a run does and tells: the states but choices, the export, the outcome, the end."""
    lines = [" ".join(name for name in ended.states if STATES[name]["Type"] != "Choice")]
    if listing := ended.arguments.get("ListExport"):
        lines.append(f"lists {listing['Prefix']}")
    if exporting := ended.arguments.get("ExportEffects"):
        lines.append("exports {} to {} into {}".format(*window(exporting), exporting["S3Prefix"]))
    if telling := ended.arguments.get("TellOutcome"):
        ((entry,), outcome) = telling["Entries"], ended.outputs["TellOutcome"]
        assert (entry["Source"], entry["DetailType"]) == ("actonce", "Day Audited")
        event = entry["Detail"]
        same = {name: outcome[name] for name in ("day", "exit_status", "sentence")}
        assert event == {"version": 1, "stack": "audit"} | same | {
            name: event[name] for name in ("digest", "until")
        }
        digest, until = event["digest"] and event["digest"][:4], event["until"]
        lines.append(f"event: {event['exit_status']}, until {until}, digest {digest}")
        lines += str(event["sentence"]).split("\n")
        if mail := ended.arguments.get("PublishOutcome"):
            assert ended.outputs["PublishOutcome"] == outcome
            assert len(mail["Subject"]) < 100  # SNS
            hashed = f"\n\nDigest: {event['digest']}" if digest else ""
            page = "actonce audit page s3://audit/audit/"
            assert mail["Message"] == f"{outcome['sentence']}{hashed}\n\n{page}"
            lines.append(f"mail: {mail['Subject']}")
    return [*lines, f"ends: {ended.error or 'well'}"]


def test_each_run_does_and_tells_what_is_reviewed(snapshot: Snapshot) -> None:
    nights = {name: run(DAY, GOOD_NIGHT | one, "audit-2026-11-20") for name, one in NIGHTS.items()}
    own = {"FindOthers": [running("mine", OTHER), running("mine")]}
    nights["under a name of one's own, while another runs"] = run(DAY, GOOD_NIGHT | own, "mine")
    slots = {
        name: run(SLOT, GOOD_SLOT | one, "audit-2026-11-20T14-15") for name, one in SLOTS.items()
    }
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
    assert caught.pop("FindSummary") == [["S3.NoSuchKeyException"], ["States.ALL"]]
    assert list(caught.values()) == [[["States.ALL"]]] * len(caught)


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
        "StateMachineArn": MACHINE,
        "Name": f"audit-{day.isoformat()}",
        "Input": {"day": day.isoformat()},
    }


@pytest.mark.parametrize(
    "data", [{"scheduled": "2026-11-21T03:00:00Z"}, {"slot": "2026-11-21T03:00:00Z"}]
)
def test_a_schedule_that_fires_twice_is_suppressed_by_the_executions_name(
    data: dict[str, str],
) -> None:
    exists = "StepFunctions.ExecutionAlreadyExistsException"
    answers = {"StartDay": RuntimeError(exists)}

    ended = asl.run(audit_machine.definition(), data, answers, CONTEXT)

    assert (ended.error, ended.states[-1]) == ("", "Done")
    assert STATES["StartDay"]["Retry"][0] == {"ErrorEquals": [exists], "MaxAttempts": 0}


# --------------------------------------------------------------------------- what is asked for


def asked(task: str, day: str, variables: Any = None, **substitutions: str) -> Any:
    state = audit_machine.definition(**substitutions)["States"][task]
    known = {"until": "", "end": "24-00"} | (variables or {})
    return asl.evaluate(state["Arguments"], known, input={"day": day, "since": ""}, context=CONTEXT)


@given(WHOLE_DAYS)
def test_exactly_the_day_is_exported_and_once(day: date) -> None:
    arguments = asked("ExportEffects", day.isoformat())

    since, until = map(datetime.fromisoformat, window(arguments))
    assert since == datetime.combine(day, time(), UTC)
    assert until - since == timedelta(days=1)
    assert arguments["S3Prefix"] == f"effects/dt={day.isoformat()}/until-24-00"
    assert arguments == asked("ExportEffects", day.isoformat())  # the token among them


@given(st.lists(st.tuples(st.integers(0, 1435), st.booleans()), unique_by=lambda one: one[0]))
def test_whatever_slots_fail_the_exports_that_ended_leave_no_gap(
    slots: list[tuple[int, bool]],
) -> None:
    """From the first of them on; each of at least 15 minutes, and no more than 24 hours."""
    begun: list[str] = []
    newest_ended, covered = False, None
    for minute, ends in sorted(slots):
        end = f"{minute // 60:02}-{minute % 60:02}"
        known = {"until": f"2026-11-20T{end.replace('-', ':')}:00.000Z", "end": end}
        left, answer = DAY, folders(*begun)
        for task in ("ListEffects", "ListExport") if begun else ("ListEffects",):
            left = asl.evaluate(STATES[task]["Output"], known, input=left, result=answer)
            answer = finished(begun[-1]) if begun and newest_ended else listed()
        exporting = asl.evaluate(STATES["ExportEffects"]["Arguments"], known, input=left)
        since, until = map(datetime.fromisoformat, window(exporting))
        assert timedelta(minutes=15) <= until - since <= timedelta(days=1)
        assert covered is None or since <= covered
        begun.append(end)
        newest_ended, covered = ends, until if ends else covered


def test_what_is_exported_is_under_the_key_that_holds_the_rest() -> None:
    key = "arn:aws:kms:us-east-1:1:key/k"
    for arn, expected in (
        ("", {"S3SseAlgorithm": "AES256"}),
        (key, {"S3SseAlgorithm": "KMS", "S3SseKmsKeyId": key}),
    ):
        arguments = asked("ExportEffects", "2026-01-05", None, KmsKeyArn=arn)
        assert {name: arguments[name] for name in arguments if name.startswith("S3Sse")} == expected


def submitted(day: str, until: str = "") -> Any:
    return asked("RunAudit", day, {"until": until})["JobDriver"]["SparkSubmit"]


@given(WHOLE_DAYS)
def test_the_day_is_judged_as_of_its_end_and_the_day_before_it_once_more(day: date) -> None:
    # The night after a Saturday, a Sunday's, believes nothing that was kept.
    assert submitted(day.isoformat())["EntryPointArguments"] == [
        "s3://records/",
        *("--from", (day - timedelta(days=1)).isoformat()),
        *("--until", day.isoformat()),
        *("--reach", "100"),
        *("--out", "s3://audit/audit"),
        *("--as-of", f"{day + timedelta(days=1)}T00:00:00Z"),
        *(["--from-raw"] if day.weekday() == SATURDAY else []),
    ]


def test_a_slot_is_judged_as_far_as_the_records_are_complete_which_is_an_hour_at_least() -> None:
    assert submitted("2026-11-21", "2026-11-21T00:10:00.000Z")["EntryPointArguments"] == [
        "s3://records/",
        *("--from", "2026-11-20"),
        *("--until", "2026-11-21"),
        *("--reach", "100"),
        *("--out", "s3://audit/audit"),
        *("--complete-by", "2026-11-20T23:10:00.000Z"),
    ]


def test_the_job_is_asked_for_something_that_it_can_be_asked_for() -> None:
    words = vars(parser().parse_args(submitted("2026-11-21")["EntryPointArguments"]))

    request = requested(**{name: value for name, value in words.items() if name != "json"})

    assert words["from_raw"] is True
    assert request.days == (date(2026, 11, 20), date(2026, 11, 21))
    assert request.as_of == datetime(2026, 11, 22, tzinfo=UTC)
    assert request.reach is not None
    assert request.reach > 90  # days that AWS keeps the name of an execution
    assert request.out + "/summary.json" == "s3://{Bucket}/{Key}".format(
        **STATES["ReadSummary"]["Arguments"]
    )


def test_the_package_is_where_the_job_looks_for_it() -> None:
    submit = submitted("2026-11-20")
    files = {f"s3://audit/code/{name}" for name in audit_package.pack()}

    option, package, *_ = submit["SparkSubmitParameters"].split()
    assert option == "--py-files"
    assert {submit["EntryPoint"], package} == files
