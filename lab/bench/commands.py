"""What a person waits for at the command line: seconds of CPU, beside boto3's for the same calls.

    python -m lab.bench.commands

Each command's `--help`, and `status`, `list` and `where` on a stack with many executions and dead
letters, which moto serves from this process. A command runs in a process of its own; its calls are
recorded, and boto3 alone repeats them in another. Of several runs the quickest counts.
"""

import io
import json
import logging
import os
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import boto3
import typer
from moto.backends import get_backend
from moto.server import ThreadedMotoServer

from actonce.cli.app import COMMANDS
from actonce.stack.embedded_folder import PROJECT
from lab.bench.machine import machine

REGION = "us-east-1"
ACCOUNT = "123456789012"  # moto's
_STACK = "actonce"
_ON_A_STACK = (("status",), ("list",), ("where", "m-9"))
_COMMAND = "from actonce.cli.app import main; main()"
_RECORDED = """
import os, pickle
from botocore.client import BaseClient
calls, call = [], BaseClient._make_api_call
def recorded(client, operation, arguments):
    calls.append((client.meta.service_model.service_name, operation, arguments))
    return call(client, operation, arguments)
BaseClient._make_api_call = recorded
from actonce.cli.app import main
try: main()
finally:
    with open(os.environ["CALLS"], "wb") as file: pickle.dump(calls, file)
"""
_REPEATED = """
import os, pickle, boto3
from botocore.exceptions import ClientError
clients = {}
with open(os.environ["CALLS"], "rb") as file: calls = pickle.load(file)
for service, operation, arguments in calls:
    if service not in clients: clients[service] = boto3.client(service)
    try: clients[service]._make_api_call(operation, arguments)
    except ClientError: pass
"""
"""The same service refuses the same call again, such as a queue's that moto does not know."""


def measure(code: str, words: Sequence[str], variables: Mapping[str, str]) -> tuple[float, float]:
    """Run Python code in a process: its seconds of CPU, and by the clock.

    Raises:
        SystemExit: it failed.
    """
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ran = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=False,
        env=dict(variables),
        cwd=variables["HOME"],
    )
    took = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ran.returncode:
        raise SystemExit(f"{' '.join(words)}: {ran.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, took


def make_stack(executions: int, dead_letters: int) -> None:
    """The stack's parts on moto, with executions that run, and letters of the first of them."""
    sqs, dynamodb, client = boto3.client("sqs"), boto3.client("dynamodb"), boto3.client
    queues = {
        name: sqs.create_queue(QueueName=name)["QueueUrl"]
        for name in ("RequestsQueue", "UnstartedQueue", "DeadLetterQueue")
    }
    for table in ("fingerprints", "effects"):
        dynamodb.create_table(
            TableName=table,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "message_id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "message_id", "KeyType": "HASH"}],
        )
    role = client("iam").create_role(RoleName="starter", AssumeRolePolicyDocument="{}")["Role"]
    state_machine = client("stepfunctions").create_state_machine(
        name="process", definition='{"States": {}}', roleArn=role["Arn"]
    )["stateMachineArn"]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as package:
        package.writestr("starter.py", "")
    function = client("lambda").create_function(
        FunctionName="starter",
        Runtime="python3.13",
        Role=role["Arn"],
        Handler="starter.handler",
        Code={"ZipFile": packed.getvalue()},
    )["FunctionArn"]
    client("logs").create_log_group(logGroupName="starter")
    outputs = {f"{name}Url": url for name, url in queues.items()} | {
        "ProcessMessageArn": state_machine,
        "FingerprintsTableName": "fingerprints",
        "EffectsTableName": "effects",
        "EffectFunctionArn": function,
        "EffectTimeoutSeconds": "10",
        "StarterFunctionName": "starter",
        "StarterLogGroupName": "starter",
        "AlarmTopicArn": f"arn:aws:sns:{REGION}:{ACCOUNT}:alarms",
    }
    template = {
        "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
        "Outputs": {name: {"Value": value} for name, value in outputs.items()},
    }
    client("cloudformation").create_stack(StackName=_STACK, TemplateBody=json.dumps(template))
    backend = get_backend("stepfunctions")[ACCOUNT][REGION]
    names = [f"m-{number}" for number in range(executions)]
    for name in names:
        text = json.dumps({"body": "{}", "message_id": name})
        backend.start_execution(state_machine, name, text)
    arn = state_machine.replace(":stateMachine:", ":execution:")
    for name in names[:dead_letters]:
        letter = {"message_id": name, "execution_name": name, "execution_arn": f"{arn}:{name}"}
        sqs.send_message(QueueUrl=queues["DeadLetterQueue"], MessageBody=json.dumps(letter))


@contextmanager
def stack_on_moto(executions: int, dead_letters: int) -> Iterator[dict[str, str]]:
    """Serve `make_stack`'s stack from this process, and the variables that lead to it."""
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    aws = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
    }
    os.environ |= aws
    make_stack(executions, dead_letters)
    yield aws
    server.stop()


def main(
    executions: Annotated[int, typer.Option(min=10)] = 5_000,
    dead_letters: Annotated[int, typer.Option(min=0)] = 500,
    runs: Annotated[int, typer.Option(min=1)] = 5,
) -> None:
    """Make the stack, run the commands and print."""
    with (
        tempfile.TemporaryDirectory(prefix="actonce-commands-") as folder,
        stack_on_moto(executions, dead_letters) as aws,
    ):
        own = {"HOME": folder, "ACTONCE_DIR": folder, "CALLS": f"{folder}/calls"}
        places = (PROJECT, PROJECT / "functions", PROJECT / "pipeline")
        path = {"PYTHONPATH": os.pathsep.join(map(str, places))}
        variables = {"PATH": os.environ["PATH"]} | path | aws | own

        def quickest(codes: Mapping[str, str], *words: str) -> Any:
            measured: dict[str, list[tuple[float, float]]] = {name: [] for name in codes}
            for _ in range(runs):
                for name, code in codes.items():
                    measured[name].append(measure(code, words, variables))
            return {
                name: {"cpu": round(min(all_)[0], 2), "s": round(min(t for _, t in all_), 2)}
                for name, all_ in measured.items()
            }

        command = {"actonce": _COMMAND}
        print(json.dumps(machine("boto3", "typer", "rich", "moto")))
        for name in COMMANDS:
            words = (*name.split(), "--help")
            print(json.dumps({"command": " ".join(words), **quickest(command, *words)}))
        for words in _ON_A_STACK:
            measure(_RECORDED, words, variables)
            beside = command | {"boto3": _REPEATED}
            print(json.dumps({"command": " ".join(words), **quickest(beside, *words)}))
        print(json.dumps(machine()))


if __name__ == "__main__":
    typer.run(main)
