"""Options that several commands share."""

from typing import Annotated

import typer

StackName = Annotated[str, typer.Option("--stack-name", help="The stack to talk to.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
