"""`actonce effect`: what is yours of it, tried."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from botocore.exceptions import BotoCoreError, ClientError, ReadTimeoutError

from actonce.adopt.effect_check.bodies import body_from, sample_body
from actonce.adopt.effect_check.checks import Trial
from actonce.adopt.effect_check.finding import Finding, Settings, Status
from actonce.adopt.effect_check.on_lambda import OnLambda
from actonce.cli.options import Json, StackName
from actonce.stack.aws_errors import error_text
from actonce.stack.embedded_folder import Paths, running
from actonce.stack.endpoint import TargetOptions
from actonce.stack.message_ids import DEFAULT, parameters
from actonce.stack.target import find_stack
from actonce.terminal import output as console
from actonce.terminal.errors import Failed, UsageError
from actonce_core.invoked_effect import client_config

app = typer.Typer(
    help="Try whether your own effect keeps the contract.\n\n"
    "Example:\n\n    actonce effect check --yes",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_MARKS = {
    Status.PASSED: ("✓", "green"),
    Status.FAILED: ("✗", "bold red"),
    Status.UNTRIED: ("–", "yellow"),
}


app.callback()(lambda: None)  # else one command alone would stand for the group


@app.command()
def check(
    body: Annotated[
        str | None,
        typer.Option(
            metavar="JSON",
            help="A message's body that it performs, or @FILE  [events/perform.json]",
        ),
    ] = None,
    rejected: Annotated[
        str | None, typer.Option(metavar="JSON", help="One that it rejects, or @FILE.")
    ] = None,
    not_performed: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="One that it says did not happen, or @FILE."),
    ] = None,
    slow: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="One whose provider it does not wait for, or @FILE."),
    ] = None,
    margin: Annotated[
        float,
        typer.Option(
            min=0,
            max=86_400,
            help="StragglerMarginSeconds: how long what it called may go on.",
        ),
    ] = 0.5,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    stack_name: StackName = None,
    json: Json = False,
) -> None:
    """Try the contract on the effect of the stack on the embedded AWS.

    docs/your-own-effect.md has the contract. The effect is performed for real, some 40 times, under
    ids that begin with actonce-check-; its processes are killed in the call and before they answer.
    What it calls has to be a test's. It takes half a minute, and more the longer the function's
    time-out is.

    Exit status: 0, all that was tried is kept; 1, something is not; 2, it cannot be tried.

    Examples:

        actonce effect check --yes

        actonce effect check --body @card.json --rejected '{}' --json --yes
    """
    sample, rejects, refuses, slows = (
        None if text is None else body_from(text) for text in (body, rejected, not_performed, slow)
    )
    if not yes:
        often = "The effect is performed for real, some 40 times"
        console.agree(f"{often}. Go on?", f"{often}, and nobody can be asked here: say --yes.")
    found = []
    with _untriable():
        function, timeout, id_from = _deployed(stack_name)
        if body is None:
            sample = sample_body(Path.cwd())
        settings = Settings(sample, timeout, margin, 2 * margin, rejects, refuses, slows, id_from)
        for one in Trial(function, settings).run():
            found.append(one)
            if not json:
                _print(one)
    failed = [one for one in found if one.status is Status.FAILED]
    if json:
        console.print_json({"checks": [asdict(one) for one in found], "failed": len(failed)})
    else:
        _sum_up(found, failed)
    if failed:
        raise typer.Exit(1)


@contextmanager
def _untriable() -> Iterator[None]:
    """Have what is no answer of the effect end the command as wrong use."""
    try:
        yield
    except ReadTimeoutError as error:
        raise UsageError(
            "The effect cannot be tried: its function has not answered although its time-out is "
            "over. Its process may still be starting; say the same again, on a less busy machine "
            f"or with a smaller package. ({error_text(error)})"
        ) from error
    except (Failed, BotoCoreError, ClientError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"The effect cannot be tried: {error_text(error)}") from error


def _deployed(stack_name: str | None) -> tuple[OnLambda, int, str]:
    """The effect of the stack on the embedded AWS, its time-out in seconds, and MessageIdFrom."""
    paths = Paths.default()
    state = running(paths)
    if state is None:
        raise UsageError("The embedded AWS is not up, where the effect is tried: actonce up.")
    stack = find_stack(TargetOptions(stack_name, embedded=True))
    effect = stack.effect_function
    timeout = stack.lambda_.get_function_configuration(FunctionName=effect)["Timeout"]
    client = stack.aws.fresh("lambda", client_config(timeout))
    calls = OnLambda(client, state, paths.faults, effect, stack.find_function or "")
    return calls, timeout, parameters(stack).get("MessageIdFrom", DEFAULT)


def _print(one: Finding) -> None:
    mark, style = _MARKS[one.status]
    beside = f"  ({one.story})" if one.story and one.status is not Status.FAILED else ""
    console.out.print(f"{mark} {one.asks}{beside}", style=style)
    if one.status is Status.FAILED:
        console.out.print(f"    {one.story}")
        console.out.print(f"    → {one.change}")


def _sum_up(found: list[Finding], failed: list[Finding]) -> None:
    tried = sum(one.status in (Status.PASSED, Status.FAILED) for one in found)
    untried = sum(one.status is Status.UNTRIED for one in found)
    rest = f"; {untried} not tried" if untried else ""
    if failed:
        console.out.print(f"✗ {len(failed)} of {tried} are not kept{rest}.", style="bold red")
    else:
        console.out.print(f"✓ All {tried} are kept{rest}.", style="bold green")
