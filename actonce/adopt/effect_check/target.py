"""What a person named: a file of code, a body."""

import json
import os
from pathlib import Path
from typing import Any

from actonce.stack.clients import EMBEDDED_CREDENTIALS, EMBEDDED_REGION
from actonce.terminal.errors import WrongUse

_NOWHERE = "http://127.0.0.1:9"  # nobody listens there: RFC 863's port
SAMPLES = (Path("events/perform.json"), Path("events/effect_perform.json"))


def code(text: str) -> tuple[str, Path]:
    """What `child.load` takes, and the folder where its modules are, of `FILE.py[:NAME]`.

    Raises:
        WrongUse: there is no such file.
    """
    path, _, name = text.partition(":")
    file = Path(path)
    if file.suffix != ".py" or not file.is_file():
        raise WrongUse(f"{path!r} names no effect, which is FILE.py or FILE.py:NAME.")
    return f"{file.name}:{name or 'handler'}", file.resolve().parent


def environment(endpoint: str | None, *, own_account: bool) -> dict[str, str]:
    """Of the effect's processes: nothing of it reaches an account unless that is asked for.

    Args:
        endpoint: of the embedded AWS; None: AWS is nowhere.
        own_account: the caller's environment as it is.
    """
    if own_account:
        return dict(os.environ)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    aws = {"AWS_ENDPOINT_URL": endpoint or _NOWHERE, "AWS_DEFAULT_REGION": EMBEDDED_REGION}
    return kept | aws | {"AWS_EC2_METADATA_DISABLED": "true"} | EMBEDDED_CREDENTIALS


def body_from(text: str) -> Any:
    """A body as a person gives it: JSON, or `@FILE` of it.

    Raises:
        WrongUse: it is none.
    """
    try:
        return json.loads(Path(text[1:]).read_bytes() if text.startswith("@") else text)
    except OSError as error:
        raise WrongUse(f"{text[1:]} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise WrongUse(f"{text!r} is no JSON ({error}).") from error


def sample_body(folder: Path) -> Any:
    """The body of the sample event that lies in a folder, or beside it.

    Raises:
        WrongUse: there is none.
    """
    for sample in (base / file for base in (folder, folder.parent) for file in SAMPLES):
        if sample.is_file():
            try:
                return json.loads(json.loads(sample.read_bytes())["message"]["body"])
            except (ValueError, KeyError, TypeError) as error:
                raise WrongUse(f"{sample} is no event of perform; give --body.") from error
    raise WrongUse("Say what a message that it performs is: --body '{…}', or --body @FILE.")
