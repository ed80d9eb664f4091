"""records.yaml and audit.yaml: what keeps the records, and what judges them every night."""

import json
import re
from typing import Any

import pytest

from actonce.stack.clients import OF_THE_AUDIT
from actonce.stack.embedded_folder import PROJECT
from actonce_pipeline.audit.request import attributes
from actonce_pipeline.errors import CannotAudit
from tests.support import asl, audit_machine
from tests.support import template as cloudformation
from tests.support.template import as_list, statements

# --------------------------------------------------------------------------- records.yaml


OF_RECORDS = cloudformation.load(PROJECT / "templates" / "records.yaml")
STREAMS = {"deliveries": "DeliveriesStream", "executions": "ExecutionsStream"}


def destination(stream: str) -> dict[str, Any]:
    properties = OF_RECORDS["Resources"][STREAMS[stream]]["Properties"]
    found: dict[str, Any] = properties["ExtendedS3DestinationConfiguration"]
    return found


@pytest.mark.parametrize("stream", STREAMS)
def test_stream_lies_where_the_audit_reads_and_failures_lie_elsewhere(stream: str) -> None:
    s3 = destination(stream)

    assert s3["Prefix"] == f"{stream}/dt=!{{timestamp:yyyy-MM-dd}}/"
    assert s3["ErrorOutputPrefix"].startswith(f"errors/{stream}/!{{firehose:error-output-type}}/")
    assert "CustomTimeZone" not in s3  # UTC
    # Compressed by Firehose itself, an object's name ends in .gz, by which Spark knows it.
    assert s3["CompressionFormat"] == "GZIP"
    assert s3["ProcessingConfiguration"]["Enabled"] is True


# --------------------------------------------------------------------------- audit.yaml


OF_AUDIT = cloudformation.load(PROJECT / "templates" / "audit.yaml")
RESOURCES: dict[str, Any] = OF_AUDIT["Resources"]
AUDITED = PROJECT / "examples" / "audited" / "template.yaml"


def allowed(resource: dict[str, Any]) -> dict[str, list[str]]:
    """What a role or policy may do: action to RESOURCES, as they are written."""
    found: dict[str, list[str]] = {}
    policies = resource["Properties"]
    for statement in statements(policies.get("Policies", policies.get("PolicyDocument"))):
        assert statement["Effect"] == "Allow"
        for action in as_list(statement["Action"]):
            found.setdefault(action, []).extend(
                json.dumps(place) for place in as_list(statement["Resource"])
            )
    return found


def test_what_the_commands_ask_of_it_and_what_it_is_given_is_told() -> None:
    outer = cloudformation.load(AUDITED)
    assert RESOURCES["AuditApplication"]["Properties"]["ReleaseLabel"] == "emr-spark-8.0.0"
    assert set(OF_THE_AUDIT) == outer["Outputs"].keys()
    # What it is given of ActOnce, ActOnce says.
    said = set(re.findall(r"Once\.Outputs\.(\w+)", AUDITED.read_text()))
    assert said <= cloudformation.load()["Outputs"].keys()


def test_the_audit_takes_attributes_only_that_name_the_messages_id_and_the_time() -> None:
    pattern = OF_AUDIT["Parameters"]["EffectsAttributes"]["AllowedPattern"]
    for good in ("order_id,sent_at", "order id, sent.at ,card,", "-k,--t"):
        assert re.search(pattern, good)
        assert attributes(good)
    # The first three name no time; a quotation mark would end the text that the job is given.
    for bad in ("", "message_id", "order_id, ,card", ",sent_at", "o'id,at", 'o"id,at', "o\\id,at"):
        assert not re.search(pattern, bad)
    for bad in ("message_id", "order_id, ,card", ",sent_at"):
        with pytest.raises(CannotAudit, match="name both the attribute of the message's id and"):
            attributes(bad)


def test_every_substitution_is_filled_in() -> None:
    filled_in = RESOURCES["AuditStateMachine"]["Properties"]["DefinitionSubstitutions"].keys()
    assert filled_in == set(asl.SUBSTITUTION.findall(audit_machine.AUDIT.read_text()))


# --------------------------------------------------------------------------- least privilege


def needed(resource: str) -> str:
    """The action of a task's resource: `arn:aws:states:::[aws-sdk:]service:action[.sync]`."""
    service, action = resource.removesuffix(".sync").split(":")[-2:]
    service = {"sfn": "states"}.get(service, service)
    action = {"listObjectsV2": "listBucket", "invoke": "invokeFunction"}.get(action, action)
    return f"{service}:{action[0].upper()}{action[1:]}"


def test_the_state_machine_may_do_what_its_states_do_and_no_more() -> None:
    may = allowed(RESOURCES["AuditStateMachineRole"]) | allowed(RESOURCES["StartDaysPolicy"])
    states = audit_machine.definition()["States"].values()

    done = {needed(state["Resource"]) for state in states if "Resource" in state}
    assert done <= set(may)
    beside = {
        "s3:PutObject", "s3:PutObjectAcl", "s3:AbortMultipartUpload",  # the export's
        "emr-serverless:GetJobRun", "emr-serverless:CancelJobRun",  # .sync
        "events:PutTargets", "events:PutRule", "events:DescribeRule",  # .sync
        "iam:PassRole",
        "kms:Decrypt", "kms:GenerateDataKey",  # the topic's
    }  # fmt: skip
    assert {action.split(":")[0] for action in set(may) - done - beside} == {"logs"}
    # A day is started by the schedules, and by the execution that a schedule started.
    starters = RESOURCES["StartDaysPolicy"]["Properties"]["Roles"]
    assert starters == [{"Ref": "AuditStateMachineRole"}, {"Ref": "AuditScheduleRole"}]


def test_function_is_of_the_package_of_the_others_and_its_task_waits_longer() -> None:
    function = RESOURCES["ExecutionRecordsFunction"]
    properties = function["Properties"]
    starter = cloudformation.load()["Resources"]["StarterFunction"]["Properties"]

    assert properties["Code"] == f"../{starter['CodeUri']}"
    everyones = cloudformation.load()["Globals"]["Function"]
    assert properties["Architectures"] == everyones["Architectures"]
    # With Metadata of its own sam would build the same package once more.
    assert "Metadata" not in function
    task = audit_machine.definition()["States"]["RecordExecutions"]
    assert task["TimeoutSeconds"] > properties["Timeout"]
    # The worst night: every attempt of it, the export, and the job, before the machine's own end.
    attempts = 1 + task["Retry"][-1]["MaxAttempts"]
    job = audit_machine.definition()["States"]["RunAudit"]["TimeoutSeconds"]
    assert (
        attempts * task["TimeoutSeconds"] + job + 3600
        < (audit_machine.definition()["TimeoutSeconds"])
    )


# --------------------------------------------------------------------------- every night


def test_the_schedule_gives_the_time_that_it_was_due_not_the_time_that_it_is() -> None:
    properties = RESOURCES["AuditSchedule"]["Properties"]

    # A retry after midnight would otherwise audit another day.
    assert json.loads(properties["Target"]["Input"]) == {
        "scheduled": "<aws.scheduler.scheduled-time>"
    }
    assert properties["ScheduleExpressionTimezone"] == "UTC"
    hour = int(properties["ScheduleExpression"].split()[1])
    retries_end = hour * 3600 + properties["Target"]["RetryPolicy"]["MaximumEventAgeInSeconds"]
    assert 3600 <= hour * 3600 < retries_end < 24 * 3600


def test_slots_begin_each_hour_or_quarter_of_one_and_only_if_asked_for() -> None:
    by_night, slots = RESOURCES["AuditSchedule"], RESOURCES["SlotSchedule"]
    properties = slots["Properties"]

    assert json.loads(properties["Target"]["Input"]) == {"slot": "<aws.scheduler.scheduled-time>"}
    assert properties["ScheduleExpressionTimezone"] == "UTC"
    hourly, quarterly = "cron(0 * * * ? *)", "cron(0/15 * * * ? *)"
    assert properties["ScheduleExpression"] == {"Fn::If": ["IsHourly", hourly, quarterly]}
    assert by_night["Properties"]["Target"]["Arn"] == properties["Target"]["Arn"]
    # A schedule, and the alarm that one is silent.
    assert by_night["Condition"] == RESOURCES["NoAuditAlarm"]["Condition"] == "HasNights"
    assert slots["Condition"] == "HasSlots"
    period = RESOURCES["NoAuditAlarm"]["Properties"]["Period"]
    assert period == {"Fn::If": ["HasSlots", 7200, 86400]}
    conditions = OF_AUDIT["Conditions"]
    assert conditions["HasNights"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "AuditEvery"}, "off"]}]}
    assert conditions["IsHourly"] == {"Fn::Equals": [{"Ref": "AuditEvery"}, "hour"]}


def test_what_a_slot_looks_at_is_written_before_it_looks() -> None:
    for stream in STREAMS:
        seconds = destination(stream)["BufferingHints"]["IntervalInSeconds"]
        assert seconds == {"Fn::If": ["HasSlots", 60, 900]}
    # Of the two templates and the one around them.
    asked = [one["Parameters"]["AuditEvery"] for one in (OF_RECORDS, OF_AUDIT)]
    outer = cloudformation.load(AUDITED)["Parameters"]["AuditEvery"]
    assert {(one["Default"], *one["AllowedValues"]) for one in (*asked, outer)} == {
        ("day", "day", "hour", "15 minutes", "off")
    }
    assert OF_RECORDS["Conditions"]["HasSlots"]["Fn::Or"]
