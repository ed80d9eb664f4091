"""Runs a function in a container by `sam local invoke`, against the embedded AWS.

It runs what `sam build` wrote, and adds three things that `sam local` cannot know: the runtime that
the package was built for, the variables of the deployed function, and where the container reaches
the embedded AWS.
"""

import json
import platform
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import yaml

from actonce.embedded import sam
from actonce.embedded.forwarder import reachable_from_containers
from actonce.stack.clients import Stack
from actonce.stack.embedded_folder import PROJECT, Paths, State
from actonce.terminal.errors import Failed, UsageError

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a function answered.

    Attributes:
        value: the JSON value; where the handler raised, Lambda's error object.
        raised: whether it raised. SAM's own exit status is 0 either way.
    """

    value: Any
    raised: bool


def invoke(  # noqa: PLR0913 - where it runs, and what
    paths: Paths, state: State, stack: Stack, function: str, event: Path, say: Say
) -> Answer:
    """Invoke a function in a container. What it logs goes to standard error.

    Args:
        paths: of the embedded AWS, with what sam build wrote.
        state: of the embedded AWS.
        stack: deployed there.
        function: its logical name in template.yaml, such as `StarterFunction`.
        event: file with the event, JSON.
        say: is called with the command.

    Raises:
        UsageError: no such function or no such event file.
        Failed: no container engine; or the function gave no answer: it crashed, it ran out of
            time, or SAM failed.
    """
    if not event.is_file():
        raise UsageError(f"There is no event file {event}.")
    variables = deployed_variables(stack)
    if function not in variables:
        raise UsageError(
            f"template.yaml has no {function!r}; it has {', '.join(sorted(variables))}."
        )
    with (
        reachable_from_containers(state.port, _gateway()) as address,
        # Beside what was built, because its paths are relative.
        tempfile.NamedTemporaryFile("w", dir=paths.build, suffix=".yaml") as template,
    ):
        built = (paths.build / "template.yaml").read_text()
        template.write(with_variables(built, variables, f"http://{address}"))
        template.flush()
        arguments = ["local", "invoke", function, "--event", str(event.resolve())]
        arguments += ["--template", template.name]
        arguments += ["--config-file", str(PROJECT / "samconfig.toml")]
        arguments += ["--skip-pull-image"]  # an image that is not there is pulled all the same
        say(f"sam {shlex.join(arguments)}")
        run = subprocess.run(
            [sys.executable, "-m", "samcli", *arguments],
            # SAM asks STS who calls, and passes Region and credentials to the container. It would
            # also pass on its own value of any variable that the template declares.
            env=sam.environment(AWS_ENDPOINT_URL_STS=state.endpoint_url),
            cwd=paths.stack,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            check=False,
            text=True,
        )
    return read_answer(run.stdout, function)


def deployed_variables(stack: Stack) -> dict[str, dict[str, str]]:
    """The environment of each deployed function, by its logical name in template.yaml."""
    resources = stack.aws.client("cloudformation").describe_stack_resources(StackName=stack.name)
    variables = {}
    for resource in resources["StackResources"]:
        if resource["ResourceType"] == "AWS::Lambda::Function":
            name = resource["PhysicalResourceId"]
            configuration = stack.lambda_.get_function_configuration(FunctionName=name)
            environment = configuration.get("Environment", {}).get("Variables", {})
            variables[resource["LogicalResourceId"]] = dict(environment)
    return variables


def with_variables(
    built: str, variables: Mapping[str, Mapping[str, str]], endpoint_url: str
) -> str:
    """The template for `sam local`, which gives a container the variables that it declares.

    Args:
        built: the template that sam build wrote.
        variables: of each function, by its logical name.
        endpoint_url: of the embedded AWS, as a container reaches it.
    """
    template = yaml.safe_load(built)
    # Nor does an image for another processor than this machine's start everywhere.
    processor = "arm64" if platform.machine() in ("aarch64", "arm64") else "x86_64"
    template["Parameters"]["PythonRuntime"]["Default"] = f"python3.{sys.version_info.minor}"
    template["Parameters"]["Architecture"]["Default"] = processor
    for name, values in variables.items():
        properties = template["Resources"][name]["Properties"]
        given = {**values, "AWS_ENDPOINT_URL": endpoint_url}
        properties.setdefault("Environment", {})["Variables"] = given
    return yaml.safe_dump(template, sort_keys=False)


def read_answer(output: str, function: str) -> Answer:
    """Read what `sam local invoke` printed on standard output.

    Raises:
        Failed: there is no answer in it.
    """
    lines = output.strip().splitlines()
    try:
        value = json.loads(lines[-1])
    except (IndexError, ValueError):
        raise Failed(
            f"{function} gave no answer: it crashed, ran out of time, or could not be started; "
            "what SAM said is above."
        ) from None
    return Answer(value, raised=isinstance(value, dict) and "errorType" in value)


def _gateway() -> str:
    """This machine's address on the network that SAM starts containers in."""
    networks = json.loads(_docker("network", "inspect", "bridge"))
    for configuration in networks[0]["IPAM"]["Config"] or []:
        network = ip_network(configuration["Subnet"])
        if network.version == 4:
            # The engine takes the first address where none was chosen.
            return str(configuration.get("Gateway") or network[1])
    raise Failed("The container engine's network 'bridge' has no IPv4 addresses.")


def _docker(*arguments: str) -> str:
    try:
        run = subprocess.run(
            ["docker", *arguments], capture_output=True, check=False, text=True, timeout=60
        )
        output = run.stderr.strip() or "docker said nothing"
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        run, output = None, str(error)
    if run is None or run.returncode != 0:
        raise Failed(
            f"sam local needs a container engine: {output.splitlines()[-1]} Start one (Docker), or "
            "set DOCKER_HOST to it."
        )
    return run.stdout
