"""Runs `sam` on this machine, against the embedded AWS."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from actonce.stack.clients import EMBEDDED_CREDENTIALS, EMBEDDED_REGION, Aws
from actonce.stack.embedded_folder import PROJECT, Paths
from actonce.terminal.errors import Failed

STACK_NAME = "actonce"
ARTIFACTS_BUCKET = "actonce-artifacts"


def deploy(
    paths: Paths,
    endpoint_url: str,
    template: Path,
    values: Mapping[str, str],
    stack: str = STACK_NAME,
) -> None:
    """Deploy a template, whole or not at all.

    Args:
        paths: of the embedded AWS.
        endpoint_url: of the embedded AWS.
        template: as `local_stack` wrote it.
        values: of the template's parameters.
        stack: its name.

    Raises:
        Failed: with what CloudFormation says of it.
    """
    deploy = ["deploy", "--template-file", str(template), "--stack-name", stack]
    deploy += ["--config-file", str(PROJECT / "samconfig.toml")]
    deploy += ["--s3-bucket", ARTIFACTS_BUCKET, "--no-resolve-s3", "--region", EMBEDDED_REGION]
    deploy += ["--capabilities", "CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]
    deploy += ["--no-confirm-changeset", "--no-fail-on-empty-changeset", "--no-progressbar"]
    deploy += overriding(values)
    try:
        run(deploy, paths, AWS_ENDPOINT_URL=endpoint_url)
    except Failed as error:
        why = _why(Aws(endpoint_url), stack)
        raise Failed(f"{why} {error}" if why else str(error)) from error


def run(arguments: list[str], paths: Paths, **variables: str) -> None:
    """Run a command of sam.

    Args:
        arguments: after `sam`.
        paths: of the embedded AWS; its output is added to `deploy_log`.
        variables: more of its environment.

    Raises:
        Failed: it did not succeed.
    """
    with paths.deploy_log.open("a") as opened:
        opened.write(f"\n$ sam {' '.join(arguments)}\n")
        opened.flush()
        answer = subprocess.run(
            [sys.executable, "-m", "samcli", *arguments],
            env=environment(**variables),
            # sam keeps dependencies below the folder that it runs in, and removes those of every
            # other build there.
            cwd=paths.home,
            stdin=subprocess.DEVNULL,
            stdout=opened,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if answer.returncode != 0:
        last = paths.deploy_log.read_text().strip().splitlines()[-1]
        raise Failed(f"sam {arguments[0]} failed ({last}); all it said is in {paths.deploy_log}.")


def environment(**variables: str) -> dict[str, str]:
    """Sam's environment: the user's, without what concerns AWS, credentials included."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return {
        **kept,
        **EMBEDDED_CREDENTIALS,
        "AWS_DEFAULT_REGION": EMBEDDED_REGION,
        "SAM_CLI_TELEMETRY": "0",
        "SAM_CLI_POLL_DELAY": "0.2",  # seconds; the default of 5 spares AWS
        # sam looks for the interpreter that the runtime is named after.
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        **variables,
    }


def overriding(values: Mapping[str, str]) -> list[str]:
    """The arguments that give a template's parameters their values."""
    if not values:
        return []
    return ["--parameter-overrides", *(f"{name}={_quoted(v)}" for name, v in values.items())]


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _why(aws: Aws, stack: str) -> str:
    """What CloudFormation says of the first thing that failed in the last deployment."""
    cloudformation = aws.client("cloudformation")
    try:
        events = cloudformation.describe_stack_events(StackName=stack)["StackEvents"]
    except (ClientError, BotoCoreError):
        return ""
    failed = ""
    for one in events:  # the last one first
        if one["ResourceType"] == "AWS::CloudFormation::Stack" and one["ResourceStatus"] in (
            "CREATE_IN_PROGRESS",
            "UPDATE_IN_PROGRESS",
        ):
            if one["LogicalResourceId"] == stack:
                break
        elif one["ResourceStatus"].endswith("_FAILED") and one.get("ResourceStatusReason"):
            failed = f"{one['LogicalResourceId']}: {one['ResourceStatusReason']}."
    return failed
