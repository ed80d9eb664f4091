import json
import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dead_letters_of_day
from actonce.records import audit_package
from pipeline.audit import job as audit
from tests.support import asl, audit_machine

DAY = {"day": "2026-11-20"}
EXECUTION = {"Execution": {"Name": "audit-2026-11-20"}}
SATURDAY = 5
WHOLE_DAYS = st.dates(date(2020, 1, 2), date(2080, 12, 30))


@pytest.fixture(scope="module")
def states() -> dict[str, Any]:
    found: dict[str, Any] = audit_machine.definition()["States"]
    return found


# --------------------------------------------------------------------------- lint and graph


def test_cfn_lint_has_nothing_to_say() -> None:
    assert asl.lint(audit_machine.definition()) == []


def test_every_way_leads_to_a_state_and_every_state_to_an_end() -> None:
    assert asl.graph_problems(audit_machine.definition()) == []


def test_every_substitution_is_named() -> None:
    named = set(asl.SUBSTITUTION.findall(audit_machine.AUDIT.read_text()))

    assert named == audit_machine.SUBSTITUTIONS.keys()


def test_whatever_fails_before_the_outcome_is_published_is_published(
    states: dict[str, Any],
) -> None:
    tasks = {
        name: state
        for name, state in states.items()
        if state["Type"] == "Task" and name not in ("StartDay", "PublishOutcome")
    }

    assert set(tasks) == {
        "RecordDeadLetters",
        "FindCode",
        "ListEffects",
        "ExportEffects",
        "DescribeExport",
        "ForgetSummary",
        "RunAudit",
        "ReadSummary",
    }
    goes_on = {"RecordDeadLetters": "FindCode", "RunAudit": "ReadSummary"}
    for name, task in tasks.items():
        (catcher,) = task["Catch"]
        assert catcher["ErrorEquals"] == ["States.ALL"], name
        assert catcher["Next"] == goes_on.get(name, "PublishOutcome"), name


@pytest.mark.parametrize(
    ("name", "state_input", "following"),
    [
        ("Day?", DAY, "RecordDeadLetters"),
        ("Day?", {"scheduled": "2026-11-21T03:00:00Z"}, "StartDay"),
        ("ExportDone?", DAY | {"status": "COMPLETED"}, "ForgetSummary"),
        ("ExportDone?", DAY | {"status": "IN_PROGRESS"}, "AwaitExport"),
        ("ExportDone?", DAY | {"status": "FAILED"}, "PublishOutcome"),
    ],
)
def test_what_follows_a_choice(
    states: dict[str, Any], name: str, state_input: dict[str, Any], following: str
) -> None:
    assert asl.choose(states[name], state_input) == following


def test_a_schedule_that_fires_twice_is_suppressed_by_the_executions_name(
    states: dict[str, Any],
) -> None:
    never_again, _ = states["StartDay"]["Retry"]
    (catcher,) = states["StartDay"]["Catch"]

    assert catcher["ErrorEquals"] == ["StepFunctions.ExecutionAlreadyExistsException"]
    assert never_again == {"ErrorEquals": catcher["ErrorEquals"], "MaxAttempts": 0}
    assert states[catcher["Next"]]["Type"] == "Succeed"


def test_what_is_not_good_or_cannot_be_published_fails_the_execution(
    states: dict[str, Any],
) -> None:
    assert {name for name, state in states.items() if state["Type"] == "Fail"} == {
        "Alarms",
        "NotAudited",
        "NotWhole",
    }
    assert "Catch" not in states["PublishOutcome"]


# --------------------------------------------------------------------------- the day


@given(WHOLE_DAYS, st.times())
def test_the_schedule_starts_the_day_before_under_its_name(day: date, at: time) -> None:
    scheduled = datetime.combine(day + timedelta(days=1), at, UTC)
    state = audit_machine.definition()["States"]["StartDay"]

    arguments = asl.evaluate(
        state["Arguments"],
        input={"scheduled": scheduled.isoformat(timespec="seconds").replace("+00:00", "Z")},
        context={"StateMachine": {"Id": "arn:aws:states:us-east-1:1:stateMachine:audit"}},
    )

    assert arguments["Input"] == {"day": day.isoformat()}
    assert arguments["Name"] == f"audit-{day.isoformat()}"
    assert re.fullmatch(r"[0-9A-Za-z_-]{1,80}", arguments["Name"])
    assert arguments["StateMachineArn"].endswith(":audit")


@given(WHOLE_DAYS)
def test_exactly_the_day_is_exported_and_once(day: date) -> None:
    state = audit_machine.definition()["States"]["ExportEffects"]

    arguments = asl.evaluate(state["Arguments"], input={"day": day.isoformat()})

    window = arguments["IncrementalExportSpecification"]
    since, until = (
        datetime.fromisoformat(window[name]) for name in ("ExportFromTime", "ExportToTime")
    )
    assert since == datetime.combine(day, time(), UTC)
    assert until - since == timedelta(days=1)
    assert arguments["S3Prefix"] == f"effects/dt={day.isoformat()}"
    assert arguments["ClientToken"] == f"effects-{day.isoformat()}"


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("", {"S3SseAlgorithm": "AES256"}),
        (
            "arn:aws:kms:us-east-1:1:key/k",
            {"S3SseAlgorithm": "KMS", "S3SseKmsKeyId": "arn:aws:kms:us-east-1:1:key/k"},
        ),
    ],
)
def test_what_is_exported_is_under_the_key_that_holds_the_rest(
    key: str, expected: dict[str, str]
) -> None:
    state = audit_machine.definition(KmsKeyArn=key)["States"]["ExportEffects"]

    arguments = asl.evaluate(state["Arguments"], input={"day": "2026-01-05"})

    assert {name: arguments[name] for name in arguments if name.startswith("S3Sse")} == expected


@given(WHOLE_DAYS)
def test_the_day_is_judged_as_of_its_end_and_the_day_before_it_once_more(day: date) -> None:
    state = audit_machine.definition()["States"]["RunAudit"]

    submit = asl.evaluate(state["Arguments"], input={"day": day.isoformat()}, context=EXECUTION)[
        "JobDriver"
    ]["SparkSubmit"]

    assert submit["EntryPointArguments"] == [
        "s3://records/",
        *("--from", (day - timedelta(days=1)).isoformat()),
        *("--to", day.isoformat()),
        *("--as-of", f"{day + timedelta(days=1)}T00:00:00Z"),
        *("--reach", "100"),
        *("--out", "s3://audit/audit"),
        *(["--from-raw"] if day.weekday() == SATURDAY else []),
    ]


def test_the_job_is_asked_for_something_that_it_can_be_asked_for(states: dict[str, Any]) -> None:
    submit = asl.evaluate(states["RunAudit"]["Arguments"], input=DAY, context=EXECUTION)[
        "JobDriver"
    ]["SparkSubmit"]
    given_words = vars(audit._parser().parse_args(submit["EntryPointArguments"]))

    request = audit.requested(
        **{name: value for name, value in given_words.items() if name != "json"}
    )

    assert (request.since, request.until) == (date(2026, 11, 19), date(2026, 11, 20))
    assert request.as_of == datetime(2026, 11, 21, tzinfo=UTC)
    assert request.reach is not None
    assert request.reach > 90  # days that AWS keeps the name of an execution
    assert request.out + "/summary.json" == "s3://{Bucket}/{Key}".format(
        **states["ReadSummary"]["Arguments"]
    )


def test_the_package_is_where_the_job_looks_for_it(states: dict[str, Any]) -> None:
    submit = states["RunAudit"]["Arguments"]["JobDriver"]["SparkSubmit"]
    files = {f"s3://audit/code/{file.name}" for file in audit_package.pack()}

    option, package, *_ = submit["SparkSubmitParameters"].split()
    assert option == "--py-files"
    assert {submit["EntryPoint"], package} == files


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        (None, False),
        (["code/pipeline.zip", "code/README"], False),
        (["code/audit.py", "code/other.py", "code/pipeline.zip"], True),
    ],
)
def test_without_its_code_nothing_is_exported_or_started(
    states: dict[str, Any], keys: list[str] | None, found: bool
) -> None:
    result = {} if keys is None else {"Contents": [{"Key": key} for key in keys]}

    output = asl.evaluate(states["FindCode"]["Output"], input=DAY, result=result)

    assert output["code"] is found
    assert output["exit_status"] == 2
    assert "actonce audit package --to s3://audit/code/" in output["sentence"]
    (way,) = states["Code?"]["Choices"]
    assert asl.evaluate(way["Condition"], input=output) is found
    assert asl.evaluate(way["Output"], input=output) == DAY
    assert (way["Next"], states["Code?"]["Default"]) == ("ListEffects", "PublishOutcome")


@pytest.mark.parametrize(
    ("keys", "exported"),
    [
        ([], False),
        (["collected.jsonl.gz"], True),
        (["AWSDynamoDB/1/_started", "AWSDynamoDB/data/x.json.gz"], False),
        (["AWSDynamoDB/1/_started", "AWSDynamoDB/2/manifest-summary.json"], True),
    ],
)
def test_a_day_that_was_exported_is_not_exported_again_and_a_begun_one_is_no_exported_one(
    states: dict[str, Any], keys: list[str], exported: bool
) -> None:
    contents = [{"Key": f"effects/dt=2026-11-20/{key}"} for key in keys]
    result = {"KeyCount": len(keys)} | ({"Contents": contents} if contents else {})

    output = asl.evaluate(states["ListEffects"]["Output"], input=DAY, result=result)

    assert output == DAY | {"exported": exported}
    condition = states["Exported?"]["Choices"][0]["Condition"]
    assert asl.evaluate(condition, input=output) is exported


def test_an_export_that_failed_says_why_and_what_to_do(states: dict[str, Any]) -> None:
    given_input = DAY | {"export": "arn"}
    for description, reason in [
        ({"ExportStatus": "FAILED", "FailureMessage": "No such bucket"}, "No such bucket"),
        ({"ExportStatus": "FAILED"}, "no reason was given"),
    ]:
        output = asl.evaluate(
            states["DescribeExport"]["Output"],
            input=given_input,
            result={"ExportDescription": description},
        )

        assert output["status"] == "FAILED"
        assert output["exit_status"] == 2
        assert f"failed: {reason} (remove" in output["sentence"]


# --------------------------------------------------------------------------- dead letters


def unrecorded(states: dict[str, Any], error: str | None) -> dict[str, Any]:
    """The variables after the dead letters were recorded, or were not for that error."""
    state = states["RecordDeadLetters"]
    if error is None:
        told = asl.evaluate(state["Assign"], input=DAY, result={})
        output = asl.evaluate(state["Output"], input=DAY, result={})
    else:
        caught = {"Error": error, "Cause": ""}
        told = asl.evaluate(state["Catch"][0]["Assign"], input=DAY, errorOutput=caught)
        output = asl.evaluate(state["Catch"][0]["Output"], input=DAY, errorOutput=caught)
    assert output == DAY
    assert isinstance(told, dict)
    return told


def test_the_dead_letters_of_the_day_are_asked_for(states: dict[str, Any]) -> None:
    arguments = asl.evaluate(states["RecordDeadLetters"]["Arguments"], input=DAY)

    assert arguments["Payload"] == DAY
    assert states["RecordDeadLetters"]["Next"] == "FindCode"


def test_only_what_another_try_may_mend_is_tried_again(states: dict[str, Any]) -> None:
    never, again = states["RecordDeadLetters"]["Retry"]
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


def test_a_day_whose_dead_letters_were_not_recorded_is_told_and_no_good_one(
    states: dict[str, Any],
) -> None:
    variables = unrecorded(states, "TooManyExecutions")
    good = DAY | {"exit_status": 0, "sentence": "All is well."}
    arguments = asl.evaluate(states["PublishOutcome"]["Arguments"], variables, input=good)
    output = asl.evaluate(states["PublishOutcome"]["Output"], variables, input=good, result={})

    assert arguments["Subject"] == "ActOnce audit of 2026-11-20: ALARM"
    assert (output["outcome"], output["exit_status"]) == ("audited", 1)
    assert output["sentence"] in arguments["Message"]
    for part in (
        "All is well.\n",
        "TooManyExecutions",
        "actonce collect --day 2026-11-20 --stream dead_letters --to records/",
        "aws s3 sync records/ s3://records/",
    ):
        assert part in output["sentence"]
    bad = good | {"exit_status": 2}
    arguments = asl.evaluate(states["PublishOutcome"]["Arguments"], variables, input=bad)
    output = asl.evaluate(states["PublishOutcome"]["Output"], variables, input=bad, result={})
    assert (arguments["Subject"], output["exit_status"]) == (
        "ActOnce audit of 2026-11-20: not audited",
        2,
    )


# --------------------------------------------------------------------------- the outcome


def summary(sentence: str, exit_status: int, *, indent: int | None = None) -> str:
    whole = {
        "version": 1,
        "from": "2026-11-20",
        "to": "2026-11-20",
        "generated_at": "2026-11-21T03:00:00.000Z",
        "sentence": sentence,
        "exit_status": exit_status,
        "alarms": ["x" * 5000],
    }
    return json.dumps(whole, ensure_ascii=False, indent=indent)[:4096]  # ReadSummary's range


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    ("exit_status", "error", "ends"),
    [
        (0, "none", 0),
        (0, "States.TaskFailed", 1),
        (1, "none", 1),
        (3, "States.TaskFailed", 3),
    ],
)
def test_only_a_job_that_succeeded_and_says_so_is_good(
    states: dict[str, Any], indent: int | None, exit_status: int, error: str, ends: int
) -> None:
    sentence = 'Zoë\'s "request" was acted on twice.'

    output = asl.evaluate(
        states["ReadSummary"]["Output"],
        input=DAY | {"error": error},
        result={"Body": summary(sentence, exit_status, indent=indent)},
    )

    assert output == DAY | {"exit_status": ends, "sentence": sentence}


def test_a_summary_that_cannot_be_understood_is_no_good_outcome(states: dict[str, Any]) -> None:
    output = asl.evaluate(
        states["ReadSummary"]["Output"], input=DAY | {"error": "none"}, result={"Body": "{}"}
    )

    assert output["exit_status"] == 1


@pytest.mark.parametrize(
    ("exit_status", "subject", "following"),
    [
        (0, "ActOnce audit of 2026-11-20: nothing to do", "Done"),
        (1, "ActOnce audit of 2026-11-20: ALARM", "Alarms"),
        (2, "ActOnce audit of 2026-11-20: not audited", "NotAudited"),
        (3, "ActOnce audit of 2026-11-20: not judged whole", "NotWhole"),
    ],
)
def test_the_outcome_is_told_and_is_the_executions_own(
    states: dict[str, Any], exit_status: int, subject: str, following: str
) -> None:
    outcome = DAY | {"exit_status": exit_status, "sentence": "One sentence."}

    variables = unrecorded(states, None)
    arguments = asl.evaluate(states["PublishOutcome"]["Arguments"], variables, input=outcome)
    output = asl.evaluate(states["PublishOutcome"]["Output"], variables, input=outcome, result={})

    assert arguments["Subject"] == subject
    assert len(arguments["Subject"]) < 100  # SNS
    assert arguments["Message"] == "One sentence.\n\nactonce audit page s3://audit/audit/"
    assert output == outcome | {"outcome": "audited"}
    assert asl.choose(states["Good?"], output) == following


def test_alarms_of_the_job_lead_to_its_summary(states: dict[str, Any]) -> None:
    (catcher,) = states["RunAudit"]["Catch"]

    failed = asl.evaluate(
        catcher["Output"], input=DAY, errorOutput={"Error": "States.TaskFailed", "Cause": ""}
    )
    crashed = asl.evaluate(
        states["ReadSummary"]["Catch"][0]["Output"],
        input=failed,
        errorOutput={"Error": "S3.NoSuchKeyException", "Cause": ""},
    )

    assert failed == DAY | {"error": "States.TaskFailed"}
    assert crashed["exit_status"] == 2
    assert "(States.TaskFailed)" in crashed["sentence"]
