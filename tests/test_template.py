"""template.yaml; what it has in common with the others, test_every_template.py tests."""

import re
from typing import Any

import pytest

from actonce_core.batch import LARGEST_BATCH
from lab.bench.limited import MALLOC
from tests import template as cloudformation
from tests.template import TEMPLATE, as_list, properties, references, statements

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
