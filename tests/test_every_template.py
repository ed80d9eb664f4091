"""What holds of every template that ships, whatever it is for."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from actonce_core.events import SOURCE
from lab.bench.limited import MALLOC
from tests.template import (
    LOCKS,
    TEMPLATE,
    as_list,
    load,
    of_type,
    references,
    resolved,
    statements,
)

PROJECT = TEMPLATE.parent
BIN = Path(sys.executable).parent
SAMS = (TEMPLATE, LOCKS)
PLAIN = tuple(TEMPLATE.with_name(f"{name}.yaml") for name in ("alarms", "records", "audit"))
NOTIFICATIONS = PROJECT / "examples" / "notifications" / "template.yaml"
EXAMPLES = tuple(sorted(PROJECT.glob("examples/gift_shop*/template.yaml")))

HOLDS_WHAT_CANNOT_BE_MADE_AGAIN = {
    "AWS::SQS::Queue",  # messages, often the only copies
    "AWS::DynamoDB::Table",
    "AWS::S3::Bucket",
    "AWS::Serverless::StateMachine",  # the names of its executions
}


def by_file(*files: Path) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("file", files, ids=lambda file: str(file.relative_to(PROJECT)))


def said_by(*command: str | Path, folder: Path) -> str:
    """What a checker of this environment says, without AWS; empty: it finds nothing."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith("AWS_")}
    answer = subprocess.run(
        [BIN / command[0], *command[1:]],
        cwd=folder,
        env=environment | {"SAM_CLI_TELEMETRY": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    return answer.stdout + answer.stderr if answer.returncode else ""


@pytest.mark.long
@by_file(*SAMS)
def test_sam_validate_finds_nothing(file: Path, tmp_path: Path) -> None:
    arguments = ("validate", "--lint", "--region", "us-east-1", "--template-file", file)
    assert said_by("sam", *arguments, folder=tmp_path) == ""


def test_cfn_lint_finds_nothing(tmp_path: Path) -> None:
    files = (*PLAIN, NOTIFICATIONS, *EXAMPLES)
    assert said_by("cfn-lint", "--regions", "us-east-1", "--", *files, folder=tmp_path) == ""


# --------------------------------------------------------------------------- what is kept


@by_file(*SAMS, *PLAIN[1:], *EXAMPLES)
def test_what_holds_messages_or_memory_outlives_the_stack_and_what_replaces_it(file: Path) -> None:
    holding = {
        name: (one.get("DeletionPolicy"), one.get("UpdateReplacePolicy"))
        for name, one in load(file)["Resources"].items()
        if one["Type"] in HOLDS_WHAT_CANNOT_BE_MADE_AGAIN
    }

    assert holding
    assert holding == dict.fromkeys(holding, ("Retain", "Retain"))


SAID_BY_EVERY: dict[str, dict[str, Any]] = {
    "AWS::SQS::Queue": {"MessageRetentionPeriod": 14 * 24 * 60 * 60},  # as long as SQS can
    "AWS::DynamoDB::Table": {
        "BillingMode": "PAY_PER_REQUEST",
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
    },
    "AWS::S3::Bucket": {
        "PublicAccessBlockConfiguration": {
            "BlockPublicAcls": True,
            "BlockPublicPolicy": True,
            "IgnorePublicAcls": True,
            "RestrictPublicBuckets": True,
        },
        "VersioningConfiguration": {"Status": "Enabled"},
        "OwnershipControls": {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]},
    },
    "AWS::Logs::LogGroup": {"RetentionInDays": {"Ref": "LogRetentionDays"}},
}


@by_file(*SAMS, *PLAIN)
def test_what_keeps_something_keeps_it_as_long_and_as_safely_as_is_said(file: Path) -> None:
    template = load(file)
    for kind, said in SAID_BY_EVERY.items():
        for name, resource in of_type(template, kind).items():
            assert resource["Properties"].items() >= said.items(), name


@by_file(*SAMS, *PLAIN)
def test_queues_buckets_and_topics_are_not_reached_without_tls(file: Path) -> None:
    template = load(file)
    kinds = {
        "AWS::SQS::Queue": "sqs:*",
        "AWS::S3::Bucket": "s3:*",
        "AWS::SNS::Topic": "sns:Publish",
    }
    for kind, action in kinds.items():
        denied: set[str] = set()
        for policy in of_type(template, f"{kind}Policy").values():
            document = policy["Properties"].pop("PolicyDocument")
            attached = set(references(policy["Properties"]))
            for one in statements(document):
                if (one["Effect"], one["Principal"], one["Action"]) == ("Deny", "*", action):
                    assert one["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
                    denied |= attached & set(references(one["Resource"]))
                    # What lies in a bucket is another resource than the bucket.
                    assert kind != "AWS::S3::Bucket" or "/*'" in str(one["Resource"])
        assert of_type(template, kind).keys() == denied & template["Resources"].keys()


@by_file(*SAMS, *PLAIN[1:])
def test_every_writer_has_a_log(file: Path) -> None:
    template = load(file)
    groups = of_type(template, "AWS::Logs::LogGroup")
    for name, resource in template["Resources"].items():
        if resource["Type"].endswith(("::Function", "::StateMachine")):
            properties = resource["Properties"]
            where = [properties.get(one) for one in ("LoggingConfig", "LoggingConfiguration")]
            assert groups.keys() & set(references([*where, properties.get("Logging")])), name


@by_file(*SAMS, *PLAIN)
def test_every_alarm_tells_a_topic_and_is_quiet_when_nothing_happens(file: Path) -> None:
    alarms = of_type(load(file), "AWS::CloudWatch::Alarm")

    assert bool(alarms) is (file != TEMPLATE)  # its own are nested
    for name, alarm in alarms.items():
        wanted = alarm["Properties"]
        assert wanted["AlarmActions"] in ([{"Ref": "AlarmTopic"}], [{"Ref": "AlarmTopicArn"}])
        silence = "breaching" if name == "NoAuditAlarm" else "notBreaching"
        assert wanted["TreatMissingData"] == silence
        assert wanted["AlarmDescription"]
        if "Period" in wanted:  # else it has an expression
            seconds = wanted["Period"] * wanted["EvaluationPeriods"]
            assert seconds <= (604_800 if wanted["Period"] >= 3600 else 86_400)  # CloudWatch's most
            assert wanted.get("DatapointsToAlarm", 1) <= wanted["EvaluationPeriods"]


# --------------------------------------------------------------------------- least privilege


@by_file(*SAMS, *PLAIN, NOTIFICATIONS)
def test_nobody_may_do_everything_but_the_owner_of_a_key(file: Path) -> None:
    allowed = [
        (name, action)
        for name, resource in load(file)["Resources"].items()
        for statement in statements(resource)
        for action in as_list(statement["Action"])
        if statement["Effect"] == "Allow" and "*" in action
    ]

    assert allowed == ([("AlarmTopicKey", "kms:*")] if file.stem == "alarms" else [])


@by_file(*SAMS, *PLAIN, NOTIFICATIONS)
def test_every_wildcard_says_why(file: Path) -> None:
    for line in file.read_text().splitlines():
        # Of the versions of a function the statement says it once, above.
        is_one = "*" in line.replace(':*"', "")
        if is_one and re.match(r"\s*(-|Action:|Resource:|Condition:)", line):
            assert re.search(r"\*.*\s# \w+", line), line


@by_file(*SAMS, *PLAIN[1:])
def test_every_function_and_state_machine_has_a_role_of_its_own(file: Path) -> None:
    template = load(file)
    roles = [
        role
        for resource in template["Resources"].values()
        if resource["Type"].endswith(("::Function", "::StateMachine"))
        for role in references(resource["Properties"].get("Role", resource["Properties"]))
        if role in of_type(template, "AWS::IAM::Role")
    ]

    assert len(roles) == len(set(roles))
    assert file not in SAMS or sorted(roles) == sorted(of_type(template, "AWS::IAM::Role"))


@by_file(*SAMS, *PLAIN, NOTIFICATIONS)
def test_a_role_is_taken_by_one_service_and_for_this_account(file: Path) -> None:
    for name, role in of_type(load(file), "AWS::IAM::Role").items():
        (trust,) = statements(role["Properties"]["AssumeRolePolicyDocument"])
        assert isinstance(service := trust["Principal"]["Service"], str), name
        # Lambda takes a role for functions of its own account only, and does not say for whom.
        ours = {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
        assert trust.get("Condition") == (None if service == "lambda.amazonaws.com" else ours)


@pytest.mark.parametrize(
    ("file", "telling"),
    [
        (TEMPLATE, {"StarterRole", "ProcessMessageRole"}),
        (LOCKS, {"ConsumerRole"}),
        (TEMPLATE.with_name("audit.yaml"), {"AuditStateMachineRole"}),
    ],
    ids=["template", "locks", "audit"],
)
def test_who_tells_may_put_events_of_ours_on_the_account_s_own_bus_alone(
    file: Path, telling: set[str]
) -> None:
    bus = "arn:${AWS::Partition}:events:${AWS::Region}:${AWS::AccountId}:event-bus/default"
    allowed = {
        name: statement
        for name, role in of_type(load(file), "AWS::IAM::Role").items()
        for statement in statements(role)
        if statement["Action"] == "events:PutEvents"
    }

    assert allowed.keys() == telling
    for statement in allowed.values():
        assert statement["Resource"] == {"Fn::Sub": bus}
        # The source of each of a call's events: a key of many values.
        assert statement["Condition"] == {"ForAllValues:StringEquals": {"events:source": SOURCE}}


# --------------------------------------------------------------------------- parameters


@by_file(*SAMS)
def test_stack_deploys_without_a_word_and_shows_every_parameter_in_a_group(file: Path) -> None:
    template = load(file)
    parameters = template["Parameters"]
    groups = template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]

    assert all(one.get("Description") and "Default" in one for one in parameters.values())
    assert sorted(name for one in groups for name in one["Parameters"]) == sorted(parameters)


AUDITED = PROJECT / "examples" / "audited" / "template.yaml"


@pytest.mark.parametrize(
    ("outer", "name", "inner"),
    [(TEMPLATE, "Alarms", PLAIN[0]), (AUDITED, "Records", PLAIN[1]), (AUDITED, "Audit", PLAIN[2])],
)
def test_a_nested_stack_is_given_every_parameter_and_uses_it(
    outer: Path, name: str, inner: Path
) -> None:
    nested, template = load(outer)["Resources"][name]["Properties"], load(inner)
    used = set(references([template.get("Conditions"), template["Resources"]]))

    assert (outer.parent / nested["TemplateURL"]).resolve() == inner
    assert nested["Parameters"].keys() == template["Parameters"].keys()
    assert template["Parameters"].keys() <= used


@pytest.mark.parametrize(
    ("file", "function", "modules", "unset"),
    [
        (TEMPLATE, "StarterFunction", ["starter"], set()),
        (TEMPLATE, "AppointmentsFunction", ["appointments"], set()),
        # Fewer retries are on the embedded AWS alone.
        (LOCKS, "ConsumerFunction", ["consumer", "appointments"], {"MAX_RETRIES"}),
        (PLAIN[2], "DeadLettersFunction", ["dead_letters_of_day"], set()),
    ],
)
def test_a_function_gets_the_variables_that_it_reads(
    file: Path, function: str, modules: list[str], unset: set[str]
) -> None:
    code = "".join((PROJECT / "functions" / f"{one}.py").read_text() for one in modules)
    read = set(re.findall(r"""environ(?:\.get\(|\[)\s*"(\w+)\"""", code))
    variables = load(file)["Resources"][function]["Properties"]["Environment"]["Variables"]
    own = {name for name in variables if not name.startswith("POWERTOOLS_")}

    assert read - unset == own - MALLOC.keys()


# --------------------------------------------------------------------------- KmsKeyArn

KEY = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"

WITH_KEY: dict[str, dict[str, Any]] = {
    "AWS::SQS::Queue": {"KmsMasterKeyId": KEY},
    "AWS::DynamoDB::Table": {
        "SSESpecification": {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": KEY}
    },
    "AWS::Logs::LogGroup": {"KmsKeyId": KEY},
    "AWS::SNS::Topic": {"KmsMasterKeyId": KEY},
    "AWS::S3::Bucket": {
        "BucketEncryption": {
            "ServerSideEncryptionConfiguration": [
                {
                    "BucketKeyEnabled": True,
                    "ServerSideEncryptionByDefault": {
                        "SSEAlgorithm": "aws:kms",
                        "KMSMasterKeyID": KEY,
                    },
                }
            ]
        }
    },
    "AWS::KinesisFirehose::DeliveryStream": {
        "DeliveryStreamEncryptionConfigurationInput": {
            "KeyType": "CUSTOMER_MANAGED_CMK",
            "KeyARN": KEY,
        }
    },
}
"""Every type that keeps something, and where it says with which key."""

OF_KEY = {"KmsMasterKeyId", "SSESpecification", "KmsKeyId", "BucketKeyEnabled", "KeyARN"}


def deployed(file: Path, key: str) -> dict[str, Any]:
    """The template as it is deployed with a key, or without."""
    return resolved(load(file), KmsKeyArn=key)


def names(node: Any) -> set[str]:
    if isinstance(node, dict):
        return set(node).union(*map(names, node.values()))
    return set().union(*map(names, node)) if isinstance(node, list) else set()


@by_file(*SAMS, *PLAIN)
def test_all_that_is_kept_is_encrypted_with_the_key(file: Path) -> None:
    template = deployed(file, KEY)

    for resource_type, expected in WITH_KEY.items():
        for name, resource in of_type(template, resource_type).items():
            found = {key: resource["Properties"].get(key) for key in expected}
            assert found == expected, name
            assert "SqsManagedSseEnabled" not in resource["Properties"]  # both at once are refused
    assert of_type(template, "AWS::KMS::Key") == {}


@by_file(*SAMS, *PLAIN)
def test_without_a_key_aws_s_own_encrypt(file: Path) -> None:
    template = deployed(file, "")

    for name, resource in template["Resources"].items():
        allowed = {"KmsMasterKeyId"} if name == "AlarmTopic" else set()
        assert OF_KEY & names(resource) <= allowed, name
    assert of_type(template, "AWS::IAM::Policy").keys() <= {"StartDaysPolicy"}
    for queue in of_type(template, "AWS::SQS::Queue").values():
        assert queue["Properties"]["SqsManagedSseEnabled"] is True


@by_file(*SAMS, *PLAIN)
def test_whoever_reaches_what_is_encrypted_may_use_the_key_through_its_service_alone(
    file: Path,
) -> None:
    template = deployed(file, KEY)
    reaching = {
        (name, service)
        for name, role in of_type(template, "AWS::IAM::Role").items()
        for statement in statements(role)
        for action in as_list(statement["Action"])
        if (service := action.split(":")[0]) in ("sqs", "dynamodb", "s3")
    }
    for resource in template["Resources"].values():
        for statement in statements(resource):
            if any(action.startswith("kms:") for action in as_list(statement["Action"])):
                assert "kms:ViaService" in statement["Condition"]["StringEquals"]

    assert ("UseKey" in template["Resources"]) is bool(reaching)
    if reaching:
        policy = template["Resources"]["UseKey"]["Properties"]
        (statement,) = statements(policy)
        assert statement["Action"] == ["kms:Decrypt", "kms:GenerateDataKey"]
        assert statement["Resource"] == KEY
        assert {role["Ref"] for role in policy["Roles"]} == {role for role, _ in reaching}
        through = as_list(statement["Condition"]["StringEquals"]["kms:ViaService"])
        assert {one["Fn::Sub"] for one in through} == {
            f"{service}.${{AWS::Region}}.${{AWS::URLSuffix}}" for _, service in reaching
        }


@pytest.mark.parametrize("key", [KEY, ""])
def test_nested_stacks_get_the_key(key: str) -> None:
    alarms = deployed(TEMPLATE, key)["Resources"]["Alarms"]["Properties"]["Parameters"]
    audited = deployed(AUDITED, key)["Resources"]

    assert alarms["KmsKeyArn"] == key
    for stack in ("Once", "Records", "Audit"):
        assert audited[stack]["Properties"]["Parameters"]["KmsKeyArn"] == key
    for file in SAMS:
        pattern = load(file)["Parameters"]["KmsKeyArn"]["AllowedPattern"]
        assert re.search(pattern, key)


def test_only_a_keys_arn_is_taken() -> None:
    pattern = load(TEMPLATE)["Parameters"]["KmsKeyArn"]["AllowedPattern"]

    assert re.search(
        pattern, KEY.replace("arn:aws:", "arn:aws-us-gov:").replace("key/", "key/mrk-")
    )
    for bad in ("alias/mine", KEY.replace("key/", "alias/"), KEY.rpartition("/")[2], f"{KEY} "):
        assert not re.search(pattern, bad)
