import re
from typing import Any

import pytest

from actonce_core.batch import LARGEST_BATCH
from lab.bench.limited import MALLOC
from tests import template as cloudformation
from tests.template import LOCKS, TEMPLATE, as_list, of_type, properties, references, statements

PROJECT = TEMPLATE.parent
FOURTEEN_DAYS = 14 * 24 * 60 * 60


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return cloudformation.load()


@pytest.fixture(scope="module")
def resources(template: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = template["Resources"]
    return found


@pytest.fixture(params=[TEMPLATE, LOCKS], ids=lambda file: file.stem)
def each(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The template of each way."""
    return cloudformation.load(request.param)


# --------------------------------------------------------------------------- queues


def test_every_queue_is_encrypted_and_keeps_messages_as_long_as_sqs_can(
    each: dict[str, Any],
) -> None:
    queues = of_type(each, "AWS::SQS::Queue")

    assert set(queues) == {"RequestsQueue", "UnstartedQueue", "DeadLetterQueue"}
    for queue in queues.values():
        encrypted = queue["Properties"]["SqsManagedSseEnabled"]
        assert encrypted == {"Fn::If": ["HoldsKey", {"Ref": "AWS::NoValue"}, True]}
        assert queue["Properties"]["MessageRetentionPeriod"] == FOURTEEN_DAYS


def test_no_queue_can_be_reached_without_tls(template: dict[str, Any]) -> None:
    queues = set(of_type(template, "AWS::SQS::Queue"))
    (policy,) = of_type(template, "AWS::SQS::QueuePolicy").values()
    (statement,) = policy["Properties"]["PolicyDocument"]["Statement"]

    no_value = {"OwnsQueue", "AWS::NoValue"}  # a queue of the team's has its own policy
    assert set(references(policy["Properties"]["Queues"])) == queues | no_value
    assert set(references(statement["Resource"])) == queues | no_value
    assert statement["Effect"] == "Deny"
    assert statement["Principal"] == "*"
    assert statement["Action"] == "sqs:*"
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_delivery_comes_back_only_after_six_time_outs_of_the_starter(
    resources: dict[str, Any],
) -> None:
    time_out = properties(resources, "StarterFunction")["Timeout"]
    assert properties(resources, "RequestsQueue")["VisibilityTimeout"] == 6 * time_out + 30


def test_no_outage_of_a_day_is_received_away(resources: dict[str, Any]) -> None:
    assert properties(resources, "RequestsQueue")["RedrivePolicy"] == {
        "deadLetterTargetArn": {"Fn::GetAtt": ["UnstartedQueue", "Arn"]},
        "maxReceiveCount": 1000,
    }


def test_dead_letter_stays_in_its_queue_as_long_as_its_execution_waits(
    template: dict[str, Any], resources: dict[str, Any]
) -> None:
    longest_wait = template["Parameters"]["DecisionTimeoutSeconds"]["MaxValue"]

    assert properties(resources, "DeadLetterQueue")["MessageRetentionPeriod"] >= longest_wait


# --------------------------------------------------------------------------- tables


def test_tables_are_on_demand_and_recoverable(each: dict[str, Any]) -> None:
    tables = of_type(each, "AWS::DynamoDB::Table")

    assert set(tables) == {"FingerprintsTable", "AppointmentsTable"}
    for table in tables.values():
        assert table["Properties"]["BillingMode"] == "PAY_PER_REQUEST"
        assert table["Properties"]["PointInTimeRecoverySpecification"] == {
            "PointInTimeRecoveryEnabled": True
        }


# --------------------------------------------------------------------------- functions


THEIR_ARN = {
    "Fn::Sub": "arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:${RequestsQueueName}"
}
OWN_OR_THEIRS = {"Fn::If": ["OwnsQueue", {"Fn::GetAtt": ["RequestsQueue", "Arn"]}, THEIR_ARN]}


def test_a_queue_of_the_teams_takes_the_place_of_the_stacks_everywhere(
    template: dict[str, Any],
) -> None:
    made = cloudformation.resolved(template, RequestsQueueName="orders")["Resources"]
    assert "RequestsQueue" not in made
    assert "RequestsQueue" not in set(references(made))
    starter = properties(made, "StarterFunction")
    assert starter["Events"]["Requests"]["Properties"]["Queue"] == THEIR_ARN
    (taking,) = (s for s in statements(made["StarterRole"]) if s.get("Sid") == "TakeRequests")
    assert taking["Resource"] == THEIR_ARN
    assert properties(made, "Alarms")["Parameters"]["RequestsQueueName"] == "orders"
    assert starter["Environment"]["Variables"]["REQUESTS_QUEUE_URL"] == {
        "Fn::Sub": "https://sqs.${AWS::Region}.${AWS::URLSuffix}/${AWS::AccountId}/"
        "${RequestsQueueName}"
    }


def test_starter_takes_batches_answers_for_each_delivery_and_is_bounded(
    resources: dict[str, Any],
) -> None:
    (event,) = properties(resources, "StarterFunction")["Events"].values()

    assert event["Type"] == "SQS"
    assert event["Properties"]["Queue"] == OWN_OR_THEIRS
    assert event["Properties"]["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert event["Properties"]["BatchSize"] == LARGEST_BATCH  # it is handled side by side
    assert event["Properties"]["ScalingConfig"] == {
        "MaximumConcurrency": {"Ref": "MaximumConcurrency"}
    }


def test_margin_for_a_straggler_outlasts_a_cold_start(template: dict[str, Any]) -> None:
    # Lambda's init takes 10 s at most, and the state's time-out begins before it.
    assert template["Parameters"]["StragglerMarginSeconds"]["MinValue"] > 10


def test_executions_invoke_a_published_version_of_the_effect(resources: dict[str, Any]) -> None:
    given = properties(resources, "ProcessMessage")["DefinitionSubstitutions"]

    for name in ("EffectFunctionArn", "FindFunctionArn"):
        assert given[name] == {
            "Fn::If": ["IsExample", {"Ref": "AppointmentsFunction.Version"}, {"Ref": name}]
        }


def test_whatever_changes_the_effect_publishes_a_version_and_the_earlier_ones_stay(
    template: dict[str, Any], resources: dict[str, Any]
) -> None:
    effect = resources["AppointmentsFunction"]
    function = effect["Properties"]
    by_parameters = {
        name
        for name in references([function["Timeout"], template["Globals"]["Function"]["Runtime"]])
        if name in template["Parameters"]
    }

    assert function["AutoPublishAliasAllProperties"] is True
    # SAM looks at the text of the function alone, in which a parameter's new value is no change.
    named = set(re.findall(r"\$\{(\w+)\}", function["VersionDescription"]["Fn::Sub"]))
    assert named == by_parameters
    # SAM makes the version's DeletionPolicy Retain by itself.
    assert effect["UpdateReplacePolicy"] == "Retain"


@pytest.mark.parametrize("name", ["process_message.asl.json", "audit.asl.json"])
def test_no_partition_is_written_out(name: str) -> None:
    assert "arn:aws:" not in (PROJECT / "statemachine" / name).read_text()


def test_functions_and_state_machine_are_traced(
    template: dict[str, Any], resources: dict[str, Any]
) -> None:
    assert template["Globals"]["Function"]["Tracing"] == "Active"
    assert properties(resources, "ProcessMessage")["Tracing"] == {"Enabled": True}


@pytest.mark.parametrize(
    ("function", "modules"),
    [
        ("StarterFunction", ["starter.py"]),
        ("AppointmentsFunction", ["appointments.py"]),
    ],
)
def test_function_gets_the_variables_that_it_reads(
    resources: dict[str, Any], function: str, modules: list[str]
) -> None:
    code = "".join((PROJECT / "functions" / module).read_text() for module in modules)
    read = set(re.findall(r"""environ(?:\.get\(|\[)\s*"(\w+)\"""", code))

    assert read
    assert read == set(properties(resources, function)["Environment"]["Variables"])


def test_malloc_is_told_what_the_memory_was_measured_with(template: dict[str, Any]) -> None:
    variables = template["Globals"]["Function"]["Environment"]["Variables"]
    assert variables.items() >= MALLOC.items()


# --------------------------------------------------------------------------- the state machine


def test_state_machine_is_standard(resources: dict[str, Any]) -> None:
    # The names of Express workflows deduplicate nothing.
    assert properties(resources, "ProcessMessage")["Type"] == "STANDARD"


def test_a_state_machine_is_never_made_again_under_its_name(resources: dict[str, Any]) -> None:
    # Rows tell its memory by its ARN, so CloudFormation has to name it, anew each time.
    assert "Name" not in properties(resources, "ProcessMessage")


def test_messages_stay_out_of_the_log(resources: dict[str, Any]) -> None:
    assert properties(resources, "ProcessMessage")["Logging"]["IncludeExecutionData"] is False


def test_every_log_has_a_retention_and_every_writer_a_log(each: dict[str, Any]) -> None:
    groups = of_type(each, "AWS::Logs::LogGroup")
    writers = of_type(each, "AWS::Serverless::Function") | of_type(
        each, "AWS::Serverless::StateMachine"
    )

    for group in groups.values():
        assert group["Properties"]["RetentionInDays"] == {"Ref": "LogRetentionDays"}
    for name, writer in writers.items():
        where = writer["Properties"].get("LoggingConfig") or writer["Properties"]["Logging"]
        assert groups.keys() & set(references(where)), name


# --------------------------------------------------------------------------- least privilege


@pytest.mark.parametrize(
    ("role", "reach"),
    [
        # None of these may touch what belongs to another: the starter cannot perform the effect,
        # the effect cannot start executions, the state machine sees no table.
        (
            "StarterRole",
            {
                "RequestsQueue",
                "RequestsQueueName",
                "FingerprintsTable",
                "ProcessMessage",
                "UnstartedQueue",
                "StarterLogGroup",
            },
        ),
        ("AppointmentsRole", {"AppointmentsTable", "AppointmentsLogGroup"}),
        (
            "ProcessMessageRole",
            {"AppointmentsFunction", "EffectFunctionArn", "FindFunctionArn", "DeadLetterQueue"},
        ),
    ],
)
def test_role_reaches_only_its_part(
    template: dict[str, Any], resources: dict[str, Any], role: str, reach: set[str]
) -> None:
    policies = properties(resources, role)["Policies"]

    named = set(references([s["Resource"] for s in statements(policies)]))
    assert named & {*resources, *template["Parameters"]} == reach


def test_starter_can_only_start_executions(resources: dict[str, Any]) -> None:
    # DescribeExecution's quota would drown in a storm of duplicates.
    actions = {
        action
        for statement in statements(properties(resources, "StarterRole")["Policies"])
        for action in as_list(statement["Action"])
    }

    assert {a for a in actions if a.startswith("states:")} == {"states:StartExecution"}
    assert {a for a in actions if a.startswith("dynamodb:")} == {"dynamodb:PutItem"}


def test_every_function_and_the_state_machine_has_a_role_of_its_own(
    each: dict[str, Any],
) -> None:
    users = of_type(each, "AWS::Serverless::Function") | of_type(
        each, "AWS::Serverless::StateMachine"
    )
    roles = [name for user in users.values() for name in references(user["Properties"]["Role"])]

    assert sorted(roles) == sorted(of_type(each, "AWS::IAM::Role"))


# --------------------------------------------------------------------------- parameters, outputs


def test_every_parameter_is_described_and_shown_in_a_group(each: dict[str, Any]) -> None:
    parameters = each["Parameters"]
    groups = each["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    shown = [name for group in groups for name in group["Parameters"]]

    assert all(parameter.get("Description") for parameter in parameters.values())
    assert sorted(shown) == sorted(parameters)


def test_stack_deploys_without_a_word_of_the_user(each: dict[str, Any]) -> None:
    assert [n for n, parameter in each["Parameters"].items() if "Default" not in parameter] == []


def test_outputs_that_the_command_line_reads_exist(template: dict[str, Any]) -> None:
    code = (PROJECT / "actonce" / "stack" / "clients.py").read_text()
    read = set(re.findall(r"""outputs\["(\w+)"\]""", code))

    assert read
    assert read <= template["Outputs"].keys()


def test_the_example_is_only_made_where_no_other_effect_is_named(template: dict[str, Any]) -> None:
    example = {name for name in template["Resources"] if name.startswith("Appointments")}
    assert len(example) == 4
    assert {template["Resources"][name].get("Condition") for name in example} == {"IsExample"}
    always = {name for name, output in template["Outputs"].items() if "Condition" not in output}
    assert not always & {"AppointmentsTableName", "AppointmentsFunctionName", "FindFunctionArn"}
