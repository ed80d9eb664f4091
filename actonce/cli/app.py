"""`actonce`: the command line. Each command is a module in `actonce.cli`.

A command's module is imported when the command is run, or its help is read: the list of all
commands, and whatever does not need AWS, is there at once.
"""

import errno
import importlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from actonce.stack.sources import version
from actonce.terminal.errors import Failed, Interrupted
from pipeline.visible import OutputLost, give_up_output, guard_standard_streams


@dataclass(frozen=True, slots=True)
class Listed:
    """A command as the list of all of them shows it.

    Attributes:
        place: `module:name` of its function, or of its `Typer`, below `actonce.cli`.
        help: the first sentence of its help.
        extra: what has to be installed besides.
        after_ctrl_c: how to go on where a person ended it in the middle, unless it says so itself.
    """

    place: str
    help: str
    extra: str | None = None
    after_ctrl_c: str = "Say the same again to begin anew."

    # Any: the types are of a copy of Click that Typer keeps to itself.
    def load(self, name: str) -> Any:
        """The command.

        Raises:
            WrongUse: its extra is not installed.
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
    "init": Listed(
        "init:init",
        "Put the stack into a repository of yours, or make a project around it.",
    ),
    "audit": Listed(
        "audit:audit",
        "Say of each message whether it was acted on once, again, or lost.",
        extra="audit",
        after_ctrl_c="It says nothing of the records; say the same again to begin anew.",
    ),
    "audit package": Listed(
        "audit:package",
        "Pack the audit for spark-submit, such as EMR Serverless' (release emr-spark-8.0.0).",
    ),
    "audit page": Listed(
        "audit:page",
        "Draw the page of an audit that ran elsewhere, such as the night's on EMR Serverless.",
        extra="audit",
    ),
    "collect": Listed(
        "collect:collect",
        "Write a day's records as each part of the stack has them, for actonce audit.",
        after_ctrl_c="The records may be half there; say the same again to replace them.",
    ),
    "backfill": Listed(
        "backfill:backfill",
        "Send each distinct message of an archive once; go on where it was killed.",
        extra="pipeline",
        after_ctrl_c="Say the same again to go on: what was sent is not sent again.",
    ),
    "demo": Listed(
        "demo:demo",
        "Send requests more than once, interrupt some, and show that each was acted on once.",
        extra="embedded",
    ),
    "effect": Listed(
        "effect:app", "Try the contract on your own effect, and tell what it does not keep."
    ),
    "up": Listed(
        "embedded:up",
        "Bring up the embedded AWS with the stack deployed on it by sam build and sam deploy.",
        extra="embedded",
        after_ctrl_c="What was up before is up, and what was half deployed is down; say the same "
        "again.",
    ),
    "down": Listed("embedded:down", "Stop the embedded AWS.", extra="embedded"),
    "env": Listed(
        "embedded:env",
        "Print the variables that point the AWS CLI, SAM and boto3 at the embedded AWS.",
        extra="embedded",
    ),
    "sam-local": Listed(
        "sam_local:sam_local",
        "Run a function in a container by sam local invoke, on the embedded AWS.",
        extra="embedded",
    ),
    "send": Listed(
        "send:send",
        "Send each line that is not blank as one message, verbatim.",
        after_ctrl_c="To send all lines again is safe: what was sent before is a duplicate.",
    ),
    "pause": Listed(
        "pausing:pause",
        "Take no more messages: they wait in RequestsQueue, for 14 days at most, free of charge.",
    ),
    "resume": Listed("pausing:resume", "Take messages again."),
    "status": Listed(
        "status:status",
        "Show what waits for whom, the worst first, and how the stack is.",
    ),
    "doctor": Listed(
        "doctor:doctor",
        "Compare what is deployed with what the stack assumes, and say what to do about it.",
    ),
    "list": Listed(
        "listing:list_",
        "List recent messages, the newest first: those that have an execution, or a row.",
    ),
    "console": Listed(
        "web_console:console",
        "Show in the browser what waits for a person, what happened to any message, and decide.",
        extra="console",
        after_ctrl_c="It has ended, and nothing of it runs; what was decided stays decided.",
    ),
    "where": Listed("where:where", "Tell the whole story of one message, in order of time."),
    "worker": Listed(
        "worker:worker",
        "Take messages from the queue and act on each once, until SIGTERM or Ctrl-C.",
    ),
    "dead-letters": Listed(
        "dead_letters:app",
        "Look at dead letters, which are messages that wait for a decision, and decide.",
    ),
    "unstarted": Listed(
        "unstarted:app",
        "Look at deliveries that could not be started, send them back, or discard them.",
    ),
}


class _Loaded(Mapping[str, Any]):
    """The commands by name; looked up, one is imported."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            self._known[name] = COMMANDS[name].load(name)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Commands(TyperGroup):
    """Knows commands of two words beside a command that takes arguments: `audit package`."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = _Loaded()

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - Click's
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        if ctx.resilient_parsing:  # a shell asks which there are, and may not wait for all of them
            hidden = " " in cmd_name
            return TyperCommand(cmd_name, help=COMMANDS[cmd_name].help, hidden=hidden)
        return self.commands[cmd_name]

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            begun = COMMANDS.get(ctx.invoked_subcommand)
            how = f". {begun.after_ctrl_c}" if begun else " before it had begun."
            raise Interrupted(f"Interrupted{how}") from error

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        two_words = " ".join(args[:2])
        if len(args) > 1 and two_words in COMMANDS:
            return two_words, self.commands[two_words], args[2:]
        if ctx.resilient_parsing and args[0] in COMMANDS:
            return args[0], self.commands[args[0]], args[1:]
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - Click's
        room = formatter.width - 6 - max(map(len, COMMANDS))
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, _in(room, listed.help)) for name, listed in COMMANDS.items()]
            )


def _in(room: int, text: str) -> str:
    """As much of a sentence as a line has room for, in whole words."""
    if len(text) <= room:
        return text
    return text[: room - 2].rpartition(" ")[0] + "..."


app = typer.Typer(
    cls=_Commands,
    name="actonce",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _say_version(asked: bool) -> None:  # noqa: FBT001 - Typer's
    if asked:
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
            app(prog_name="actonce")
        finally:
            sys.stdout.flush()  # what cannot be written is to be told of, also at the end
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        told = _told_of(error)
        if told is None:
            raise
        from actonce.terminal import output  # noqa: PLC0415 - most of a list of commands' time

        output.say_failed(told)
        sys.exit(error.exit_status if isinstance(error, Failed) else 1)


def _told_of(error: Exception) -> str | None:
    """What to tell of an error that is nobody's mistake in the code; None: it may be one."""
    if isinstance(error, Failed):
        return str(error)
    if isinstance(error, OutputLost):
        give_up_output()
        return (
            f"The output cannot be written: {error.strerror}. What was asked for may have been "
            "done; make room, or write elsewhere, and look before it is said again."
        )
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        where = f" for {error.filename}" if error.filename else ""
        return f"There is no room{where}: {error.strerror}. Make room, and say the same again."
    from actonce.stack import aws_errors  # noqa: PLC0415 - as above

    return aws_errors.told_of(error)


_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})


if __name__ == "__main__":
    main()
