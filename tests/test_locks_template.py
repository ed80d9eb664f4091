"""locks.yaml: the ways without Step Functions; test_every_template.py has the rest."""

import itertools
from typing import Any

import boto3
import pytest

import consumer
from actonce.stack.sources import version, version_of
from lab.bench.limited import MALLOC
from tests import template as cloudformation
from tests.template import (
    LOCKS,
    TEMPLATE,
    as_list,
    of_type,
    properties,
    references,
    resolved,
    statements,
)

WHOLE = cloudformation.load(LOCKS)
OTHER = cloudformation.load(TEMPLATE)
RESOURCES: dict[str, Any] = WHOLE["Resources"]


def test_it_is_of_template_yaml_s_version_and_has_its_outputs() -> None:
    # But those of executions, of their effect, and of what a decision brings them.
    own = {"ProcessMessageArn", "AppointmentsFunctionName", "AlarmTopicKeyArn"}
    own |= {"EffectTimeoutSeconds", "StragglerMarginSeconds"}

    assert version_of(LOCKS.read_text()) == version()
    assert OTHER["Outputs"].keys() - own <= WHOLE["Outputs"].keys()


def test_it_keeps_what_template_yaml_remembered_if_it_is_deployed_over_it() -> None:
    # Another table than before would be an empty memory, whatever it is called.
    for name in ("RequestsQueue", "UnstartedQueue", "DeadLetterQueue", "FingerprintsTable"):
        assert RESOURCES[name]["Type"] == OTHER["Resources"][name]["Type"]
    own, other = (one["FingerprintsTable"] for one in (RESOURCES, OTHER["Resources"]))
    assert "Condition" not in {*own, *other}
    for key in ("KeySchema", "AttributeDefinitions", "BillingMode"):
        assert own["Properties"][key] == other["Properties"][key]


@pytest.mark.parametrize("own", ["", "arn:aws:lambda:us-east-1:123456789012:function:theirs"])
@pytest.mark.parametrize("strategy", ["ledger", "lease"])
def test_what_the_consumer_would_refuse_is_refused_at_deployment_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, strategy: str, own: str
) -> None:
    parameters = WHOLE["Parameters"]
    defaults = {name: one["Default"] for name, one in parameters.items()}
    variables = properties(RESOURCES, "ConsumerFunction")["Environment"]["Variables"]
    environment = {name: value for name, value in variables.items() if isinstance(value, str)}
    # A session of its own: boto3's would go on reading this environment in the tests after it.
    dynamodb = boto3.Session(region_name="us-east-1").client("dynamodb")
    monkeypatch.setattr("os.environ", environment)
    effect = parameters["EffectTimeoutSeconds"]
    accepted = 0
    for time_out, margin, takes in itertools.product(
        parameters["StarterTimeoutSeconds"]["AllowedValues"],
        parameters["StragglerMarginSeconds"]["AllowedValues"],
        range(effect["MinValue"], effect["MaxValue"] + 1) if own else [effect["Default"]],
    ):
        given = {
            "Strategy": strategy,
            "EffectFunctionArn": own,
            "StarterTimeoutSeconds": str(time_out),
            "StragglerMarginSeconds": str(margin),
            "EffectTimeoutSeconds": str(takes),
        }
        filled = defaults | given
        environment |= {
            name: str(filled.get(value["Ref"], ""))
            for name, value in variables.items()
            if isinstance(value, dict) and "Ref" in value
        }
        try:
            consumer._locks(dynamodb)
        except ValueError:
            starts = False
        else:
            starts = True
        accepted += starts
        assert (cloudformation.refusals(WHOLE, **given) == []) is starts, given
        assert not cloudformation.refusals(WHOLE, **given, QueueFeeds="worker")
    assert accepted


def test_delivery_comes_back_after_six_time_outs_and_no_outage_of_a_day_is_received_away() -> None:
    by_time_out = WHOLE["Mappings"]["VisibilityTimeout"]["StarterTimeout"]
    allowed = WHOLE["Parameters"]["StarterTimeoutSeconds"]["AllowedValues"]

    assert properties(RESOURCES, "RequestsQueue")["VisibilityTimeout"] == {
        "Fn::FindInMap": ["VisibilityTimeout", "StarterTimeout", {"Ref": "StarterTimeoutSeconds"}]
    }
    assert properties(RESOURCES, "ConsumerFunction")["Timeout"] == {"Ref": "StarterTimeoutSeconds"}
    assert set(by_time_out) == {str(seconds) for seconds in allowed}
    for seconds in allowed:
        assert by_time_out[str(seconds)] >= 6 * seconds
    variables = properties(RESOURCES, "ConsumerFunction")["Environment"]["Variables"]
    assert variables.items() >= MALLOC.items()
    assert properties(RESOURCES, "RequestsQueue")["RedrivePolicy"] == {
        "deadLetterTargetArn": {"Fn::GetAtt": ["UnstartedQueue", "Arn"]},
        "maxReceiveCount": {"Fn::If": ["FeedsWorker", 150, 1000]},
    }


def test_a_worker_takes_in_the_consumers_place() -> None:
    for feeds, enabled in (("function", True), ("worker", False)):
        made = resolved(WHOLE, QueueFeeds=feeds)["Resources"]
        (event,) = properties(made, "ConsumerFunction")["Events"].values()
        assert event["Properties"]["Enabled"] is enabled
        assert event["Properties"]["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


@pytest.mark.parametrize("effect", ["", "arn:aws:lambda:us-east-1:123456789012:function:theirs"])
def test_consumer_reaches_only_its_part(effect: str) -> None:
    made = resolved(WHOLE, EffectFunctionArn=effect)["Resources"]
    allowed = list(statements(made["ConsumerRole"]))

    tables = {
        name
        for one in allowed
        if any(action.startswith("dynamodb:") for action in as_list(one["Action"]))
        for name in references(one["Resource"])
    }
    calls = [one for one in allowed if one["Action"] == "lambda:InvokeFunction"]
    if effect:
        assert tables == {"FingerprintsTable"}
        assert [one["Resource"] for one in calls] == [[effect]]
        assert "AppointmentsTable" not in made
    else:
        assert tables == {"FingerprintsTable", "AppointmentsTable"}
        assert not calls


def test_what_waits_and_what_goes_wrong_raises_an_alarm() -> None:
    alarms = of_type(WHOLE, "AWS::CloudWatch::Alarm")
    watched = {
        "DeadLettersWaitingAlarm": "DeadLetterQueue",
        "DeadLettersArrivingAlarm": "DeadLetterQueue",
        "UnstartedMessagesAlarm": "UnstartedQueue",
        "UnstartedArrivingAlarm": "UnstartedQueue",
        "ConsumerErrorsAlarm": "ConsumerFunction",
        "FailedDeliveriesAlarm": "AWS::StackName",
        "NothingReceivedAlarm": "RequestsQueue",
    }

    assert alarms.keys() == watched.keys()
    for name, alarm in alarms.items():
        assert watched[name] in set(references(alarm["Properties"]))
