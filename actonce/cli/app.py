"""`actonce`: the command line. Each command is a module in `actonce.cli`.

A command's module is imported when the command is run, or its help is read: the list of all
commands, and whatever does not need AWS, is there at once.
"""

import errno
import importlib
import sys
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from actonce.stack.stack_files import version
from actonce.terminal.errors import Failed, Interrupted
from actonce.terminal.visible import OutputLost, give_up_output, guard_standard_streams


@dataclass(frozen=True, slots=True)
class Command:
    """A command in the list of all commands.

    Attributes:
        place: `module:name` of its function, or of its `Typer`, below `actonce.cli`.
        help: the first sentence of its help.
        extra: the extra of the package that it needs.
    """

    place: str
    help: str
    extra: str | None = None

    # Any: the types are of a copy of Click that Typer keeps to itself.
    def load(self, name: str) -> Any:
        """The command.

        Raises:
            UsageError: its extra is not installed.
        """
        if self.extra is not None:
            from actonce.stack import extras  # noqa: PLC0415 - for those alone that have one

            extras.require(self.extra, f"actonce {name}")
        module, _, attribute = self.place.partition(":")
        found = getattr(importlib.import_module(f"actonce.cli.{module}"), attribute)
        group = typer.Typer(add_completion=False, rich_markup_mode=None)
        group.callback()(lambda: None)  # else one command alone would stand for the group
        if isinstance(found, typer.Typer):
            group.add_typer(found, name=name)
        else:
            group.command(name)(found)
        loaded: Any = get_command(group)
        return loaded.commands[name]


COMMANDS = {
    "init": Command("init:init", "Put the stack into your repository, or begin a project."),
    "audit": Command(
        "audit:audit", "Say of each message: acted on once, again, or lost.", extra="audit"
    ),
    "audit package": Command(
        "audit:package", "Pack the audit for spark-submit and EMR Serverless."
    ),
    "audit page": Command(
        "audit:page", "Draw the page of an audit that ran elsewhere.", extra="audit"
    ),
    "collect": Command("collect:collect", "Write the records of a day, for actonce audit."),
    "backfill": Command(
        "backfill:backfill",
        "Write the distinct messages of an archive into a folder to send.",
        extra="audit",
    ),
    "demo": Command(
        "demo:demo", "Send and interrupt requests, and see each acted on once.", extra="embedded"
    ),
    "effect": Command("effect:app", "Try whether your own effect keeps the contract."),
    "up": Command(
        "embedded:up", "Bring up the embedded AWS with the stack on it.", extra="embedded"
    ),
    "down": Command("embedded:down", "Stop the embedded AWS.", extra="embedded"),
    "env": Command(
        "embedded:env",
        "Print the variables that point tools at the embedded AWS.",
        extra="embedded",
    ),
    "sam-local": Command(
        "sam_local:sam_local",
        "Run a function in a container, on the embedded AWS.",
        extra="embedded",
    ),
    "send": Command("send:send", "Send each line that is not blank as one message, verbatim."),
    "pause": Command("pause:pause", "Take no more messages from the requests queue."),
    "resume": Command("pause:resume", "Take messages again."),
    "status": Command("status:status", "Show what waits for whom, the worst first."),
    "doctor": Command("doctor:doctor", "Compare what is deployed with what the stack assumes."),
    "list": Command("listing:list_", "List recent messages, the newest first."),
    "console": Command(
        "console:console", "Look at messages, and decide, in the browser.", extra="console"
    ),
    "where": Command("where:where", "Tell the whole story of one message, in order of time."),
    "dead-letters": Command("dead_letters:app", "Look at what waits for a decision, and decide."),
    "unstarted": Command("unstarted:app", "Look at, send back or discard what was not started."),
}


class _Commands(TyperGroup):
    """Knows commands of two words beside a command that takes arguments: `audit package`."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - Click's
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        if ctx.resilient_parsing:  # a shell asks which there are, and may not wait for all of them
            hidden = " " in cmd_name
            return TyperCommand(cmd_name, help=COMMANDS[cmd_name].help, hidden=hidden)
        return COMMANDS[cmd_name].load(cmd_name)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise Interrupted(
                "Interrupted. What was done stays done; the same command again is safe."
            ) from error

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        two_words = " ".join(args[:2])
        if len(args) > 1 and two_words in COMMANDS:
            return two_words, self.get_command(ctx, two_words), args[2:]
        if ctx.resilient_parsing and args[0] in COMMANDS:
            return args[0], COMMANDS[args[0]].load(args[0]), args[1:]
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - Click's
        with formatter.section("Commands"):
            formatter.write_dl([(name, listed.help) for name, listed in COMMANDS.items()])


app = typer.Typer(
    cls=_Commands,
    name="actonce",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _say_version(wanted: bool) -> None:  # noqa: FBT001 - Typer's
    if wanted:
        typer.echo(f"actonce {version()}")
        raise typer.Exit


@app.callback()
def actonce(
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_say_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Every Amazon SQS message acted on once, and the proof that it was.

    To begin, without an account at AWS:

        actonce demo --messages 30
    """


def main() -> None:
    """Entry point. Exit status: 0, 1 (the thing failed), 2 (wrong use) or 130 (Ctrl-C)."""
    guard_standard_streams()
    try:
        try:
            for word in sys.argv:
                word.encode()  # what is not UTF-8 neither AWS nor a file of JSON can have
            app(prog_name="actonce")
        finally:
            sys.stdout.flush()  # what cannot be written is to be told of, also at the end
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        description = _describe_error(error)
        if description is None:
            raise
        from actonce.terminal import output  # noqa: PLC0415 - most of a list of commands' time

        output.say_failed(description)
        is_word = isinstance(error, UnicodeEncodeError)
        is_name = isinstance(error, OSError) and error.errno in _NO_NAME
        status = 2 if is_word or is_name else 1
        sys.exit(error.exit_status if isinstance(error, Failed) else status)


def _describe_error(error: Exception) -> str | None:
    """What to say of an error that is no bug; None: it may be one."""
    if isinstance(error, Failed):
        return str(error)
    if isinstance(error, UnicodeEncodeError):
        return f"{error.object!r} is not UTF-8: write it so, a file's name too."
    if isinstance(error, OutputLost):
        give_up_output()
        return (
            f"The output cannot be written: {error.strerror}. What was asked for may have been "
            "done; make room, or write elsewhere, and look before it is said again."
        )
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        where = f" for {error.filename}" if error.filename else ""
        return f"There is no room{where}: {error.strerror}. Make room, and say the same again."
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename} cannot be used: {error.strerror}. Name another, or mend it."
    from actonce.stack import aws_errors  # noqa: PLC0415 - as above

    return aws_errors.describe_error(error)


_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_NO_NAME = frozenset({errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR})
"""What no file of that name can be had for: somebody named it wrongly."""


if __name__ == "__main__":
    main()
