"""`actonce completion`: commands and options by the Tab key."""

from enum import StrEnum
from typing import Annotated

import typer
from typer._completion_shared import get_completion_script  # it has no public name


class Shell(StrEnum):
    """Shells that there is a script for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print what has your shell complete commands and options by the Tab key.

    Put it where your shell begins, such as ~/.bashrc; it works in that shell at once.

    Examples:

        eval "$(actonce completion bash)"

        actonce completion fish > ~/.config/fish/completions/actonce.fish
    """
    typer.echo(
        get_completion_script(
            prog_name="actonce", complete_var="_ACTONCE_COMPLETE", shell=shell.value
        )
    )
