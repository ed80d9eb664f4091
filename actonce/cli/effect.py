"""`actonce effect`: what is yours of it, tried."""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from actonce.adopt.effect_check import target as targets
from actonce.adopt.effect_check.calls import Caller
from actonce.adopt.effect_check.checks import Checks, Finding, Settings, Status
from actonce.adopt.effect_check.on_lambda import OnLambda
from actonce.adopt.effect_check.processes import Processes
from actonce.cli.options import Json, StackName, named_values
from actonce.stack.embedded_folder import Paths, State, running
from actonce.stack.endpoint import Chosen
from actonce.stack.target import find_stack
from actonce.terminal import output as console
from actonce.terminal.errors import WrongUse
from actonce_core.invoked_effect import client_config

app = typer.Typer(
    help="Try the contract on your own effect, and tell what it does not keep.\n\n"
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
        float, typer.Option(min=0.1, help="EffectTimeoutSeconds; on the embedded AWS 4.")
    ] = 4.0,
    margin: Annotated[
        float,
        typer.Option(min=0, help="StragglerMarginSeconds: how long what it called may go on."),
    ] = 0.5,
    settle: Annotated[
        float,
        typer.Option(min=0, help="Seconds after which a second look has to say the same."),
    ] = 1.0,
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
    """Try the contract of docs/your-own-effect.md on your effect, and tell what it does not keep.

    It is performed for real, some 40 times, under ids that begin with actonce-check-: in processes
    of its own, killed before, in and after the call. Of AWS it reaches the embedded one, or none;
    what else it calls has to be a test's.

    Exit status: 0, all that was tried is kept; 1, something is not; 2, it cannot be tried.

    Examples:

        actonce effect check --yes

        actonce effect check functions/gift_cards.py --body '{"amount": 20}' --yes

        actonce effect check my_effects.py:GiftCards --body @card.json --rejected '{}' --json --yes
    """
    bodies = {
        name: None if text is None else targets.body_from(text)
        for name, text in (("rejected", rejected), ("not_performed", not_performed))
    }
    variables = named_values("--env", variable or ())
    asked = None if body is None else targets.body_from(body)
    if not yes:
        _ask(json_=json)
    state = running(Paths.default())
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "printed"
        with _caller(
            target, find_target, state, stack_name, variables, timeout, log, own_account=own_account
        ) as (caller, finds, place):
            settings = Settings(
                body=targets.sample_body(place) if body is None else asked,
                timeout=timeout,
                margin=margin,
                settle=settle,
                **bodies,
            )
            found = _told(Checks(caller, settings, finds).run(), silent=json)
        printed = log.read_text("utf-8", "replace")[-_LAST_WORDS:] if log.exists() else ""
    failed = [one for one in found if one.status is Status.FAILED]
    if json:
        console.print_json({"checks": [one.as_json() for one in found], "failed": len(failed)})
    else:
        _sum_up(found, failed, printed)
    if failed:
        raise typer.Exit(1)


def _ask(*, json_: bool) -> None:
    if json_ or not console.can_ask():
        raise WrongUse(
            "The effect is performed for real, some 40 times, and nobody can be asked here: say "
            "--yes."
        )
    if not typer.confirm("It is performed for real, some 40 times. Go on?", err=True):
        raise typer.Exit(1)


@contextmanager
def _caller(
    target: str | None,
    find_target: str | None,
    state: State | None,
    stack_name: str | None,
    variables: dict[str, str],
    timeout: float,
    log: Path,
    *,
    own_account: bool,
) -> Iterator[tuple[Caller, bool, Path]]:
    """Who calls it, whether it can look up, and the folder that a sample may lie in."""
    paths = Paths.default()
    stack = None
    if target is None or target.startswith("arn:"):
        if state is None:
            raise WrongUse("The embedded AWS is not up (actonce up), so name the code to try.")
        stack = find_stack(Chosen(stack_name, embedded=True))
    if stack is not None and state is not None and (target is not None or not stack.is_example):
        function = target or stack.effect_function
        finds = (find_target or "") if target is not None else stack.find_function or ""
        client = stack.aws.fresh("lambda", client_config(timeout))
        yield OnLambda(client, state, function, finds), bool(finds), Path.cwd()
        return
    if find_target is not None:
        raise WrongUse("--find goes with the ARN of a function.")
    if stack is not None:
        code = targets.deployed(stack, [paths.stack / "functions"])
    else:
        code = targets.named(str(target))
    endpoint = None if state is None else state.endpoint_url
    environment = targets.environment(code, endpoint, own_account=own_account) | variables
    processes = Processes(code.target, code.folder, environment, timeout, log)
    with processes.open() as caller:
        yield caller, True, code.folder


def _told(findings: Iterable[Finding], *, silent: bool) -> list[Finding]:
    found = []
    for one in findings:
        found.append(one)
        if not silent:
            _print(one)
    return found


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
