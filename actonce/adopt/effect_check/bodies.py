"""Reads the bodies of messages that a person gave."""

import json
from pathlib import Path
from typing import Any

from actonce.terminal.errors import UsageError

SAMPLES = (Path("events/perform.json"), Path("events/effect_perform.json"))


def body_from(text: str) -> Any:
    """The body that a person gave as JSON, or as `@FILE` with JSON.

    Raises:
        UsageError: it is neither.
    """
    try:
        return json.loads(Path(text[1:]).read_bytes() if text.startswith("@") else text)
    except OSError as error:
        raise UsageError(f"{text[1:]} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{text!r} is no JSON ({error}).") from error


def sample_body(folder: Path) -> Any:
    """The body of the sample event in a folder, or in the one above it.

    Raises:
        UsageError: there is none.
    """
    for sample in (base / file for base in (folder, folder.parent) for file in SAMPLES):
        if sample.is_file():
            try:
                return json.loads(json.loads(sample.read_bytes())["message"]["body"])
            except (ValueError, KeyError, TypeError) as error:
                raise UsageError(
                    f"{sample} has no message with a JSON body, as an event of perform has: "
                    '{"message": {"body": "{…}"}}.'
                ) from error
    raise UsageError(
        f"There is no {SAMPLES[0]}: make it, with an event of perform that the function performs."
    )
