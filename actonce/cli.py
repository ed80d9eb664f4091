"""`actonce`: the command line. Each command is a module in `actonce.commands`."""

import sys
from typing import Any

import typer
from botocore.exceptions import BotoCoreError, ClientError

from actonce import console
from actonce.commands import (
    audit,
    backfill,
    collect,
    conformance,
    dead_letters,
    demo,
    embedded,
    pausing,
    sam_local,
    send,
    unstarted,
    where,
    worker,
)
from actonce.errors import Failed
from pipeline.visible import guard_standard_streams


class _Commands(typer.core.TyperGroup):
    """Knows commands of two words beside a command that takes arguments: `audit package`."""

    # Any: the types are of a copy of Click that Typer keeps to itself.
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        two_words = " ".join(args[:2])
        if len(args) > 1 and two_words in self.commands:
            return two_words, self.commands[two_words], args[2:]
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_Commands,
    name="actonce",
    help="Every Amazon SQS message acted on once, and the proof that it was.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(audit.audit)
app.command("audit package")(audit.package)
app.command("audit page")(audit.page)
app.command()(collect.collect)
app.command()(backfill.backfill)
app.command()(demo.demo)
app.command()(conformance.conformance)
app.command()(embedded.up)
app.command()(embedded.down)
app.command()(embedded.env)
app.command()(sam_local.sam_local)
app.command()(send.send)
app.command()(pausing.pause)
app.command()(pausing.resume)
app.command()(pausing.status)
app.command()(where.where)
app.command()(worker.worker)
app.add_typer(dead_letters.app, name="dead-letters")
app.add_typer(unstarted.app, name="unstarted")


def main() -> None:
    """Entry point. Exit status: 0, 1 (the thing failed), 2 (wrong use), 130 (Ctrl-C)."""
    guard_standard_streams()
    try:
        app(prog_name="actonce")
    except Failed as error:
        console.say_failed(str(error))
        sys.exit(error.exit_status)
    except (ClientError, BotoCoreError) as error:
        console.say_failed(f"AWS: {error}")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
