"""The policies of the templates, and which calls they allow; MiniStack's evaluator judges.

What CloudFormation would make has its logical id for a name, whatever stack it is in, so that the
calls of `calls.txt` and the policies speak of the same ARNs.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ministack.core import iam_evaluator as iam
from ministack.services.cloudformation import engine

from tests.support import template

ACCOUNT, REGION = "000000000000", "us-east-1"
_HERE = f"{REGION}:{ACCOUNT}"

_ARNS = {
    "AWS::DynamoDB::Table": f"arn:aws:dynamodb:{_HERE}:table/{{0}}",
    "AWS::EMRServerless::Application": f"arn:aws:emr-serverless:{_HERE}:/applications/{{0}}",
    "AWS::IAM::Role": f"arn:aws:iam::{ACCOUNT}:role/{{0}}",
    "AWS::KMS::Key": f"arn:aws:kms:{_HERE}:key/{{0}}",
    "AWS::KinesisFirehose::DeliveryStream": f"arn:aws:firehose:{_HERE}:deliverystream/{{0}}",
    "AWS::Lambda::Function": f"arn:aws:lambda:{_HERE}:function:{{0}}",
    "AWS::Logs::LogGroup": f"arn:aws:logs:{_HERE}:log-group:{{0}}:*",
    "AWS::S3::Bucket": "arn:aws:s3:::{0}",
    "AWS::SNS::Topic": f"arn:aws:sns:{_HERE}:{{0}}",
    "AWS::SQS::Queue": f"arn:aws:sqs:{_HERE}:{{0}}",
    "AWS::Serverless::Function": f"arn:aws:lambda:{_HERE}:function:{{0}}",
    "AWS::Serverless::StateMachine": f"arn:aws:states:{_HERE}:stateMachine:{{0}}",
    "AWS::StepFunctions::StateMachine": f"arn:aws:states:{_HERE}:stateMachine:{{0}}",
}
_KNOWN_BY_ARN = (
    "AWS::SNS::Topic",
    "AWS::Serverless::StateMachine",
    "AWS::StepFunctions::StateMachine",
)


def arn(kind: str, name: str) -> str:
    """Of the resource with this logical id."""
    return _ARNS[kind].format(name.lower() if kind == "AWS::S3::Bucket" else name)


class Made(NamedTuple):
    """A resource as CloudFormation would make it: its properties have no functions any more."""

    file: str
    name: str
    kind: str
    properties: dict[str, Any]

    @property
    def arn(self) -> str:
        return arn(self.kind, self.name)


@dataclass(frozen=True)
class Call:
    """A call, as IAM sees it.

    Attributes:
        caller: a role, a service (`lambda.amazonaws.com`), or the account (its number).
        path: where it comes from.
        keys: condition keys, in JSON.
        tls: whether it was made over TLS.
        refused: it must not be allowed.
    """

    caller: str
    action: str
    resource: str
    path: str
    keys: str = "{}"
    tls: bool = True
    refused: bool = False

    @property
    def is_by_role(self) -> bool:
        return "." not in self.caller and self.caller != ACCOUNT

    def __str__(self) -> str:
        return f"{self.path}: {self.caller} {self.action} on {self.resource} {self.keys}"


@dataclass(frozen=True)
class Statement:
    """A statement of a role's policies, or of a resource's own.

    Attributes:
        of: the file and the resource that it stands in, and its Sid or its actions.
        who: the roles that have it; of a resource's policy its `Principal`.
        on: the one resource that it is about, where `Resource` does not say it.
        parsed: what the evaluator takes.
    """

    of: str
    who: tuple[str, ...]
    parsed: iam.ParsedStatement
    is_of_role: bool = True
    on: str = ""

    def meets(self, call: Call) -> bool:
        """Whether it is about this call, whichever effect it has then."""
        concerned = {call.caller, "*", *([ACCOUNT] if call.is_by_role else [])}
        if not concerned.intersection(self.who) or self.on not in ("", call.resource):
            return False
        context = iam.EvalContext(
            principal_arn=f"arn:aws:sts::{ACCOUNT}:assumed-role/{call.caller}/session",
            principal_type="AssumedRole",
            principal_account=ACCOUNT,
            action=call.action,
            resource_arn=call.resource,
            region=REGION,
            secure_transport=call.tls,
            service_context={k.lower(): one for k, one in json.loads(call.keys).items()},
        )
        return bool(iam.evaluate(context, [[self.parsed]]).decision == self.parsed.effect)


def made(file: Path, given: Mapping[str, str]) -> list[Made]:
    """What a template makes with these parameters."""
    body = template.load(file)
    parameters = {
        name: {"Type": "String", "Value": given.get(name, str(one.get("Default", "")))}
        for name, one in body["Parameters"].items()
    }
    conditions = engine._evaluate_conditions(body, parameters)
    created = {
        name: one
        for name, one in body["Resources"].items()
        if conditions.get(one.get("Condition"), True)
    }
    mappings = body.get("Mappings", {})
    known = {name: _known(name, one["Type"]) for name, one in created.items()}
    return [
        Made(
            file.name,
            name,
            one["Type"],
            engine._resolve_refs(
                one["Properties"],
                known,
                parameters,
                conditions,
                mappings,
                "stack",
                "stack/stack/id-id",
            ),
        )
        for name, one in created.items()
    ]


def _known(name: str, kind: str) -> dict[str, Any]:
    its = arn(kind, name) if kind in _ARNS else name
    short = name.lower() if kind == "AWS::S3::Bucket" else name
    return {
        "PhysicalResourceId": its if kind in _KNOWN_BY_ARN else short,
        "Attributes": {"Arn": its, "QueueName": name},
    }


def statements(resources: Sequence[Made]) -> Iterator[Statement]:
    """Every statement of every policy of these resources."""
    for one in resources:
        properties = one.properties
        if one.kind == "AWS::IAM::Role":
            for policy in properties.get("Policies", ()):
                yield from _of(one, policy["PolicyDocument"], (one.name,))
            yield from _of(one, properties["AssumeRolePolicyDocument"], (), one.arn)
        elif one.kind in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"):
            yield from _of(one, properties["PolicyDocument"], tuple(properties["Roles"]))
        elif one.kind == "AWS::KMS::Key":
            yield from _of(one, properties["KeyPolicy"], (), one.arn)
        elif "PolicyDocument" in properties:
            yield from _of(one, properties["PolicyDocument"], ())


def _of(
    one: Made, document: Mapping[str, Any], roles: tuple[str, ...], on: str = ""
) -> Iterator[Statement]:
    for said in document["Statement"]:
        (parsed,) = iam.parse_policy_document({"Statement": [said]})
        of = f"{one.file}: {one.name}: {parsed.sid or ', '.join(parsed.actions)}"
        if parsed.conditions or not parsed.sid:
            of += f" on {', '.join(parsed.resources) or on}"
        yield Statement(of, roles or _principals(said["Principal"]), parsed, bool(roles), on)


def _principals(said: Any) -> tuple[str, ...]:
    if said == "*":
        return ("*",)
    ((kind, names),) = said.items()
    # A key's policy that names the account has IAM decide, for everybody in it.
    return (ACCOUNT,) if kind == "AWS" else tuple(template.as_list(names))


class Judgement:
    """Of calls, by statements.

    Attributes:
        met: each call, with the statements that are about it.
    """

    def __init__(self, calls: Iterable[Call], among: Sequence[Statement]) -> None:
        self.met = {call: [one for one in among if one.meets(call)] for call in calls}
        self._have_policies = {one.on for one in among}

    def wrong(self, without: Statement | None = None) -> list[Call]:
        """The calls that are not allowed, or not refused by a statement's word, as they should be.

        `without`: as if this statement were not there.
        """
        return [
            call
            for call, met in self.met.items()
            if not self._is_right(call, [one for one in met if one is not without])
        ]

    def _is_right(self, call: Call, met: Sequence[Statement]) -> bool:
        if call.refused or any(one.parsed.effect == "Deny" for one in met):
            return call.refused and any(one.parsed.effect == "Deny" for one in met)
        by_role, by_resource = (any(one.is_of_role is own for one in met) for own in (True, False))
        if not call.is_by_role:
            return by_resource
        # IAM alone opens no key. A key's policy that is not in the templates is not judged.
        asks_key = call.action.startswith("kms:") and call.resource in self._have_policies
        return by_role and (by_resource or not asks_key)

    def unused(self, among: Iterable[Statement]) -> Iterator[str]:
        """What they say without need: an action, a resource, a role or a condition's value."""
        for one in among:
            calls = [call for call, met in self.met.items() if one in met]
            says = [
                ("action", one.parsed.actions, [call.action for call in calls]),
                ("resource", one.parsed.resources, [call.resource for call in calls]),
            ]
            if one.is_of_role:
                says.append(("role", list(one.who), [call.caller for call in calls]))
                for key, values in _conditions(one.parsed):
                    has = [json.loads(call.keys).get(key, ()) for call in calls]
                    says.append((key, values, [it for its in has for it in template.as_list(its)]))
            for what, patterns, context in says:
                for said in patterns:
                    # Everything is right only for calls that are about no resource.
                    plain = one.is_of_role and said == "*"
                    if not any(it == said if plain else _is_like(it, said) for it in context):
                        yield f"{one.of}: no call has the {what} {said}"


def _conditions(parsed: iam.ParsedStatement) -> Iterator[tuple[str, list[str]]]:
    for keys in parsed.conditions.values():
        for key, values in keys.items():
            yield key, template.as_list(values)


def _is_like(it: str, pattern: str) -> bool:
    return bool(iam.fnmatch_iam_cs(it, pattern))


def missing(call: Call) -> str:
    """The statement that would allow a call."""
    said = {"Effect": "Allow", "Action": call.action, "Resource": call.resource}
    return f"{call} - {call.caller} lacks {said}"
