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


def night(**answers: Any) -> asl.Run:
    return asl.run(audit_machine.definition(), DAY, GOOD_NIGHT | answers, CONTEXT)


def slot(**answers: Any) -> asl.Run:
    answers = GOOD_SLOT | answers
    return asl.run(audit_machine.definition(), SLOT, answers, context("audit-2026-11-20T14-15"))


def told(ended: asl.Run) -> tuple[str, str, int]:
    """How the subject ends, the sentence, and the exit status; all three stand for themselves.

    The event tells the same.
    """
    published, outcome = ended.arguments["PublishOutcome"], ended.outputs["PublishOutcome"]
    (entry,) = ended.arguments["TellOutcome"]["Entries"]
    assert (entry["Source"], entry["DetailType"]) == ("actonce", "Day Audited")
    same = {name: outcome[name] for name in ("day", "exit_status", "sentence")}
    digest = entry["Detail"].get("digest")
    assert entry["Detail"] == {"version": 1, "stack": "audit", "until": None, **same} | {
        "digest": digest
    }
    assert (f"\n\nDigest: {digest}\n" in published["Message"]) is (digest is not None)
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
        *("Day?", "RecordDeadLetters", "FindOthers", "Alone?"),
        *("FindCode", "Code?", "ListEffects", "Exported?"),
        *("ExportEffects", *("AwaitExport", "DescribeExport", "ExportDone?") * 2),
        *("FindSummary", "RunAudit", "ReadSummary"),
        *("Outcome", "News?", "PublishOutcome", "TellOutcome", "Good?", "Done"),
    ]


@pytest.mark.parametrize(
    ("beside", "newest", "is_exported"),
    [
        (listed("effects/dt=2026-11-20/collected.jsonl.gz"), None, True),
        (folders("24-00"), finished("24-00"), True),
        (folders("14-10", "24-00"), finished("24-00"), True),
        (folders("24-00"), listed("effects/dt=2026-11-20/until-24-00/AWSDynamoDB/_started"), False),
        (folders("24-00"), listed(), False),
        (folders("23-55"), finished("23-55"), False),
    ],
)
def test_a_day_that_was_exported_is_not_exported_again_and_a_begun_one_is_no_exported_one(
    beside: Any, newest: Any, is_exported: bool
) -> None:
    ended = night(ListEffects=beside, ListExport=newest)

    assert ("ExportEffects" not in ended.states) is is_exported
    if newest is not None:
        last = beside["CommonPrefixes"][-1]["Prefix"]
        assert ended.arguments["ListExport"]["Prefix"] == last


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


@pytest.mark.parametrize("digest", ["5c" * 32, None])
@pytest.mark.parametrize("indent", [None, 1])
def test_somebody_else_holds_the_newest_digest_too(digest: str | None, indent: int | None) -> None:
    ended = night(ReadSummary=summary(SAID, 0, digest=digest, indent=indent))

    told(ended)
    (entry,) = ended.arguments["TellOutcome"]["Entries"]
    assert entry["Detail"]["digest"] == digest


def test_a_summary_that_cannot_be_understood_is_no_good_outcome() -> None:
    assert told(night(ReadSummary={"Body": "{}", "ETag": "any"}))[2] == 1


def test_the_summary_of_the_run_before_is_not_taken_for_this_run_s() -> None:
    before = summary("All is well.", 0)
    ended = night(FindSummary=before, RunAudit=JOB_FAILED, ReadSummary=before)

    subject, sentence, exit_status = told(ended)
    assert (subject, exit_status, ended.error) == ("not audited", 2, "NotAudited")
    assert "(States.TaskFailed)" in sentence


def test_a_job_that_crashed_left_no_summary_and_is_told_by_its_error() -> None:
    ended = night(RunAudit=JOB_FAILED, ReadSummary=RuntimeError("S3.NoSuchKeyException"))

    subject, sentence, exit_status = told(ended)
    assert (subject, exit_status, ended.error) == ("not audited", 2, "NotAudited")
    assert "(States.TaskFailed)" in sentence


@pytest.mark.parametrize(
    "task",
    [
        *("FindOthers", "FindCode", "ListEffects", "ListExport", "ExportEffects"),
        *("DescribeExport", "FindSummary", "ReadSummary"),
    ],
)
def test_whatever_fails_before_the_outcome_is_published_is_published(task: str) -> None:
    begun = {"ListEffects": folders("14-10"), "ListExport": finished("14-10")}
    ended = night(**begun | {task: RuntimeError("SomethingNew")})

    assert (told(ended)[0], ended.error) == ("not audited", "NotAudited")
    after = ["Outcome", "News?", "PublishOutcome", "TellOutcome", "Good?", "NotAudited"]
    assert ended.states[-7:] == [task, *after]


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
    assert caught.pop("FindSummary") == [["S3.NoSuchKeyException"], ["States.ALL"]]
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
    assert "effects/dt=2026-11-20/until-24-00/" in sentence
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
        "StateMachineArn": MACHINE,
        "Name": f"audit-{day.isoformat()}",
        "Input": {"day": day.isoformat()},
    }


def started(slot: str, entered: str) -> Any:
    return asl.run(
        audit_machine.definition(), {"slot": slot}, {"StartDay": {}}, context("any", entered)
    ).arguments["StartDay"]


def test_the_slots_schedule_starts_the_slot_under_its_name() -> None:
    assert started("2026-11-20T14:15:00Z", "2026-11-20T14:15:21.042Z") == {
        "StateMachineArn": MACHINE,
        "Name": "audit-2026-11-20T14-15",
        "Input": SLOT,
    }


@pytest.mark.parametrize(
    ("slot", "entered", "until"),
    [
        # The slot at midnight is yesterday's last.
        ("2026-11-21T00:00:00Z", "2026-11-21T00:00:09.000Z", "2026-11-20T23:55:00.000Z"),
        # Of a time that is not yet nobody can say that all was handed over.
        ("2027-01-01T00:00:00Z", "2026-11-20T14:15:59.999Z", "2026-11-20T14:10:00.000Z"),
        ("2026-11-20T14:15:00Z", "2026-11-20T16:02:00.000Z", "2026-11-20T14:10:00.000Z"),
    ],
)
def test_a_slot_looks_up_to_five_minutes_before_it_or_before_now(
    slot: str, entered: str, until: str
) -> None:
    assert started(slot, entered)["Input"] == {"day": "2026-11-20", "until": until}


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


# --------------------------------------------------------------------------- slots


def test_a_good_slot_says_nothing_to_people_and_tells_the_bus() -> None:
    ended = slot()

    assert ended.error == ""
    assert ended.states == [
        *("Day?", "BeatDeliveries", "BeatExecutions", "RecordDeadLetters"),
        *("FindOthers", "Alone?", "FindCode", "Code?"),
        *("ListEffects", "Exported?", "ListExport", "Exported?"),
        *("ExportEffects", *("AwaitExport", "DescribeExport", "ExportDone?") * 2),
        *("FindSummary", "RunAudit", "ReadSummary"),
        *("Outcome", "News?", "TellOutcome", "Good?", "Done"),
    ]
    assert ended.arguments["RecordDeadLetters"]["Payload"] == SLOT
    (entry,) = ended.arguments["TellOutcome"]["Entries"]
    assert entry["Detail"]["until"] == SLOT["until"]
    assert entry["Detail"]["exit_status"] == 0


def test_a_heartbeat_goes_the_way_of_the_records_and_one_form_is_everybodys() -> None:
    ended = slot()

    log = ended.arguments["BeatDeliveries"]
    assert (log["LogGroupName"], log["LogStreamName"]) == (
        "/aws/lambda/starter",
        "audit-heartbeats",
    )
    (line,), (event,) = log["LogEvents"], ended.arguments["BeatExecutions"]["Entries"]
    assert (event["Source"], event["DetailType"]) == ("actonce", "Records Heartbeat")
    machine = audit_machine.SUBSTITUTIONS["ProcessMessageArn"]
    beat = {"version": 1, "at": SLOT["until"], "event": "heartbeat", "source": machine}
    assert json.loads(line["Message"]) == {"stream": "deliveries"} | beat
    assert event["Detail"] == {"stream": "executions"} | beat


@pytest.mark.parametrize("task", ["BeatDeliveries", "BeatExecutions"])
def test_a_heartbeat_that_fails_stops_no_audit(task: str) -> None:
    ended = slot(**{task: RuntimeError("Throttled")})

    assert (ended.error, ended.states[-1]) == ("", "Done")
    assert ended.arguments["RecordDeadLetters"]["Payload"] == SLOT


OTHERS = "audit-2026-11-20T14-00"


def test_a_slot_beside_an_audit_that_began_before_it_is_left_out() -> None:
    ended = slot(FindOthers=running("audit-2026-11-20T14-15", OTHERS, "e1b9"))

    assert (ended.error, ended.states[-2:]) == ("", ["Alone?", "Done"])
    assert "BeatExecutions" in ended.states  # its streams stand still no more than others


def test_of_two_slots_that_see_each_other_the_one_that_began_first_goes_on() -> None:
    assert "RunAudit" in slot(FindOthers=running(OTHERS, "audit-2026-11-20T14-15")).states


def test_the_night_waits_for_the_audit_that_began_before_it() -> None:
    both = running("audit-2026-11-20", OTHERS)
    ended = night(FindOthers=[both, both, GOOD_NIGHT["FindOthers"]])

    assert ended.states.count("AwaitOther") == 2
    assert told(ended)[0] == "nothing to do"


def test_what_was_started_under_a_name_of_one_s_own_waits_too_and_then_goes_on() -> None:
    answers = GOOD_NIGHT | {"FindOthers": [running("mine", OTHERS), running("mine")]}
    ended = asl.run(audit_machine.definition(), DAY, answers, context("mine"))
    assert (ended.states.count("AwaitOther"), ended.error) == (1, "")


@pytest.mark.parametrize(
    ("before", "now", "is_told"),
    [
        (summary("", 0), summary("", 1), True),
        (summary("", 1), summary("", 1), False),
        (summary("", 1), summary("", 1, alarms_sha256="f0" * 32), True),
        (summary("", 1), summary("", 3), True),
        (summary("", 3), summary("Another number.", 3, indent=2), False),
        (summary("", 3, indent=1), summary("", 3, indent=1), False),
        (RuntimeError("S3.NoSuchKeyException"), summary("", 3), True),
        (RuntimeError("S3.NoSuchKeyException"), summary("", 0), False),
        (summary("", 1), summary("", 0), False),
    ],
)
def test_a_slot_tells_people_what_the_last_run_did_not(
    before: Any, now: Any, is_told: bool
) -> None:
    if isinstance(before, dict):
        before = before | {"ETag": "of-the-last"}
    ended = slot(FindSummary=before, ReadSummary=now)

    assert ("PublishOutcome" in ended.states) is is_told
    assert "TellOutcome" in ended.states
    if is_told:
        assert " until 14:10: " in ended.arguments["PublishOutcome"]["Subject"]


def test_a_slot_that_could_not_be_audited_or_lacks_dead_letters_fails_for_the_alarm_to_tell() -> (
    None
):
    for answers, error in (
        ({"DescribeExport": export("FAILED")}, "NotAudited"),
        ({"ReadSummary": summary("", 2)}, "NotAudited"),
        ({"RecordDeadLetters": RuntimeError("TooManyExecutions")}, "Alarms"),
    ):
        ended = slot(**answers)
        assert ("PublishOutcome" in ended.states, ended.error) == (False, error)


# --------------------------------------------------------------------------- what is asked for


def asked(task: str, day: str, variables: Any = None, **substitutions: str) -> Any:
    state = audit_machine.definition(**substitutions)["States"][task]
    known = {"until": "", "end": "24-00"} | (variables or {})
    return asl.evaluate(state["Arguments"], known, input={"day": day, "since": ""}, context=CONTEXT)


def window(arguments: Any) -> tuple[datetime, datetime]:
    asked_for = arguments["IncrementalExportSpecification"]
    since, until = (
        datetime.fromisoformat(asked_for[name]) for name in ("ExportFromTime", "ExportToTime")
    )
    return since, until


@given(WHOLE_DAYS)
def test_exactly_the_day_is_exported_and_once(day: date) -> None:
    arguments = asked("ExportEffects", day.isoformat())

    since, until = window(arguments)
    assert since == datetime.combine(day, time(), UTC)
    assert until - since == timedelta(days=1)
    assert arguments["S3Prefix"] == f"effects/dt={day.isoformat()}/until-24-00"
    assert arguments == asked("ExportEffects", day.isoformat())  # the token among them


@pytest.mark.parametrize(
    ("newest", "keys", "since"),
    [
        ("13-55", ["AWSDynamoDB/1/manifest-summary.json"], "2026-11-20T13:55:00Z"),
        # What was left out, by a slot that failed or was left out, is made up for.
        ("09-10", ["AWSDynamoDB/1/manifest-summary.json"], "2026-11-20T09:10:00Z"),
        # Less than the least that DynamoDB exports.
        ("14-03", ["AWSDynamoDB/1/manifest-summary.json"], "2026-11-20T13:55:00Z"),
        # Begun, and not ended; and the first one of the day: what may be missing of yesterday, too.
        ("13-55", ["AWSDynamoDB/1/_started"], "2026-11-19T14:10:00Z"),
        (None, [], "2026-11-19T14:10:00Z"),
    ],
)
def test_a_slot_exports_what_no_export_has(newest: str | None, keys: list[str], since: str) -> None:
    ended = slot(
        ListEffects=folders(*(["00-10", newest] if newest else [])),
        ListExport=listed(*(f"effects/dt=2026-11-20/until-{newest}/{key}" for key in keys)),
    )

    arguments = ended.arguments["ExportEffects"]
    assert window(arguments) == (
        datetime.fromisoformat(since),
        datetime.fromisoformat(SLOT["until"]),
    )
    assert arguments["S3Prefix"] == "effects/dt=2026-11-20/until-14-10"


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
        since, until = window(exporting)
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
