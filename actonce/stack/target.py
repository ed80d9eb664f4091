"""Which stack a command talks to, and where; a person is told in one line, and asked if need be."""

import os
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Final

from actonce.stack.clients import Aws, Stack
from actonce.stack.embedded_folder import Paths, read_state, running
from actonce.stack.endpoint import Chosen, Embedded, Place, decide, line, options, stack_name
from actonce.stack.sources import misfit, version
from actonce.terminal import output as console
from actonce.terminal.errors import WrongUse

_NOT_CHOSEN = Chosen()
_SAMCONFIG: Final = "samconfig.toml"


def find_aws(chosen: Chosen = _NOT_CHOSEN, *, changes: bool = False) -> Aws:
    """AWS, or the embedded AWS: see `endpoint.decide`. The person is told which.

    Args:
        chosen: what the person said.
        changes: whether something is changed there; on AWS the person is asked then.

    Raises:
        Failed: it cannot be reached, or the person said no.
        WrongUse: somebody has to be asked, and there is nobody.
    """
    place = _place(chosen)
    aws = _aws(place)
    _tell(aws, place, None, asks=changes and not chosen.yes)
    return aws


def find_stack(chosen: Chosen = _NOT_CHOSEN, *, changes: bool = False) -> Stack:
    """The stack that is meant, where `find_aws` looks; or the one that is nested in it.

    The person is told if its version does not fit.

    Args:
        chosen: what the person said.
        changes: see `find_aws`.

    Raises:
        Failed: there is no such stack, or see `find_aws`.
        WrongUse: see there.
    """
    place = _place(chosen)
    name = stack_name(chosen, place, os.environ, lambda: samconfigs_name(_here()))
    aws = _aws(place)
    where = _tell(aws, place, name, asks=changes and not chosen.yes)
    stack = replace(Stack.find(aws, name), options=options(chosen, name), where=where)
    told = misfit(stack.called, stack.version, version())
    if told is not None:
        console.say_warning(told)
    return stack


def samconfigs_name(folder: Path) -> str | None:
    """The stack's name by the nearest samconfig.toml, in a folder or above it.

    As SAM reads it: what is for `deploy` stands in front of what is for all commands. None: there
    is no such file, or it names no stack.

    Raises:
        WrongUse: it cannot be read.
    """
    file = next(
        (one / _SAMCONFIG for one in (folder, *folder.parents) if (one / _SAMCONFIG).is_file()),
        None,
    )
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


def _place(chosen: Chosen) -> Place:
    paths = Paths.default()
    embedded = None
    if chosen.embedded is not False and read_state(paths) is not None:
        state = running(paths)
        embedded = Embedded(paths.home, state.endpoint_url if state is not None else None)
    return decide(chosen, os.environ, embedded)


def _aws(place: Place) -> Aws:
    # Another endpoint is one of the usual variables, which boto3 reads by itself.
    return Aws(place.endpoint_url if place.is_embedded else None, place.profile, place.region)


def _tell(aws: Aws, place: Place, name: str | None, *, asks: bool) -> str:
    """Say where it works, and return that; ask, where something is to be changed on AWS."""
    if not place.is_aws:
        told = line(place, name, None, None)
        console.say(told)
        return told
    region = aws.region_name  # without one nothing is found: so said first
    caller = aws.caller()
    account = caller.account if caller is not None else None
    told = line(place, name, account, region)
    console.say(told)
    if asks:
        _ask(told)
    return told


def _ask(told: str) -> None:
    seen = "" if console.err.is_terminal else f"{told}. "
    console.agree(
        f"{seen}This changes something there. Go on?",
        f"{told}: this changes something there, and nobody can be asked here. Say --yes; or "
        "--embedded for the embedded AWS.",
    )


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:  # it was removed under the shell
        return Path("/")
