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


def test_what_the_commands_ask_of_it_and_what_it_is_given_is_told() -> None:
    outer = cloudformation.load(AUDITED)
    assert RESOURCES["AuditApplication"]["Properties"]["ReleaseLabel"] == "emr-spark-8.0.0"
    # CloudFormation leaves a log that is no longer named, whose group and permissions go.
    assert RESOURCES["AuditStateMachine"]["Properties"]["LoggingConfiguration"] == {"Level": "OFF"}
    assert set(OF_THE_AUDIT) == outer["Outputs"].keys()
    # What it is given of ActOnce, ActOnce says.
    outputs_used = set(re.findall(r"Once\.Outputs\.(\w+)", AUDITED.read_text()))
    assert outputs_used <= cloudformation.load()["Outputs"].keys()


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


def test_the_machine_outlasts_its_worst_night_and_its_task_the_function() -> None:
    """It has no alarm on a time-out, which nobody would tell, so it must not time out."""
    definition = audit_machine.definition()
    states = definition["States"]
    properties = RESOURCES["ExecutionRecordsFunction"]["Properties"]
    assert states["RecordExecutions"]["TimeoutSeconds"] > properties["Timeout"]

    def longest(name: str) -> Any:
        """A state's attempts, of a minute where it has no time-out, and the waits between them."""
        retry, seconds = states[name]["Retry"][-1], states[name].get("TimeoutSeconds", 60)
        most = retry.get("MaxDelaySeconds", 3600)
        waits = [min(retry["IntervalSeconds"] * 2**n, most) for n in range(retry["MaxAttempts"])]
        # The job is tried again only where it was not started.
        return sum(waits) + seconds * (1 if name == "RunAudit" else 1 + len(waits))

    (awaited,) = map(int, re.findall(r"StartTime\) < (\d+)000 ", str(states["Exported?"])))
    assert longest("RecordExecutions") + longest("ExportEffects") < awaited
    after = ("DescribeExport", "RunAudit", "ReadSummary", "PublishOutcome", "TellOutcome")
    assert awaited + 60 + sum(map(longest, after)) < definition["TimeoutSeconds"]


# --------------------------------------------------------------------------- every night


def test_the_schedule_gives_the_time_that_it_was_due_not_the_time_that_it_is() -> None:
    properties = RESOURCES["AuditSchedule"]["Properties"]

    # A retry after midnight would otherwise audit another day.
    assert json.loads(properties["Target"]["Input"]) == {
        "scheduled": "<aws.scheduler.scheduled-time>"
    }
    retries_end = 3 * 3600 + properties["Target"]["RetryPolicy"]["MaximumEventAgeInSeconds"]
    assert 3 * 3600 < retries_end < 24 * 3600


def test_slots_begin_each_hour_or_quarter_of_one_and_only_if_asked_for() -> None:
    def schedules(every: str) -> list[str]:
        made = cloudformation.resolved(OF_AUDIT, AuditEvery=every)["Resources"]
        found = [made[one]["Properties"] for one in made if one == "AuditSchedule"]
        assert all(one["ScheduleExpressionTimezone"] == "UTC" for one in found)
        return [one["ScheduleExpression"] for one in found]

    # Each includes 03:00, by which the machine knows the night.
    assert schedules("off") == []
    assert schedules("day") == ["cron(0 3 * * ? *)"]
    assert schedules("hour") == ["cron(0 * * * ? *)"]
    assert schedules("15 minutes") == ["cron(0/15 * * * ? *)"]
    # The alarm that one is silent.
    assert RESOURCES["NoAuditAlarm"]["Condition"] == "HasNights"
    period = RESOURCES["NoAuditAlarm"]["Properties"]["Period"]
    assert period == {"Fn::If": ["HasSlots", 7200, 86400]}


def test_what_a_slot_looks_at_is_written_before_it_looks() -> None:
    for stream in STREAMS:  # it looks up to five minutes before it
        assert destination(stream)["BufferingHints"]["IntervalInSeconds"] <= 300 - 120
