"""`actonce effect`: what is yours of it, tried."""

import tempfile
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from actonce.adopt.effect_check import target as targets
from actonce.adopt.effect_check.checks import Finding, Settings, Status, Trial
from actonce.adopt.effect_check.on_lambda import OnLambda
from actonce.adopt.effect_check.processes import Processes
from actonce.cli.options import Json, StackName, named_values
from actonce.stack.embedded_folder import Paths, State, running
from actonce.stack.endpoint import Chosen
from actonce.stack.target import find_stack
from actonce.terminal import output as console
from actonce.terminal.errors import WrongUse
from actonce_core.invoked_effect import client_config

if TYPE_CHECKING:
    from actonce.adopt.effect_check.calls import Caller

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
    Status.TOLD: ("·", "dim"),
}
_LAST_WORDS = 400  # characters of what the effect printed
_SECONDS_OF_CODE = 4.0  # that names no function, which would have a time-out of its own


app.callback()(lambda: None)  # else one command alone would stand for the group


@app.command()
def check(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[TARGET]",
            help="FILE.py or FILE.py:NAME (a handler, or a class with perform and find), or the "
            "ARN of a function on the embedded AWS  [that of the stack on it]",
        ),
    ] = None,
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
    find_target: Annotated[
        str | None,
        typer.Option(
            "--find", metavar="ARN", help="The function that looks up, if TARGET is an ARN."
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(min=0.1, help="EffectTimeoutSeconds  [the function's own; of code 4]"),
    ] = None,
    margin: Annotated[
        float,
        typer.Option(min=0, help="StragglerMarginSeconds: how long what it called may go on."),
    ] = 0.5,
    variable: Annotated[
        list[str] | None,
        typer.Option("--env", metavar="NAME=VALUE", help="A variable of the function's."),
    ] = None,
    own_account: Annotated[
        bool,
        typer.Option("--own-account", help="Let it reach AWS as your variables say."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    stack_name: StackName = None,
    json: Json = False,
) -> None:
    """Try the contract on your effect, and tell what it does not keep.

    docs/your-own-effect.md has the contract. The effect is performed for real, some 40 times, under
    ids that begin with actonce-check-: in processes of its own, killed in the call and before it
    answers. Of AWS it reaches the embedded one, or none; what else it calls has to be a test's.

    Exit status: 0, all that was tried is kept; 1, something is not; 2, it cannot be tried.

    Examples:

        actonce effect check --yes

        actonce effect check functions/gift_cards.py --body '{"amount": 20}' --yes

        actonce effect check my_effects.py:GiftCards --body @card.json --rejected '{}' --json --yes
    """
    asked, rejects, refuses = (
        None if text is None else targets.body_from(text)
        for text in (body, rejected, not_performed)
    )
    variables = named_values("--env", variable or ())
    if not yes:
        often = "The effect is performed for real, some 40 times"
        console.agree(f"{often}. Go on?", f"{often}, and nobody can be asked here: say --yes.")
    state = running(Paths.default())
    found = []
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "printed"
        called: AbstractContextManager["Caller"]
        place = Path.cwd()
        if target is None or target.startswith("arn:"):
            function = _deployed(target, find_target, state, stack_name)
            timeout = timeout or function.timeout
            called = nullcontext(function)
        elif find_target is not None:
            raise WrongUse("--find goes with the ARN of a function.")
        else:
            timeout = timeout or _SECONDS_OF_CODE
            endpoint = None if state is None else state.endpoint_url
            environment = targets.environment(endpoint, own_account=own_account) | variables
            code, place = targets.code(target)
            called = Processes(code, place, environment, timeout, log).open()
        with called as caller:
            settings = Settings(
                targets.sample_body(place) if body is None else asked,
                timeout,
                margin,
                2 * margin,
                rejects,
                refuses,
            )
            for one in Trial(caller, settings).run():
                found.append(one)
                if not json:
                    _print(one)
        printed = log.read_text("utf-8", "replace")[-_LAST_WORDS:] if log.exists() else ""
    failed = [one for one in found if one.status is Status.FAILED]
    if json:
        console.print_json({"checks": [asdict(one) for one in found], "failed": len(failed)})
    else:
        _sum_up(found, failed, printed)
    if failed:
        raise typer.Exit(1)


def _deployed(
    target: str | None, find_target: str | None, state: State | None, stack_name: str | None
) -> OnLambda:
    """A function by its ARN, or that of the stack on the embedded AWS."""
    if state is None:
        raise WrongUse("The embedded AWS is not up (actonce up), so name the code to try.")
    stack = find_stack(Chosen(stack_name, embedded=True))
    effect, finds = target, find_target
    if target is None:
        effect, finds = stack.outputs.get("EffectFunctionArn"), stack.find_function
    if effect is None:
        raise WrongUse("A lock's consumer performs the example itself: name its code.")
    timeout = stack.lambda_.get_function_configuration(FunctionName=effect)["Timeout"]
    client = stack.aws.fresh("lambda", client_config(timeout))
    return OnLambda(client, state, effect, finds or "", timeout)


def _print(one: Finding) -> None:
    mark, style = _MARKS[one.status]
    beside = f"  ({one.story})" if one.story and one.status is not Status.FAILED else ""
    console.out.print(f"{mark} {one.asks}{beside}", style=style)
    if one.status is Status.FAILED:
        console.out.print(f"    {one.story}")
        console.out.print(f"    → {one.change}")


def _sum_up(found: list[Finding], failed: list[Finding], printed: str) -> None:
    tried = sum(one.status in (Status.PASSED, Status.FAILED) for one in found)
    untried = sum(one.status is Status.UNTRIED for one in found)
    rest = f"; {untried} not tried" if untried else ""
    if failed:
        console.out.print(f"✗ {len(failed)} of {tried} are not kept{rest}.", style="bold red")
        if printed.strip():
            console.out.print("The effect printed last:", style="dim")
            console.print_lines(printed.strip())
    else:
        console.out.print(f"✓ All {tried} are kept{rest}.", style="bold green")
