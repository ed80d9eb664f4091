"""template.yaml, and alarms.yaml nested in it; the rest is in test_every_template.py."""

import re
from collections import Counter
from typing import Any

import pytest

from actonce_core.batch import LARGEST_BATCH
from actonce_core.delivery import LONGEST_BACKOFF_SECONDS, START_BACKOFF_GROWTH, seconds_until_back
from lab.bench.limited import MALLOC
from tests import template as cloudformation
from tests.template import TEMPLATE, as_list, of_type, properties, references, statements

PROJECT = TEMPLATE.parent
WHOLE = cloudformation.load()
RESOURCES: dict[str, Any] = WHOLE["Resources"]
STARTER = properties(RESOURCES, "StarterFunction")
PROCESS_MESSAGE = properties(RESOURCES, "ProcessMessage")
REQUESTS_QUEUE = properties(RESOURCES, "RequestsQueue")


# --------------------------------------------------------------------------- queues


def test_delivery_comes_back_after_six_time_outs_and_no_outage_of_a_day_is_received_away() -> None:
    assert REQUESTS_QUEUE["VisibilityTimeout"] == 6 * STARTER["Timeout"] + 30
    assert REQUESTS_QUEUE["RedrivePolicy"] == {
        "deadLetterTargetArn": {"Fn::GetAtt": ["UnstartedQueue", "Arn"]},
        "maxReceiveCount": 1000,
    }


def test_dead_letter_stays_in_its_queue_as_long_as_its_execution_waits() -> None:
    longest_wait = WHOLE["Parameters"]["DecisionTimeoutSeconds"]["MaxValue"]

    assert properties(RESOURCES, "DeadLetterQueue")["MessageRetentionPeriod"] >= longest_wait


def test_a_queue_of_the_teams_takes_the_place_of_the_stacks_everywhere() -> None:
    theirs = {
        "Fn::Sub": "arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:${RequestsQueueName}"
    }
    made = cloudformation.resolved(WHOLE, RequestsQueueName="orders")["Resources"]
    starter = properties(made, "StarterFunction")
    (taking,) = (s for s in statements(made["StarterRole"]) if s.get("Sid") == "TakeRequests")

    assert "RequestsQueue" not in {*made, *references(made)}
    assert starter["Events"]["Requests"]["Properties"]["Queue"] == theirs
    assert taking["Resource"] == theirs
    assert properties(made, "Alarms")["Parameters"]["RequestsQueueName"] == "orders"
    assert starter["Environment"]["Variables"]["REQUESTS_QUEUE_URL"] == {
        "Fn::Sub": "https://sqs.${AWS::Region}.${AWS::URLSuffix}/${AWS::AccountId}/"
        "${RequestsQueueName}"
    }


# --------------------------------------------------------------------------- functions


def test_starter_takes_batches_answers_for_each_delivery_and_is_bounded() -> None:
    (event,) = STARTER["Events"].values()

    assert event["Type"] == "SQS"
    assert event["Properties"]["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert event["Properties"]["BatchSize"] == LARGEST_BATCH  # it is handled side by side
    bound = event["Properties"]["ScalingConfig"]
    assert bound == {"MaximumConcurrency": {"Ref": "MaximumConcurrency"}}


def test_margin_for_a_straggler_outlasts_a_cold_start() -> None:
    # Lambda's init takes 10 s at most, and the state's time-out begins before it.
    assert WHOLE["Parameters"]["StragglerMarginSeconds"]["MinValue"] > 10


def test_executions_invoke_a_published_version_of_the_effect() -> None:
    for name in ("EffectFunctionArn", "FindFunctionArn"):
        assert PROCESS_MESSAGE["DefinitionSubstitutions"][name] == {
            "Fn::If": ["IsExample", {"Ref": "AppointmentsFunction.Version"}, {"Ref": name}]
        }


def test_whatever_changes_the_effect_publishes_a_version_and_the_earlier_ones_stay() -> None:
    effect = RESOURCES["AppointmentsFunction"]
    function = effect["Properties"]
    by_parameters = {
        name
        for name in references([function["Timeout"], WHOLE["Globals"]["Function"]["Runtime"]])
        if name in WHOLE["Parameters"]
    }

    assert function["AutoPublishAliasAllProperties"] is True
    # SAM looks at the text of the function alone, in which a parameter's new value is no change.
    named = set(re.findall(r"\$\{(\w+)\}", function["VersionDescription"]["Fn::Sub"]))
    assert named == by_parameters
    # SAM makes the version's DeletionPolicy Retain by itself.
    assert effect["UpdateReplacePolicy"] == "Retain"


def test_functions_are_traced_and_malloc_is_told_what_the_memory_was_measured_with() -> None:
    function = WHOLE["Globals"]["Function"]
    assert function["Tracing"] == "Active"
    assert function["Environment"]["Variables"].items() >= MALLOC.items()


# --------------------------------------------------------------------------- the state machine


def test_state_machine_is_standard_traced_named_anew_and_logs_no_message() -> None:
    # The names of Express workflows deduplicate nothing.
    assert PROCESS_MESSAGE["Type"] == "STANDARD"
    # Rows tell its memory by its ARN, so CloudFormation has to name it, anew each time.
    assert "Name" not in PROCESS_MESSAGE
    assert PROCESS_MESSAGE["Logging"]["IncludeExecutionData"] is False
    assert PROCESS_MESSAGE["Tracing"] == {"Enabled": True}


@pytest.mark.parametrize("name", ["process_message.asl.json", "audit.asl.json"])
def test_no_partition_is_written_out(name: str) -> None:
    assert "arn:aws:" not in (PROJECT / "statemachine" / name).read_text()


# --------------------------------------------------------------------------- least privilege


@pytest.mark.parametrize(
    ("role", "reach"),
    [
        # None of these may touch what belongs to another: the starter cannot perform the effect,
        # the effect cannot start executions, the state machine sees no table.
        (
            "StarterRole",
            {
                *("RequestsQueue", "RequestsQueueName", "UnstartedQueue"),
                *("FingerprintsTable", "ProcessMessage", "StarterLogGroup"),
            },
        ),
        ("AppointmentsRole", {"AppointmentsTable", "AppointmentsLogGroup"}),
        (
            "ProcessMessageRole",
            {"AppointmentsFunction", "EffectFunctionArn", "FindFunctionArn", "DeadLetterQueue"},
        ),
    ],
)
def test_role_reaches_only_its_part(role: str, reach: set[str]) -> None:
    policies = properties(RESOURCES, role)["Policies"]

    named = set(references([s["Resource"] for s in statements(policies)]))
    assert named & {*RESOURCES, *WHOLE["Parameters"]} == reach


def test_starter_can_only_start_executions() -> None:
    # DescribeExecution's quota would drown in a storm of duplicates.
    actions = {
        action
        for statement in statements(properties(RESOURCES, "StarterRole")["Policies"])
        for action in as_list(statement["Action"])
    }

    assert {a for a in actions if a.startswith("states:")} == {"states:StartExecution"}
    assert {a for a in actions if a.startswith("dynamodb:")} == {"dynamodb:PutItem"}


# --------------------------------------------------------------------------- outputs


def test_outputs_that_the_command_line_reads_exist() -> None:
    code = (PROJECT / "actonce" / "stack" / "clients.py").read_text()
    read = set(re.findall(r"""outputs\["(\w+)"\]""", code))

    assert read
    assert read <= WHOLE["Outputs"].keys()


def test_the_example_is_only_made_where_no_other_effect_is_named() -> None:
    example = [RESOURCES[name] for name in RESOURCES if name.startswith("Appointments")]
    assert [one.get("Condition") for one in example] == ["IsExample"] * 4
    always = {name for name, output in WHOLE["Outputs"].items() if "Condition" not in output}
    assert not always & {"AppointmentsTableName", "AppointmentsFunctionName", "FindFunctionArn"}


# --------------------------------------------------------------------------- alarms


ALARMS_FILE = TEMPLATE.with_name("alarms.yaml")


ALARMS = cloudformation.load(ALARMS_FILE)
ALARMS_OWN: dict[str, Any] = ALARMS["Resources"]


def test_these_alarms_are_raised_and_no_other() -> None:
    found: Counter[Any] = Counter()
    for alarm in of_type(ALARMS, "AWS::CloudWatch::Alarm").values():
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
    arriving = properties(ALARMS_OWN, f"{letters}ArrivingAlarm")
    assert f"{queue}QueueName" in set(references(arriving["Dimensions"]))
    assert (arriving["MetricName"], arriving["Statistic"]) == ("NumberOfMessagesSent", "Sum")
    assert arriving["Period"] * arriving["EvaluationPeriods"] == 60
    old = properties(ALARMS_OWN, f"{letters}OldAlarm")
    assert old["Period"] * old["EvaluationPeriods"] == 86_400
    assert old["MetricName"] != "ApproximateAgeOfOldestMessage"


def test_what_keeps_failing_raises_an_alarm_however_seldom_it_is_tried() -> None:
    """SQS's own metric of ages leaves out what a standard queue has handed out three times."""
    alarm = properties(ALARMS_OWN, "StarterFailedDeliveriesAlarm")
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
    alarm = properties(ALARMS_OWN, "NothingReceivedAlarm")
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
    topic = properties(ALARMS_OWN, "AlarmTopicPolicy")["PolicyDocument"]["Statement"]
    key = properties(ALARMS_OWN, "AlarmTopicKey")["KeyPolicy"]["Statement"]

    assert properties(ALARMS_OWN, "AlarmTopic")["KmsMasterKeyId"] == {
        "Fn::If": ["HoldsKey", {"Ref": "KmsKeyArn"}, {"Ref": "AlarmTopicKey"}]
    }
    assert [s["Action"] for s in topic if s["Principal"] == cloudwatch] == ["sns:Publish"]
    assert [set(s["Action"]) for s in key if s["Principal"] == cloudwatch] == [
        {"kms:Decrypt", "kms:GenerateDataKey"}
    ]
