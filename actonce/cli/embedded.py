"""`actonce up`, `actonce down`, `actonce env`: the embedded AWS."""

from pathlib import Path
from typing import Annotated

import typer

from actonce.cli.options import parse_pairs
from actonce.doctor.findings import OF_VERSIONS, examine
from actonce.doctor.looking import look
from actonce.embedded import lifecycle
from actonce.stack.clients import Aws, Stack, embedded_variables
from actonce.stack.embedded_folder import Paths
from actonce.terminal import output as console
from actonce.terminal.errors import Failed

Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter",
        "-p",
        metavar="NAME=VALUE",
        help="A parameter of template.yaml; or, as ssm:NAME=VALUE, one of Parameter Store. May be "
        "given more than once.",
    ),
]


def up(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="0: that of the last time, or a free one.")
    ] = 0,
    parameter: Parameters = None,
    project: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="A SAM project of yours, whose template has ActOnce nested in it."
        ),
    ] = None,
) -> None:
    """Bring up the embedded AWS with the stack on it.

    The stack is deployed by sam build and sam deploy, in up to a minute. Harmless when it is up: a
    changed source or parameter is deployed, and nothing else happens. What cannot be deployed
    leaves what ran; a parameter's name and value are looked at before anything is stopped. It keeps
    its port. Its data live until `actonce down`.

    It says if a parameter changed the function and no version of it was published, and if the next
    deployment would delete the version that is called.

    With --project the whole of your template is deployed, with your functions. From then on actonce
    means that project, in its folder and below.

    Examples:

        actonce up

        actonce up --port 4566 --parameter 'ContentFrom={patient: patient, day: day}'

        actonce up --project .
    """
    paths = Paths.default() if project is None else Paths.of_project(project)
    parameters = parse_pairs("--parameter", parameter) if parameter else None
    state, _ = lifecycle.up(paths, console.say, port=port, parameters=parameters)
    stacks = Stack.find_all(Aws(state.endpoint_url), lifecycle.STACK_NAME)
    for one in stacks:
        for finding in examine(look(one)).findings:
            if finding.check in OF_VERSIONS:
                console.say_warning(finding.sentence)
    names = ", ".join(one.display_name for one in stacks)
    console.out.print(f"Up at {state.endpoint_url}, stack {names}", markup=False)


def down() -> None:
    """Stop the embedded AWS. What was in it is gone.

    Example:

        actonce down
    """
    stopped = lifecycle.down(Paths.default())
    console.out.print("Stopped." if stopped else "It was not up.")


def env() -> None:
    """Print the variables that point tools at the embedded AWS.

    The AWS CLI, SAM and boto3 read them.

    Example:

        eval "$(actonce env)" && aws stepfunctions list-state-machines
    """
    state = lifecycle.running(Paths.default())
    if state is None:
        raise Failed("The embedded AWS is not up; actonce up brings it up.")
    for name, value in embedded_variables(state.endpoint_url).items():
        console.out.print(f"export {name}={value}", markup=False)
