"""What a person named, as something that can be called: code here, or a deployed function."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from actonce.stack.clients import EMBEDDED_CREDENTIALS, EMBEDDED_REGION, Stack
from actonce.terminal.errors import WrongUse

HANDLER = "handler"
_NOWHERE = "http://127.0.0.1:9"  # nobody listens there: RFC 863's port
SAMPLES = (Path("events/perform.json"), Path("events/effect_perform.json"))


@dataclass(frozen=True, slots=True)
class Code:
    """Code that is called here.

    Attributes:
        target: what `child.load` takes.
        folder: where its modules are.
        variables: that it is deployed with.
    """

    target: str
    folder: Path
    variables: Mapping[str, str]


def named(text: str) -> Code:
    """Code by `FILE.py` or `FILE.py:NAME`.

    Raises:
        WrongUse: there is no such file.
    """
    path, _, name = text.partition(":")
    file = Path(path)
    if file.suffix != ".py" or not file.is_file():
        raise WrongUse(f"{path!r} names no effect, which is FILE.py or FILE.py:NAME.")
    return Code(f"{file.name}:{name or HANDLER}", file.resolve().parent, {})


def deployed(stack: Stack, folders: list[Path]) -> Code:
    """The effect of a stack's own template, as it lies here.

    Raises:
        WrongUse: its code is not here.
    """
    if stack.ledger_table is not None:
        raise WrongUse("A lock's consumer performs the example itself: name its code.")
    told = stack.lambda_.get_function_configuration(FunctionName=stack.appointments_function)
    module, _, name = told["Handler"].rpartition(".")
    for folder in folders:
        if (folder / f"{module}.py").is_file():
            variables = told.get("Environment", {}).get("Variables", {})
            return Code(f"{module}.py:{name}", folder, variables)
    looked = ", ".join(map(str, folders))
    raise WrongUse(f"The code of {told['Handler']} is in none of {looked}: name it.")


def environment(code: Code, endpoint: str | None, *, own_account: bool) -> dict[str, str]:
    """Of the effect's processes: nothing of it reaches an account unless that is asked for.

    Args:
        code: whose variables come last.
        endpoint: of the embedded AWS; None: AWS is nowhere.
        own_account: the caller's environment as it is.
    """
    if own_account:
        return dict(os.environ) | dict(code.variables)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    aws = {"AWS_ENDPOINT_URL": endpoint or _NOWHERE, "AWS_DEFAULT_REGION": EMBEDDED_REGION}
    aws["AWS_EC2_METADATA_DISABLED"] = "true"
    return kept | dict(code.variables) | aws | EMBEDDED_CREDENTIALS


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
