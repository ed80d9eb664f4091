"""Options that several commands share."""

import functools
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Annotated, Any, get_args

import typer

from actonce.stack.endpoint import TargetOptions
from actonce.terminal import ids
from actonce.terminal.errors import UsageError

StackName = Annotated[
    str | None,
    typer.Option(
        "--stack-name",
        metavar="NAME",
        help="The CloudFormation stack: ActOnce's own, or yours that ActOnce is nested in; "
        "YOURS/LogicalId where it is nested twice  [ACTONCE_STACK_NAME, samconfig.toml's, "
        "actonce]",
    ),
]
Embedded = Annotated[
    bool,
    typer.Option("--embedded", help="The embedded AWS of this folder  [if it is up]"),
]
OnAws = Annotated[bool, typer.Option("--aws", help="AWS.")]
Profile = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="AWS, with this profile's credentials."),
]
ConfigEnv = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="AWS, as samconfig.toml's section of this name says: stack_name, region, profile  "
        "[default]",
    ),
]
Region = Annotated[str | None, typer.Option(metavar="NAME", help="AWS, in this Region.")]
MessageId = Annotated[
    str, typer.Argument(metavar="MESSAGE_ID", help="The message's id, or its execution's name.")
]
check_id = ids.check_id
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]

_WHERE = {
    "embedded": Embedded,
    "aws": OnAws,
    "config_env": ConfigEnv,
    "profile": Profile,
    "region": Region,
}

Decorator = Callable[[Callable[..., None]], Callable[..., None]]


def group_options(
    name: str,
    options: Mapping[str, Any],
    make: Callable[..., Any],
) -> Decorator:
    """Give a command options, which it gets as one argument.

    Its help shows them at that argument's place. A call from Python may leave them out.

    Args:
        name: of the argument.
        options: annotations by option name; the default is None where the annotation allows it,
            otherwise False.
        make: makes the argument of all options, by name.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        added = {option: _option(option, annotation) for option, annotation in options.items()}

        @functools.wraps(command)
        def run(*arguments: Any, **given: Any) -> None:
            values = {option: given.pop(option, one.default) for option, one in added.items()}
            command(*arguments, **given, **{name: make(**values)})

        parameters: list[inspect.Parameter] = []
        for own in inspect.signature(command, eval_str=True).parameters.values():
            parameters += added.values() if own.name == name else [own]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        return run

    return decorate


def aws_options(*, asks: bool = False) -> Decorator:
    """Give a command the options that say where it works, as its argument `at`, a `TargetOptions`.

    Args:
        asks: it changes something, so it has --yes as well.
    """
    return group_options("at", _WHERE | ({"yes": Yes} if asks else {}), _chosen)


def stack_options(*, asks: bool = False) -> Decorator:
    """The same for a command that works on a stack."""
    stack_name = {"stack_name": StackName}
    return group_options("at", stack_name | _WHERE | ({"yes": Yes} if asks else {}), _chosen)


def with_glossary(words: Mapping[str, str]) -> Decorator:
    """Explain words that a command prints, in its help above the examples.

    Args:
        words: their meanings, by word.
    """
    glossary = "".join(
        textwrap.fill(f"{word}: {means}", 76, initial_indent="    ", subsequent_indent=" " * 8)
        + "\n"
        for word, means in words.items()
    )

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        before, example, after = str(command.__doc__).partition("    Example")
        command.__doc__ = f"{before}    \b\n{glossary}\n{example}{after}"
        return command

    return decorate


# Any: the other options, as `TargetOptions` has them.
def _chosen(*, embedded: bool, aws: bool, **more: Any) -> TargetOptions:
    if embedded and aws:
        raise UsageError("--embedded and --aws are two places: say one of them.")
    return TargetOptions(embedded=True if embedded else False if aws else None, **more)


def _option(name: str, annotation: Any) -> inspect.Parameter:
    """A keyword parameter; its default is None where the annotation allows it, else False."""
    default = None if NoneType in get_args(get_args(annotation)[0]) else False
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def parse_pairs(option: str, texts: Sequence[str]) -> dict[str, str]:
    """An option's `NAME=VALUE` texts as a dictionary.

    Raises:
        UsageError: a text has no `=`, or nothing before it.
    """
    values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UsageError(f"{option} {text!r}: write NAME=VALUE.")
        values[name] = value
    return values
