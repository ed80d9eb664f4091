"""`actonce console`: the page of what waits, what happened, and deciding."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from actonce.cli.options import stack_options
from actonce.console.app import app
from actonce.console.context import Context
from actonce.console.server import open_in_browser, serve
from actonce.messages.effect_store import find_effect_store
from actonce.records.audit_summary import of_demo
from actonce.stack.endpoint import TargetOptions
from actonce.stack.target import find_stack
from actonce.terminal import output as terminal


@stack_options(asks=True)
def console(
    port: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1024, max=65_535, help="Listen there  [8717, or one that is free]"
        ),
    ] = None,
    *,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Show everything, and refuse whatever changes it.")
    ] = False,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, and open nothing.")
    ] = False,
    at: TargetOptions,
) -> None:
    """Look at messages, and decide, in the browser.

    It shows what waits for a person, and what happened to any message. It listens on this machine
    only, and shows itself to who has the address that it prints, with its token. It reads
    DeadLetterQueue and UnstartedQueue once for all its pages, and asks AWS for nothing while no
    page is open. What it does is done with your credentials, and in your name.

    Examples:

        actonce console

        actonce console --stack-name shop --profile production --read-only
    """
    stack = find_stack(at, changes=not read_only)
    context = Context(
        stack,
        Path.cwd(),
        effect_store=find_effect_store(stack),
        read_only=read_only,
        audit=of_demo(stack),
    )

    def ready(address: str) -> None:
        terminal.out.print(f"The console is at {address}")
        terminal.say("Keep the address to yourself: its token lets in. Ctrl-C ends it.")
        if not no_browser:
            open_in_browser(address, folder)

    with tempfile.TemporaryDirectory(prefix="actonce-console-") as private:
        folder = Path(private)
        serve(lambda token, number: app(context, token, number), port, ready)
