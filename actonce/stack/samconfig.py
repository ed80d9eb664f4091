"""What a samconfig.toml says of the stack that `sam deploy` deploys."""

import tomllib
from pathlib import Path
from typing import Final

from actonce.terminal.errors import WrongUse

_NAME: Final = "samconfig.toml"


def stack_name(folder: Path) -> str | None:
    """The stack's name by the nearest samconfig.toml, in a folder or above it.

    As SAM reads it: what is for `deploy` stands in front of what is for all commands. None: there
    is no such file, or it names no stack.

    Raises:
        WrongUse: it cannot be read.
    """
    file = next((one / _NAME for one in (folder, *folder.parents) if (one / _NAME).is_file()), None)
    if file is None:
        return None
    try:
        said = tomllib.loads(file.read_text("utf-8")).get("default", {})
        names = [
            said.get(command, {}).get("parameters", {}).get("stack_name")
            for command in ("deploy", "global")
        ]
    except (OSError, ValueError, AttributeError) as error:
        raise WrongUse(
            f"{file} cannot be read for the stack's name ({error}): mend it, or say --stack-name."
        ) from error
    return next((name for name in names if isinstance(name, str) and name), None)
