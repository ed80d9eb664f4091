"""Runs commands on moto, one after another, in a process whose terminal a test holds, or none has.

`python -m tests.cli.on_moto COMMANDS ENDS`: COMMANDS is JSON, a list of argument lists; into the
file ENDS comes a JSON line for each, with its exit status and the messages sent by then.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests import terminal

TEMPLATE = {
    "Resources": {
        "RequestsQueue": {"Type": "AWS::SQS::Queue"},
        "OtherQueue": {"Type": "AWS::SQS::Queue"},
    },
    "Outputs": {
        "ProcessMessageArn": {"Value": "arn:aws:states:us-east-1:123456789012:stateMachine:one"},
        "RequestsQueueUrl": {"Value": {"Ref": "RequestsQueue"}},
        "UnstartedQueueUrl": {"Value": {"Ref": "OtherQueue"}},
        "DeadLetterQueueUrl": {"Value": {"Ref": "OtherQueue"}},
        "StarterFunctionName": {"Value": "starter"},
        "AlarmTopicArn": {"Value": "arn:aws:sns:us-east-1:123456789012:alarms"},
        "ActOnceVersion": {"Value": "1.0.0"},
    },
}


def run(
    commands: Sequence[Sequence[str]],
    folder: Path,
    *,
    answers: bytes | None,
    after: bytes = b"",
) -> tuple[list[dict[str, Any]], str]:
    """Run commands in a session of their own.

    Args:
        commands: arguments of each.
        folder: their home and current folder.
        answers: what somebody types at their terminal; None: they have none.
        after: what they wait to see before.

    Returns:
        How each ended, and what came to the terminal, or else to standard error.
    """
    ends = folder / "ends"
    ends.unlink(missing_ok=True)
    requests = folder / "requests.jsonl"
    requests.write_text('{"message_id": "m-1"}\n')
    arguments = [sys.executable, "-m", "tests.cli.on_moto", json.dumps(commands), str(ends)]
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "HOME": str(folder),
        "ACTONCE_DIR": str(folder / "actonce"),
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "COLUMNS": "200",
        "TERM": "xterm",
    }
    if answers is None:
        ended = subprocess.run(
            arguments,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            start_new_session=True,
            timeout=120,
            check=False,
        )
        told = ended.stderr
    else:
        told = terminal.run(arguments, environment, folder, answers=answers, after=after).told
    return [json.loads(line) for line in ends.read_text().splitlines()], told


def main() -> None:
    import boto3  # noqa: PLC0415 - the test's own process needs none of these
    from moto import mock_aws  # noqa: PLC0415

    from actonce.cli import app as cli  # noqa: PLC0415

    commands, ends = json.loads(sys.argv[1]), Path(sys.argv[2])
    with mock_aws():
        for region in ("us-east-1", "eu-west-1"):
            boto3.client("cloudformation", region_name=region).create_stack(
                StackName="actonce", TemplateBody=json.dumps(TEMPLATE)
            )
        sqs = boto3.client("sqs", region_name="us-east-1")
        (queue, _) = sqs.list_queues()["QueueUrls"]
        for arguments in commands:
            sys.argv = ["actonce", *arguments]
            status: Any = None
            try:
                cli.main()
            except SystemExit as ended:
                status = ended.code or 0
            counted = sqs.get_queue_attributes(
                QueueUrl=queue, AttributeNames=["ApproximateNumberOfMessages"]
            )["Attributes"]["ApproximateNumberOfMessages"]
            with ends.open("a") as file:
                file.write(json.dumps({"status": status, "sent": int(counted)}) + "\n")


if __name__ == "__main__":
    main()
