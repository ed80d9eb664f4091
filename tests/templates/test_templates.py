"""What holds of every template that ships; then template.yaml with its alarms."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from actonce_core.backoff import LONGEST_BACKOFF_SECONDS, START_BACKOFF_GROWTH, redelivery_delay
from actonce_core.batch import LARGEST_BATCH
from tests.support.limited_starter import MALLOC
from tests.support.metrics import reported_metrics
from tests.support.snapshots import Snapshot
from tests.support.template import (
    TEMPLATE,
    as_list,
    load,
    of_type,
    properties,
    references,
    refusals,
    resolved,
    statements,
)

PROJECT = TEMPLATE.parent
PLAIN = tuple(
    TEMPLATE.parent / "templates" / f"{name}.yaml" for name in ("alarms", "records", "audit")
)
NOTIFICATIONS = PROJECT / "examples" / "notifications" / "template.yaml"
PIPELINE = PROJECT / "examples" / "pipeline" / "roles.yaml"
LEASE = PROJECT / "examples" / "lease" / "template.yaml"
EXAMPLES = (LEASE, *sorted(PROJECT.glob("examples/gift_shop*/template.yaml")))

HOLDS_WHAT_CANNOT_BE_MADE_AGAIN = {
    "AWS::SQS::Queue",  # messages, often the only copies
    "AWS::DynamoDB::Table",
    "AWS::S3::Bucket",
    "AWS::Serverless::StateMachine",  # the names of its executions
}


def by_file(*files: Path) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("file", files, ids=lambda file: str(file.relative_to(PROJECT)))


# --------------------------------------------------------------------------- what is kept


@by_file(TEMPLATE, *PLAIN[1:], *EXAMPLES)
def test_what_holds_messages_or_memory_outlives_the_stack_and_what_replaces_it(file: Path) -> None:
    holding = {
        name: (one.get("DeletionPolicy"), one.get("UpdateReplacePolicy"))
        for name, one in load(file)["Resources"].items()
        if one["Type"] in HOLDS_WHAT_CANNOT_BE_MADE_AGAIN
    }

    assert holding
    assert holding == dict.fromkeys(holding, ("Retain", "Retain"))


REQUIRED_OF_EVERY: dict[str, dict[str, Any]] = {
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


@by_file(TEMPLATE, *PLAIN)
def test_what_keeps_something_keeps_it_as_long_and_as_safely_as_is_said(file: Path) -> None:
    template = load(file)
    for kind, statement in REQUIRED_OF_EVERY.items():
        for name, resource in of_type(template, kind).items():
            assert resource["Properties"].items() >= statement.items(), name


@by_file(TEMPLATE, *PLAIN, LEASE)
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


# --------------------------------------------------------------------------- least privilege


def written(node: Any) -> str:
    """A value as a person writes it: references as in a Sub."""
    if isinstance(node, list):
        return ", ".join(map(written, node))
    if not isinstance(node, dict):
        return str(node)
    key, value = next(iter(node.items())) if len(node) == 1 else ("", None)
    if key == "Ref":
        return f"${{{value}}}"
    if key == "Fn::GetAtt" and value is not None:
        return f"${{{'.'.join(value)}}}"
    if key == "Fn::Sub":
        return str(value)
    return ", ".join(f"{name} {written(inner)}" for name, inner in node.items())


VARIANTS: dict[str, tuple[Path, dict[str, str]]] = {
    "template.yaml": (TEMPLATE, {}),
    "template.yaml, their function and queue": (
        TEMPLATE,
        {"EffectFunctionArn": "arn:theirs", "RequestsQueueName": "orders", "KmsKeyArn": "arn:key"},
    ),
    **{file.name: (file, {}) for file in PLAIN},
    "audit.yaml, each hour": (PLAIN[2], {"AuditEvery": "hour"}),
    "audit.yaml, a key": (PLAIN[2], {"KmsKeyArn": "arn:key"}),
    "examples/pipeline/roles.yaml": (PIPELINE, {"Audited": "yes"}),
    "examples/notifications": (NOTIFICATIONS, {}),
}
"""Templates with parameters that change what is granted in them."""


def test_who_may_do_what_to_what_is_as_reviewed(snapshot: Snapshot) -> None:
    lines = []
    for name, (file, parameters) in VARIANTS.items():
        lines.append(f"{name}\n")
        template = load(file)
        wanted = template["Parameters"].items()
        given = {key: f"${{{key}}}" for key, one in wanted if "Default" not in one} | parameters
        for resource, one in resolved(template, **given)["Resources"].items():
            for statement in statements(one):
                who = written(statement["Principal"]) + " " if "Principal" in statement else ""
                what = written(sorted(as_list(statement["Action"])))
                on = written(
                    sorted(written(place) for place in as_list(statement.get("Resource", [])))
                )
                where = f" if {written(statement['Condition'])}" if "Condition" in statement else ""
                lines.append(f"    {resource}: {statement['Effect']} {who}{what} on {on}{where}\n")
    snapshot("permissions.txt", "".join(lines))


def test_what_raises_an_alarm_is_as_reviewed(snapshot: Snapshot) -> None:
    lines = []
    for file in PLAIN:
        for name, alarm in of_type(load(file), "AWS::CloudWatch::Alarm").items():
            left_out = ("AlarmDescription", "OKActions", "AlarmName")
            properties = {
                key: value for key, value in alarm["Properties"].items() if key not in left_out
            }
            lines += [
                f"{name}\n",
                *(f"    {key}: {written(properties[key])}\n" for key in sorted(properties)),
            ]
    snapshot("alarms.txt", "".join(lines))


# --------------------------------------------------------------------------- parameters


def test_fewer_rounds_reach_who_counts_them() -> None:
    machine = properties(resolved(load(TEMPLATE), MaxRounds="1")["Resources"], "ProcessMessage")

    assert machine["DefinitionSubstitutions"]["MaxRounds"] == "1"


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
        # Fewer retries are on the embedded AWS alone.
        (TEMPLATE, "StarterFunction", ["starter"], {"MAX_RETRIES"}),
        (TEMPLATE, "AppointmentsFunction", ["appointments"], set()),
        (PLAIN[2], "ExecutionRecordsFunction", ["execution_records"], set()),
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


def deployed(file: Path, key: str) -> dict[str, Any]:
    """The template as it is deployed with a key, or without."""
    return resolved(load(file), KmsKeyArn=key)


@by_file(TEMPLATE, *PLAIN)
def test_all_that_is_kept_is_encrypted_with_the_key_or_with_aws_s_own(file: Path) -> None:
    template = deployed(file, KEY)
    for resource_type, expected in WITH_KEY.items():
        for name, resource in of_type(template, resource_type).items():
            found = {key: resource["Properties"].get(key) for key in expected}
            assert found == expected, name
            assert "SqsManagedSseEnabled" not in resource["Properties"]  # both at once are refused
    assert of_type(template, "AWS::KMS::Key") == {}

    template = deployed(file, "")
    assert KEY not in str(template)
    for queue in of_type(template, "AWS::SQS::Queue").values():
        assert queue["Properties"]["SqsManagedSseEnabled"] is True


@by_file(TEMPLATE)
@pytest.mark.parametrize(
    ("parameter", "good", "bad"),
    [
        (
            "KmsKeyArn",
            ["", KEY, KEY.replace("arn:aws:", "arn:aws-us-gov:").replace("key/", "key/mrk-")],
            ["alias/mine", KEY.replace("key/", "alias/"), KEY.rpartition("/")[2], f"{KEY} "],
        ),
        # They begin with the one that has the message's id.
        (
            "EffectsAttributes",
            ["message_id", "order_id,sent_at,card", "order id, , card ", " #,"],
            ["", ",sent_at", " ", "  ,sent_at"],
        ),
    ],
)
def test_a_parameter_takes_only_what_is_right(
    file: Path, parameter: str, good: list[str], bad: list[str]
) -> None:
    pattern = load(file)["Parameters"][parameter]["AllowedPattern"]
    assert [text for text in (*good, *bad) if re.search(pattern, text)] == good


# --------------------------------------------------------------------------- template.yaml

WHOLE = load()
RESOURCES: dict[str, Any] = WHOLE["Resources"]
PROCESS_MESSAGE = properties(RESOURCES, "ProcessMessage")


@by_file(TEMPLATE)
def test_no_outage_of_a_day_is_received_away_and_each_delivery_is_answered_for(file: Path) -> None:
    resources = load(file)["Resources"]
    assert properties(resources, "RequestsQueue")["RedrivePolicy"] == {
        "deadLetterTargetArn": {"Fn::GetAtt": ["UnstartedQueue", "Arn"]},
        "maxReceiveCount": 1000,
    }
    event = event_of(load(file))
    assert event["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert "FilterCriteria" not in event  # Lambda deletes what a filter does not match
    assert event["BatchSize"] == LARGEST_BATCH  # it is handled side by side


def event_of(template: dict[str, Any]) -> dict[str, Any]:
    """What a template says of the one event source mapping."""
    (event,) = (
        event["Properties"]
        for one in of_type(template, "AWS::Serverless::Function").values()
        for event in one["Properties"].get("Events", {}).values()
    )
    return dict(event)


@by_file(TEMPLATE)
@pytest.mark.parametrize(
    ("most", "scaling"),
    [
        ("0", {"ScalingConfig": {"MaximumConcurrency": "10"}}),
        ("20", {"ProvisionedPollerConfig": {"MinimumPollers": "2", "MaximumPollers": "20"}}),
    ],
)
def test_batches_are_bounded_by_a_concurrency_or_by_pollers_for_lambda_takes_not_both(
    file: Path, most: str, scaling: dict[str, Any]
) -> None:
    event = event_of(resolved(load(file), MaximumPollers=most))
    kinds = ("ScalingConfig", "ProvisionedPollerConfig")
    assert {kind: event[kind] for kind in kinds if kind in event} == scaling
    assert not refusals(load(file), MaximumPollers=most)
    assert refusals(load(file), MaximumPollers="1") == ["Pollers"]


def test_a_delivery_comes_back_after_six_time_outs_of_whichever_length() -> None:
    for seconds in WHOLE["Parameters"]["StarterTimeoutSeconds"]["AllowedValues"]:
        made = resolved(WHOLE, StarterTimeoutSeconds=str(seconds))["Resources"]
        assert properties(made, "StarterFunction")["Timeout"] == str(seconds)
        queue = properties(made, "RequestsQueue")["VisibilityTimeout"]
        assert visibility(WHOLE, queue) == 6 * seconds + 30


def visibility(template: dict[str, Any], found: Any) -> int:
    """What CloudFormation finds in a mapping."""
    name, key, value = found["Fn::FindInMap"]
    return int(template["Mappings"][name][key][value])


def test_a_straggler_outlasts_a_cold_start() -> None:
    # Lambda's init takes 10 s at most, and the state's time-out begins before it.
    assert WHOLE["Parameters"]["StragglerMarginSeconds"]["MinValue"] > 10


EVERY_TIMEOUT = range(
    WHOLE["Parameters"]["EffectTimeoutSeconds"]["MinValue"],
    WHOLE["Parameters"]["EffectTimeoutSeconds"]["MaxValue"] + 1,
)
ON_TROUBLE = {"StartExecutions": "on-trouble"}
FUNCTION = "arn:aws:lambda:us-east-1:123456789012:function:theirs:3"


def test_first_attempts_get_a_time_that_the_starter_has_and_the_largest_that_it_may() -> None:
    parameters = WHOLE["Parameters"]
    taken: dict[int, set[int]] = {}
    for starter in parameters["StarterTimeoutSeconds"]["AllowedValues"]:
        given = ON_TROUBLE | {"StarterTimeoutSeconds": str(starter)}
        taken[starter] = {
            seconds
            for seconds in EVERY_TIMEOUT
            if not refusals(WHOLE, **given, EffectTimeoutSeconds=str(seconds))
        }
        # 5 s before the function begins, 5 s for the starter's other calls, and 5 s of reserve.
        assert max(taken[starter]) in (starter - 15, starter - 20)
        assert set(range(2, 16)) <= taken[starter]
    assert not refusals(WHOLE, **ON_TROUBLE)
    assert all(taken[one] <= taken[900] for one in taken)
    assert not refusals(WHOLE, EffectTimeoutSeconds="890")


@pytest.mark.parametrize("find", ["", FUNCTION])
@pytest.mark.parametrize("effect", ["", FUNCTION])
def test_first_attempts_are_refused_where_nothing_looks_an_effect_up(
    effect: str, find: str
) -> None:
    refused = refusals(WHOLE, **ON_TROUBLE, EffectFunctionArn=effect, FindFunctionArn=find)
    assert ("FirstAttemptsNeedFind" in refused) is bool(effect and not find)
    assert not refusals(WHOLE, EffectFunctionArn=effect or FUNCTION)


@pytest.mark.parametrize(
    "given",
    [{}, {"EffectFunctionArn": FUNCTION, "FindFunctionArn": FUNCTION}],
    ids=["own", "theirs"],
)
def test_the_starter_knows_the_effect_only_for_first_attempts(given: dict[str, str]) -> None:
    made = resolved(WHOLE, **given)["Resources"]
    variables = properties(made, "StarterFunction")["Environment"]["Variables"]
    assert not {"EFFECT_FUNCTION_ARN", "STARTER_TIMEOUT_SECONDS"} & variables.keys()

    made = resolved(WHOLE, **given, **ON_TROUBLE)["Resources"]
    starter = properties(made, "StarterFunction")
    variables = starter["Environment"]["Variables"]
    machine = properties(made, "ProcessMessage")["DefinitionSubstitutions"]
    assert variables["EFFECT_FUNCTION_ARN"] == machine["EffectFunctionArn"]
    assert variables["FIND_FUNCTION_ARN"] == machine["FindFunctionArn"]
    assert variables["STARTER_TIMEOUT_SECONDS"] == starter["Timeout"]


def test_a_queue_of_the_teams_takes_the_place_of_the_stacks_everywhere() -> None:
    theirs = {
        "Fn::Sub": "arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:${RequestsQueueName}"
    }
    made = resolved(WHOLE, RequestsQueueName="orders")["Resources"]
    assert "RequestsQueue" not in {*made, *references(made)}
    assert event_of({"Resources": made})["Queue"] == theirs
    assert properties(made, "Alarms")["Parameters"]["RequestsQueueName"] == "orders"


# --------------------------------------------------------------------------- functions


def test_executions_invoke_a_published_version_of_the_effect() -> None:
    for name in ("EffectFunctionArn", "FindFunctionArn"):
        assert PROCESS_MESSAGE["DefinitionSubstitutions"][name] == {
            "Fn::If": ["IsExample", {"Ref": "AppointmentsFunction.Version"}, {"Ref": name}]
        }


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("template.yaml", "AppointmentsFunction"),
        ("actonce/adopt/project/skeleton/template.yaml", "YourEffect"),
        ("examples/gift_shop/template.yaml", "GiftCards"),
        ("examples/gift_shop_node/template.yaml", "GiftCards"),
    ],
)
def test_whatever_changes_the_effect_publishes_a_version_and_the_earlier_ones_stay(
    file: str, name: str
) -> None:
    whole = load(PROJECT / file)
    effect = whole["Resources"][name]
    function = effect["Properties"]
    runtime = whole["Globals"]["Function"]["Runtime"]
    by_parameters = {
        one
        for one in references([function["Timeout"], runtime])
        if one in whole.get("Parameters", {})
    }

    assert function["AutoPublishAliasAllProperties"] is True
    # SAM looks at the text of the function alone, in which a parameter's new value is no change.
    described = function.get("VersionDescription", {"Fn::Sub": ""})
    parameters_named = set(re.findall(r"\$\{(\w+)\}", described["Fn::Sub"]))
    assert parameters_named == by_parameters
    # SAM makes the version's DeletionPolicy Retain by itself.
    assert effect["UpdateReplacePolicy"] == "Retain"


def test_malloc_is_told_what_the_memory_was_measured_with() -> None:
    variables = WHOLE["Globals"]["Function"]["Environment"]["Variables"]
    assert variables.items() >= MALLOC.items()


# --------------------------------------------------------------------------- the state machine


def test_state_machine_is_standard_traced_named_anew_and_logs_no_message() -> None:
    # The names of Express workflows deduplicate nothing.
    assert PROCESS_MESSAGE["Type"] == "STANDARD"
    # Rows tell its memory by its ARN, so CloudFormation has to name it, anew each time.
    assert "Name" not in PROCESS_MESSAGE
    assert PROCESS_MESSAGE["Logging"]["IncludeExecutionData"] is False
    assert PROCESS_MESSAGE["Tracing"] == {"Enabled": True}


# --------------------------------------------------------------------------- alarms


ALARMS_OWN: dict[str, Any] = load(PLAIN[0])["Resources"]


def test_what_keeps_failing_raises_an_alarm_however_seldom_it_is_tried() -> None:
    """SQS's own metric of ages leaves out what a standard queue has handed out three times."""
    alarm = properties(ALARMS_OWN, "StarterFailedDeliveriesAlarm")
    tries_within_the_threshold = 0
    waited = 0.0
    while waited <= alarm["Threshold"]:
        tries_within_the_threshold += 1
        waited += redelivery_delay(
            tries_within_the_threshold, chance=1.0, growth=START_BACKOFF_GROWTH
        )

    assert set(references(alarm["Dimensions"])) == {"ActOnceStackName"}
    assert (alarm["MetricName"], alarm["Statistic"]) == ("OldestFailedAge", "Maximum")
    # In every window there is a try, also of what waits for its turn besides.
    assert (alarm["EvaluationPeriods"], alarm["Period"]) == (1, 2 * LONGEST_BACKOFF_SECONDS)
    assert tries_within_the_threshold > 5, "a transient failure tells nobody"


Shown = tuple[str, str, frozenset[str]]
"""A metric's namespace, name and dimensions."""


def shown_by_the_stack() -> set[Shown]:
    """What alarms and dashboard show."""
    found: set[Shown] = set()
    for alarm in of_type(load(PLAIN[0]), "AWS::CloudWatch::Alarm").values():
        parts = [one["MetricStat"]["Metric"] for one in metrics_of(alarm) if "MetricStat" in one]
        for one in parts or [alarm["Properties"]]:
            dimensions = frozenset(
                parameters_named["Name"] for parameters_named in one["Dimensions"]
            )
            found.add((one["Namespace"], one["MetricName"], dimensions))
    body = properties(ALARMS_OWN, "Dashboard")["DashboardBody"]["Fn::Sub"]
    for widget in json.loads(body)["widgets"]:
        above: list[str] = []
        for row in widget["properties"]["metrics"]:
            texts = [one for one in row if isinstance(one, str)]
            above = [above[n] if one == "." else one for n, one in enumerate(texts)]
            found.add((above[0], above[1], frozenset(above[2::2])))
    return found


def metrics_of(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    """Of an alarm on several."""
    found: list[dict[str, Any]] = alarm["Properties"].get("Metrics", [])
    return found


def test_dashboards_show_metrics_that_there_are_and_grafana_each_of_our_own() -> None:
    own: set[Shown] = {("ActOnce", name, dimensions) for name, _, dimensions in reported_metrics()}
    shown = shown_by_the_stack()
    assert {one for one in shown if one[0] == "ActOnce"} <= own
    grafana = json.loads((PROJECT / "examples/grafana/actonce.json").read_text("utf-8"))
    queried: set[Shown] = {
        (one["namespace"], one["metricName"], frozenset(one["dimensions"]))
        for panel in grafana["panels"]
        for one in panel["targets"]
    }
    assert own <= queried <= own | shown
