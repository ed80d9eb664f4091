"""alarms.yaml: what tells people, nested in template.yaml."""

from collections import Counter
from typing import Any

import pytest

from actonce_core.delivery import LONGEST_BACKOFF_SECONDS, START_BACKOFF_GROWTH, seconds_until_back
from tests import template as cloudformation
from tests.template import TEMPLATE, of_type, properties, references

ALARMS_FILE = TEMPLATE.with_name("alarms.yaml")


WHOLE = cloudformation.load(ALARMS_FILE)
RESOURCES: dict[str, Any] = WHOLE["Resources"]


def test_these_alarms_are_raised_and_no_other() -> None:
    found: Counter[Any] = Counter()
    for alarm in of_type(WHOLE, "AWS::CloudWatch::Alarm").values():
        wanted = alarm["Properties"]
        if "MetricName" in wanted:
            assert wanted["ComparisonOperator"] == "GreaterThanThreshold"
            (source,) = set(references(wanted["Dimensions"]))
            found[wanted["Namespace"], wanted["MetricName"], source] += 1
        else:
            found["two metrics"] += 1

    assert found == {
        # of which one is for a day
        ("AWS/SQS", "ApproximateNumberOfMessagesVisible", "DeadLetterQueueName"): 2,
        ("AWS/SQS", "ApproximateNumberOfMessagesVisible", "UnstartedQueueName"): 2,
        # of which one is for many
        ("AWS/SQS", "NumberOfMessagesSent", "DeadLetterQueueName"): 2,
        ("AWS/SQS", "NumberOfMessagesSent", "UnstartedQueueName"): 1,
        ("AWS/SQS", "ApproximateAgeOfOldestMessage", "RequestsQueueName"): 1,
        ("AWS/States", "ExecutionsFailed", "ProcessMessageArn"): 1,
        ("AWS/States", "ExecutionsAborted", "ProcessMessageArn"): 1,
        ("AWS/States", "ExecutionsTimedOut", "ProcessMessageArn"): 1,
        ("AWS/Lambda", "Errors", "StarterFunctionName"): 1,
        ("AWS/Lambda", "Throttles", "StarterFunctionName"): 1,
        ("AWS/Lambda", "Errors", "EffectFunctionName"): 1,
        ("AWS/Lambda", "Throttles", "EffectFunctionName"): 1,
        ("ActOnce", "OldestFailedAge", "ActOnceStackName"): 1,
        "two metrics": 1,
    }


@pytest.mark.parametrize("queue", ["DeadLetter", "Unstarted"])
def test_what_waits_for_long_does_not_hide_what_arrives(queue: str) -> None:
    letters = "DeadLetters" if queue == "DeadLetter" else queue
    arriving = properties(RESOURCES, f"{letters}ArrivingAlarm")
    assert f"{queue}QueueName" in set(references(arriving["Dimensions"]))
    assert (arriving["MetricName"], arriving["Statistic"]) == ("NumberOfMessagesSent", "Sum")
    assert arriving["Period"] * arriving["EvaluationPeriods"] == 60
    old = properties(RESOURCES, f"{letters}OldAlarm")
    assert old["Period"] * old["EvaluationPeriods"] == 86_400
    assert old["MetricName"] != "ApproximateAgeOfOldestMessage"


def test_what_keeps_failing_raises_an_alarm_however_seldom_it_is_tried() -> None:
    """SQS's own metric of ages leaves out what a standard queue has handed out three times."""
    alarm = properties(RESOURCES, "StarterFailedDeliveriesAlarm")
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


def test_requests_that_wait_while_none_is_taken_raise_an_alarm() -> None:
    alarm = properties(RESOURCES, "NothingReceivedAlarm")
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


def test_alarms_may_publish_to_the_encrypted_topic() -> None:
    cloudwatch = {"Service": "cloudwatch.amazonaws.com"}
    topic = properties(RESOURCES, "AlarmTopicPolicy")["PolicyDocument"]["Statement"]
    key = properties(RESOURCES, "AlarmTopicKey")["KeyPolicy"]["Statement"]

    assert properties(RESOURCES, "AlarmTopic")["KmsMasterKeyId"] == {
        "Fn::If": ["HoldsKey", {"Ref": "KmsKeyArn"}, {"Ref": "AlarmTopicKey"}]
    }
    assert [s["Action"] for s in topic if s["Principal"] == cloudwatch] == ["sns:Publish"]
    assert [set(s["Action"]) for s in key if s["Principal"] == cloudwatch] == [
        {"kms:Decrypt", "kms:GenerateDataKey"}
    ]
