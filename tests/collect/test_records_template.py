import re
from typing import Any

import pytest

from actonce.stack.embedded_folder import PROJECT
from tests import template as cloudformation
from tests.template import of_type

RECORDS = PROJECT / "records.yaml"
STREAMS = {"deliveries": "DeliveriesStream", "executions": "ExecutionsStream"}


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return cloudformation.load(RECORDS)


@pytest.fixture(scope="module")
def bucket(template: dict[str, Any]) -> dict[str, Any]:
    (found,) = of_type(template, "AWS::S3::Bucket").values()
    return found


def destination(template: dict[str, Any], stream: str) -> dict[str, Any]:
    properties = template["Resources"][STREAMS[stream]]["Properties"]
    found: dict[str, Any] = properties["ExtendedS3DestinationConfiguration"]
    return found


def test_bucket_forgets_records_old_versions_and_half_uploads(bucket: dict[str, Any]) -> None:
    rules = bucket["Properties"]["LifecycleConfiguration"]["Rules"]
    done = {key for rule in rules for key in rule if rule["Status"] == "Enabled"}

    expiry = {"ExpirationInDays", "NoncurrentVersionExpiration", "AbortIncompleteMultipartUpload"}
    assert expiry <= done
    # A rule with a prefix would leave the rest for ever.
    assert not {"Prefix", "TagFilters"} & done


@pytest.mark.parametrize("stream", STREAMS)
def test_stream_lies_where_the_audit_reads_and_failures_lie_elsewhere(
    template: dict[str, Any], stream: str
) -> None:
    s3 = destination(template, stream)

    assert s3["Prefix"] == f"{stream}/dt=!{{timestamp:yyyy-MM-dd}}/"
    assert s3["ErrorOutputPrefix"].startswith(f"errors/{stream}/!{{firehose:error-output-type}}/")
    assert "CustomTimeZone" not in s3  # UTC
    # Compressed by Firehose itself, an object's name ends in .gz, by which Spark knows it.
    assert s3["CompressionFormat"] == "GZIP"


@pytest.mark.parametrize(
    ("stream", "processors"),
    [
        ("deliveries", ["Decompression", "AppendDelimiterToRecord"]),
        ("executions", ["AppendDelimiterToRecord"]),
    ],
)
def test_every_record_is_a_line(
    template: dict[str, Any], stream: str, processors: list[str]
) -> None:
    configuration = destination(template, stream)["ProcessingConfiguration"]

    assert configuration["Enabled"] is True
    assert [processor["Type"] for processor in configuration["Processors"]] == processors


def test_role_of_each_hop_reaches_only_the_next(template: dict[str, Any]) -> None:
    reach = {
        name: {
            re.sub(r"\W", "", str(resource).replace("Fn::GetAtt", "").replace("Arn", ""))
            for statement in role["Properties"]["Policies"][0]["PolicyDocument"]["Statement"]
            for resource in (
                statement["Resource"]
                if isinstance(statement["Resource"], list)
                else [statement["Resource"]]
            )
        }
        for name, role in of_type(template, "AWS::IAM::Role").items()
    }

    assert reach == {
        "DeliveriesFilterRole": {"DeliveriesStream"},
        "ExecutionsRuleRole": {"ExecutionsStream"},
        "RecordsStreamsRole": {
            "RecordsBucket",
            "RecordsLogGroup",
            "FnSubRecordsBucketdeliveries",
            "FnSubRecordsBucketexecutions",
            "FnSubRecordsBucketerrors",
        },
    }


def test_records_that_do_not_arrive_raise_an_alarm(template: dict[str, Any]) -> None:
    alarms = of_type(template, "AWS::CloudWatch::Alarm").values()

    assert sorted(alarm["Properties"]["MetricName"] for alarm in alarms) == [
        "DeliveryErrors",
        "DeliveryToS3.DataFreshness",
        "DeliveryToS3.DataFreshness",
        "FailedInvocations",
    ]


def test_stack_gives_its_records_every_parameter_and_the_bucket_back(
    template: dict[str, Any],
) -> None:
    audited = PROJECT / "examples" / "audited" / "template.yaml"
    outer = cloudformation.load(audited)
    nested = outer["Resources"]["Records"]

    assert (audited.parent / nested["Properties"]["TemplateURL"]).resolve() == RECORDS
    assert nested["Properties"]["Parameters"].keys() == template["Parameters"].keys()
    assert outer["Outputs"]["RecordsBucketName"]["Value"] == {
        "Fn::GetAtt": ["Records", "Outputs.RecordsBucketName"]
    }
    assert "RecordsBucketName" in template["Outputs"]
