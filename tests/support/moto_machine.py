"""ProcessMessage on moto's interpreter, which is LocalStack's."""

import json
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import pytest
from jsonata import Jsonata
from jsonata.jexception import JException
from moto import mock_aws
from moto.awslambda_simple.models import lambda_simple_backends
from moto.stepfunctions.parser.asl.jsonata import jsonata as motos_jsonata

from tests.support import asl

StatesOf = Callable[..., list[str]]
"""The states that an execution enters whose calls are answered so, one after another."""

_CONFIG: Any = {
    "lambda": {"use_docker": False},
    "stepfunctions": {"execute_state_machine": True},
}
_DEADLINE = 60.0
"""Seconds: far more than it takes where the machine does nothing else."""


def _evaluate(expression: str) -> Any:
    """In the place of the JVM that LocalStack uses, and moto has left out."""
    try:
        return Jsonata.jsonata(expression).evaluate(None)
    except JException as error:
        raise motos_jsonata.JSONataException("UNKNOWN", str(error)) from error


@contextmanager
def process_message() -> Iterator[StatesOf]:
    """Have executions run until they end, or wait for a decision."""
    with pytest.MonkeyPatch.context() as patch, mock_aws(config=_CONFIG):
        patch.setattr(motos_jsonata, "_eval_jsonata", _evaluate)
        session = boto3.session.Session(
            aws_access_key_id="testing", aws_secret_access_key="testing", region_name="us-east-1"
        )
        sfn = session.client("stepfunctions")
        role = session.client("iam").create_role(RoleName="machine", AssumeRolePolicyDocument="{}")
        effect = session.client("lambda").create_function(
            FunctionName="effect",
            Role=role["Role"]["Arn"],
            Code={"ZipFile": b""},
            Runtime="python3.13",
            Handler="effect.handler",
        )
        queue = session.client("sqs").create_queue(QueueName="dead-letters")["QueueUrl"]
        arn = effect["FunctionArn"]
        substitutions = asl.EXAMPLE_SUBSTITUTIONS | {
            "EffectFunctionArn": arn,
            "FindFunctionArn": arn,
            "DeadLetterQueueUrl": queue,
            # A machine that is busy is given its time, and nothing is waited for.
            "EffectTimeoutSeconds": "60",
            "StragglerMarginSeconds": "-60",
        }
        machine = sfn.create_state_machine(
            name="process-message",
            definition=json.dumps(asl.definition(substitutions)),
            roleArn=role["Role"]["Arn"],
        )["stateMachineArn"]
        backend = lambda_simple_backends["123456789012"]["us-east-1"]

        def states_of(*answers: Any) -> list[str]:
            backend.lambda_simple_results_queue[:] = [json.dumps(one) for one in answers]
            arn = sfn.start_execution(
                stateMachineArn=machine, name=str(uuid.uuid4()), input='{"message_id": "m"}'
            )["executionArn"]
            deadline = time.monotonic() + _DEADLINE
            while (entered := asl.states_entered(sfn, arn)) is None:
                assert time.monotonic() < deadline, f"moto still runs {answers}"
                time.sleep(0.01)
            return entered

        yield states_of
