import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actonce_core.batch import LARGEST_BATCH
from lab.bench.limited import MALLOC
from tests import template as cloudformation
from tests.template import TEMPLATE, as_list, of_type, statements

PROJECT = TEMPLATE.parent
FOURTEEN_DAYS = 14 * 24 * 60 * 60


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return cloudformation.load()


@pytest.fixture(scope="module")
def resources(template: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = template["Resources"]
    return found


LOCKS = TEMPLATE.with_name("locks.yaml")


@pytest.fixture(params=[TEMPLATE, LOCKS], ids=lambda file: file.stem)
def each(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The template of each way."""
    return cloudformation.load(request.param)


def properties(resources: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = resources[name]["Properties"]
    return found


def references(node: Any) -> Iterator[str]:
    """Every name that is referred to under a node, by Ref, GetAtt, Sub or If."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("Ref", "Condition") and isinstance(value, str):
                yield value
            elif key == "Fn::GetAtt":
                yield value[0]
            elif key == "Fn::Sub":
                yield from re.findall(r"\$\{([\w:]+)", str(value))
            elif key == "Fn::If":
                yield value[0]
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


# --------------------------------------------------------------------------- lint


def validate(template: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: text for name, text in os.environ.items() if not name.startswith("AWS_")}
    command = [sys.executable, "-m", "samcli", "validate", "--lint", "--region", "us-east-1"]
    return subprocess.run(
        [*command, "--template-file", str(template)],
        cwd=folder,
        env=environment | {"SAM_CLI_TELEMETRY": "0"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
@pytest.mark.parametrize("file", [TEMPLATE, LOCKS], ids=lambda file: file.stem)
def test_sam_validate_finds_nothing(file: Path, tmp_path: Path) -> None:
    answer = validate(file, tmp_path)

    assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.long
def test_sam_validate_finds_a_broken_template(tmp_path: Path) -> None:
    broken = tmp_path / "template.yaml"
    broken.write_text(TEMPLATE.read_text().replace("BillingMode:", "BilingMode:"))

    answer = validate(broken, tmp_path)

    assert answer.returncode != 0
    assert "BilingMode" in answer.stdout + answer.stderr


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


HOLDS_WHAT_CANNOT_BE_MADE_AGAIN = {
    "AWS::SQS::Queue",  # messages, often the only copies
    "AWS::DynamoDB::Table",
    "AWS::S3::Bucket",
    "AWS::Serverless::StateMachine",  # the names of its executions
}


@pytest.mark.parametrize(
    "file",
    [
        TEMPLATE,
        *(TEMPLATE.with_name(name) for name in ("locks.yaml", "records.yaml", "audit.yaml")),
        *sorted(TEMPLATE.parent.glob("examples/gift_shop*/template.yaml")),
    ],
    ids=lambda file: str(file.relative_to(TEMPLATE.parent)),
)
def test_what_holds_messages_or_memory_outlives_the_stack_and_what_replaces_it(file: Path) -> None:
    resources = cloudformation.load(file)["Resources"]
    holding = {
        name: (one.get("DeletionPolicy"), one.get("UpdateReplacePolicy"))
        for name, one in resources.items()
        if one["Type"] in HOLDS_WHAT_CANNOT_BE_MADE_AGAIN
    }

    assert holding
    assert holding == dict.fromkeys(holding, ("Retain", "Retain"))


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


def test_concurrency_may_be_what_aws_allows(template: dict[str, Any]) -> None:
    concurrency = template["Parameters"]["MaximumConcurrency"]

    assert (concurrency["MinValue"], concurrency["MaxValue"]) == (2, 1000)


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


def test_handlers_exist(each: dict[str, Any]) -> None:
    for function in of_type(each, "AWS::Serverless::Function").values():
        module, _, handler = function["Properties"]["Handler"].partition(".")
        code = (PROJECT / function["Properties"]["CodeUri"] / f"{module}.py").read_text()
        assert f"def {handler}(event" in code


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


def test_no_role_may_do_everything_of_anything(each: dict[str, Any]) -> None:
    roles = of_type(each, "AWS::IAM::Role")

    assert roles
    for role in roles.values():
        for statement in statements(role):
            assert statement["Effect"] == "Allow"
            for action in as_list(statement["Action"]):
                assert "*" not in action


def test_action_with_a_wildcard_is_only_denied(
    resources: dict[str, Any],
) -> None:
    allowed = [
        (name, action)
        for name, resource in resources.items()
        for statement in statements(resource)
        for action in as_list(statement["Action"])
        if statement["Effect"] == "Allow" and "*" in action
    ]

    assert allowed == []


def test_every_wildcard_says_why(template: dict[str, Any]) -> None:
    lines = [
        line
        for line in TEMPLATE.read_text().splitlines()
        if re.match(r"""\s*-?\s*(Resource|Action):\s.*\*""", line)
    ]
    with_wildcard = [
        value
        for statement in statements(template["Resources"])
        for value in as_list(statement["Action"]) + as_list(statement.get("Resource", ""))
        if isinstance(value, str) and "*" in value
    ]

    assert len(lines) == len(with_wildcard)
    for line in lines:
        assert re.search(r"\*\"?\s+# \w+", line), line


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


def test_every_parameter_is_described_used_and_shown_in_a_group(each: dict[str, Any]) -> None:
    parameters = each["Parameters"]
    parts = ("Conditions", "Globals", "Resources", "Outputs")
    used = set(references([each[part] for part in parts if part in each]))
    groups = each["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    shown = [name for group in groups for name in group["Parameters"]]

    assert [
        name for name, parameter in parameters.items() if not parameter.get("Description")
    ] == []
    assert parameters.keys() - used == set()
    assert sorted(shown) == sorted(parameters)


def test_every_condition_is_used(each: dict[str, Any]) -> None:
    used = references([each["Resources"], each["Conditions"], each["Outputs"]])
    assert each["Conditions"].keys() - set(used) == set()


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
