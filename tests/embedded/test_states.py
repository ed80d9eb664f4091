"""What `actonce doctor --states` asks of AWS, asked of MiniStack and of an AWS that refuses."""

import json
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.config import Config

from actonce.doctor import states
from actonce.doctor.states import QUESTIONS, Expected, Verdict, ask, ask_about, exit_status
from actonce.stack.clients import Aws, Stack
from tests.support import asl

ARN = "arn:aws:states:us-east-1:123456789012:stateMachine:once"


@pytest.mark.parametrize(
    ("claim", "right", "spoiled"),
    [
        ("a yes in a list is no yes", "$type($said) = 'object' and $said.perf", "$said.perf"),
        ("Catch sees an error in Arguments", "= $sum([$states.input.", "<= $sum([$states.input."),
        ("a list is no no", "$type($said) = 'object' and $type($said.perf", "$type($said.perf"),
        ("what is not answered is not", '"States.TaskFailed"', '"States.ALL"'),
    ],
)  # fmt: skip
def test_a_definition_that_is_spoiled_is_found_out(
    stack: Stack, claim: str, right: str, spoiled: str
) -> None:
    definition = json.dumps(asl.definition())
    assert right in definition
    answers = list(ask(stack, definition.replace(right, spoiled)))
    failed = [one for one in answers if one.verdict is Verdict.FAILS]
    assert claim in {one.claim for one in failed}
    assert exit_status(answers) == 1
    assert all(one.why.startswith("expected {") for one in failed)


# --------------------------------------------------------------------------- AWS


class Refusing(Aws):
    """AWS, whose TestState is answered by a function of the request, before it is sent."""

    answer: Callable[[Any], tuple[int, Any]]
    requests: list[Any]

    def fresh(self, service: str, config: Mapping[str, Any] | None = None) -> Any:
        told: Any = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
        told |= {"region_name": "eu-west-1", "config": Config(**config or {})}
        client: Any = boto3.client(service, **told)  # type: ignore[call-overload]

        def send(request: Any, **_: Any) -> AWSResponse:
            self.requests.append(request)
            status, answer = self.answer(request)
            raw = SimpleNamespace(stream=lambda **_: iter([json.dumps(answer).encode()]))
            return AWSResponse(request.url, status, HTTPHeaders(), raw)

        client.meta.events.register("before-send", send)
        return client


def on_aws(answer: Callable[[str], tuple[int, Any]]) -> tuple[Stack, list[Any]]:
    aws = Refusing()
    aws.requests = []
    aws.answer = lambda request: answer(request.headers["X-Amz-Target"].decode().split(".")[1])
    return Stack(aws, "shop", {"ProcessMessageArn": ARN}), aws.requests


def refusal(code: str) -> tuple[int, dict[str, str]]:
    return 400, {"__type": code, "message": f"{ARN} is not for you"}


@pytest.mark.parametrize("code", ["AccessDeniedException", "ExpiredTokenException"])
@pytest.mark.parametrize(("may", "calls"), [("DescribeStateMachine", 2), ("", 1)])
def test_who_may_not_ask_is_refused_once_and_nothing_holds(may: str, calls: int, code: str) -> None:
    told = (200, {"definition": "{}"})
    stack, requests = on_aws(lambda name: told if name == may else refusal(code))
    answers = ask_about(stack)
    assert {one.verdict for one in answers} == {Verdict.UNANSWERED}
    assert (len(answers), len(requests), exit_status(answers)) == (len(QUESTIONS), calls, 3)
    # People send it to others.
    assert "ACCOUNT:stateMachine:once is not for you" in answers[-1].why


def test_a_question_that_aws_does_not_take_hides_no_other() -> None:
    stack, requests = on_aws(lambda _: refusal("ValidationException"))
    assert {one.verdict for one in ask(stack, "{}")} == {Verdict.UNANSWERED}
    assert len(requests) == len(QUESTIONS)


def test_it_asks_awss_own_host_without_a_role_and_with_a_context_only_beside_a_mock() -> None:
    stack, requests = on_aws(lambda _: (200, {"status": "SUCCEEDED", "output": "{}"}))
    assert exit_status(list(ask(stack, "{}"))) == 1
    assert {one.url for one in requests} == {"https://sync-states.eu-west-1.amazonaws.com/"}
    for request in requests:
        told = json.loads(request.body)
        assert "roleArn" not in told
        assert ("mock" in told) == ("context" in told)


@pytest.mark.parametrize(("told", "right"), [("1", True), ("true", False), ('"1"', False)])
def test_a_value_of_another_type_does_not_hold(told: str, *, right: bool) -> None:
    answer = {"status": "SUCCEEDED", "output": f'{{"effect": {told}}}'}
    verdict, _ = states._judge(Expected("SUCCEEDED", None, {"effect": 1}), answer)
    assert (verdict is Verdict.HOLDS) is right
