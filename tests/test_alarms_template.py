"""alarms.yaml: what tells people, nested in template.yaml."""

from typing import Any

import pytest

from actonce_core.delivery import LONGEST_BACKOFF_SECONDS, START_BACKOFF_GROWTH, seconds_until_back
from tests import template as cloudformation
from tests.template import TEMPLATE, of_type, properties, references

ALARMS_FILE = TEMPLATE.with_name("alarms.yaml")


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return cloudformation.load(ALARMS_FILE)


@pytest.fixture(scope="module")
def resources(template: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = template["Resources"]
    return found


def test_it_is_given_what_it_watches(template: dict[str, Any]) -> None:
    nested = cloudformation.load()["Resources"]["Alarms"]["Properties"]
    assert nested["TemplateURL"] == ALARMS_FILE.name
    assert nested["Parameters"].keys() == template["Parameters"].keys()
    used = set(references([template["Conditions"], template["Resources"]]))
    assert template["Parameters"].keys() <= used


ALARMS = [
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible", "DeadLetterQueueName"),
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible", "DeadLetterQueueName"),  # for a day
    ("AWS/SQS", "NumberOfMessagesSent", "DeadLetterQueueName"),
    ("AWS/SQS", "NumberOfMessagesSent", "DeadLetterQueueName"),  # many
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible", "UnstartedQueueName"),
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible", "UnstartedQueueName"),  # for a day
    ("AWS/SQS", "NumberOfMessagesSent", "UnstartedQueueName"),
    ("AWS/SQS", "ApproximateAgeOfOldestMessage", "RequestsQueueName"),
    ("AWS/States", "ExecutionsFailed", "ProcessMessageArn"),
    ("AWS/States", "ExecutionsAborted", "ProcessMessageArn"),
    ("AWS/States", "ExecutionsTimedOut", "ProcessMessageArn"),
    ("AWS/Lambda", "Errors", "StarterFunctionName"),
    ("AWS/Lambda", "Throttles", "StarterFunctionName"),
    ("AWS/Lambda", "Errors", "EffectFunctionName"),
    ("AWS/Lambda", "Throttles", "EffectFunctionName"),
    ("ActOnce", "OldestFailedAge", "ActOnceStackName"),
]


@pytest.mark.parametrize(("namespace", "metric", "source"), sorted(set(ALARMS)))
def test_alarm_is_raised(
    template: dict[str, Any], namespace: str, metric: str, source: str
) -> None:
    found = [
        alarm["Properties"]
        for alarm in of_type(template, "AWS::CloudWatch::Alarm").values()
        if (alarm["Properties"].get("Namespace"), alarm["Properties"].get("MetricName"))
        == (namespace, metric)
        and source in references(alarm["Properties"]["Dimensions"])
    ]

    assert len(found) == ALARMS.count((namespace, metric, source))
    for alarm in found:
        assert alarm["ComparisonOperator"] == "GreaterThanThreshold"


@pytest.mark.parametrize("queue", ["DeadLetter", "Unstarted"])
def test_what_waits_for_long_does_not_hide_what_arrives(
    resources: dict[str, Any], queue: str
) -> None:
    letters = "DeadLetters" if queue == "DeadLetter" else queue
    arriving = properties(resources, f"{letters}ArrivingAlarm")
    assert f"{queue}QueueName" in set(references(arriving["Dimensions"]))
    assert (arriving["MetricName"], arriving["Statistic"]) == ("NumberOfMessagesSent", "Sum")
    assert arriving["Period"] * arriving["EvaluationPeriods"] == 60
    old = properties(resources, f"{letters}OldAlarm")
    assert old["Period"] * old["EvaluationPeriods"] == 86_400
    assert old["MetricName"] != "ApproximateAgeOfOldestMessage"


def test_what_keeps_failing_raises_an_alarm_however_seldom_it_is_tried(
    resources: dict[str, Any],
) -> None:
    """SQS's own metric of ages leaves out what a standard queue has handed out three times."""
    alarm = properties(resources, "StarterFailedDeliveriesAlarm")
    tries_within_the_threshold = 0
    waited = 0.0
    while waited <= alarm["Threshold"]:
        tries_within_the_threshold += 1
        waited += seconds_until_back(
            tries_within_the_threshold, chance=1.0, growth=START_BACKOFF_GROWTH
        )

    assert set(references(alarm["Dimensions"])) == {"ActOnceStackName"}
    assert (alarm["MetricName"], alarm["Statistic"]) == ("OldestFailedAge", "Maximum")
    # In every window there is a try, also of what waits for its turn besides.
    assert (alarm["EvaluationPeriods"], alarm["Period"]) == (1, 2 * LONGEST_BACKOFF_SECONDS)
    assert tries_within_the_threshold > 5, "a transient failure tells nobody"


def test_no_alarm_looks_back_further_than_cloudwatch_does(template: dict[str, Any]) -> None:
    for alarm in of_type(template, "AWS::CloudWatch::Alarm").values():
        wanted = alarm["Properties"]
        if "Period" not in wanted:  # it has an expression
            continue
        seconds = wanted["Period"] * wanted["EvaluationPeriods"]
        assert seconds <= (604_800 if wanted["Period"] >= 3600 else 86_400)
        assert wanted.get("DatapointsToAlarm", 1) <= wanted["EvaluationPeriods"]


def test_every_alarm_tells_the_topic_and_is_quiet_when_nothing_happens(
    template: dict[str, Any],
) -> None:
    alarms = of_type(template, "AWS::CloudWatch::Alarm")

    assert len(alarms) == len(ALARMS) + 1  # and the one that needs two metrics
    for alarm in alarms.values():
        assert alarm["Properties"]["AlarmActions"] == [{"Ref": "AlarmTopic"}]
        assert alarm["Properties"]["TreatMissingData"] == "notBreaching"
        assert alarm["Properties"]["AlarmDescription"]


def test_requests_that_wait_while_none_is_taken_raise_an_alarm(resources: dict[str, Any]) -> None:
    alarm = properties(resources, "NothingReceivedAlarm")
    of_id = {metric["Id"]: metric for metric in alarm["Metrics"]}

    assert of_id["held"]["Expression"] == "IF(waiting > 0 AND FILL(taken, 0) == 0, 1, 0)"
    assert [one for one, metric in of_id.items() if metric.get("ReturnData", True)] == ["held"]
    for name, metric, statistic in (
        ("waiting", "ApproximateNumberOfMessagesVisible", "Minimum"),
        ("taken", "NumberOfMessagesReceived", "Sum"),
    ):
        found = of_id[name]["MetricStat"]
        assert (found["Metric"]["MetricName"], found["Stat"]) == (metric, statistic)
        assert set(references(found["Metric"]["Dimensions"])) == {"RequestsQueueName"}


def test_alarms_may_publish_to_the_encrypted_topic(resources: dict[str, Any]) -> None:
    cloudwatch = {"Service": "cloudwatch.amazonaws.com"}
    topic = properties(resources, "AlarmTopicPolicy")["PolicyDocument"]["Statement"]
    key = properties(resources, "AlarmTopicKey")["KeyPolicy"]["Statement"]

    assert properties(resources, "AlarmTopic")["KmsMasterKeyId"] == {
        "Fn::If": ["HoldsKey", {"Ref": "KmsKeyArn"}, {"Ref": "AlarmTopicKey"}]
    }
    assert [s["Action"] for s in topic if s["Principal"] == cloudwatch] == ["sns:Publish"]
    assert [set(s["Action"]) for s in key if s["Principal"] == cloudwatch] == [
        {"kms:Decrypt", "kms:GenerateDataKey"}
    ]
