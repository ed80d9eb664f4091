"""Finds the stack that a command works on, tells the person where, and asks before a change."""

import os
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Final

from actonce.stack.clients import Aws, Stack
from actonce.stack.embedded_folder import Paths, read_state, running
from actonce.stack.endpoint import Configured, Embedded, Place, TargetOptions, decide, line, options
from actonce.stack.stack_files import version, version_mismatch
from actonce.terminal import output as console
from actonce.terminal.errors import UsageError

_NOT_CHOSEN = TargetOptions()
_SAMCONFIG: Final = "samconfig.toml"
_OF_SAMCONFIG: Final = ("stack_name", "region", "profile")


def find_aws(chosen: TargetOptions = _NOT_CHOSEN, *, changes: bool = False) -> Aws:
    """AWS or the embedded AWS, by `endpoint.decide`; tells the person which.

    Args:
        chosen: the options.
        changes: whether the command changes something there; on AWS it asks first.

    Raises:
        Failed: it cannot be reached, or the person said no.
        UsageError: there is no terminal to ask at.
    """
    place = _place(chosen)
    aws = _aws(place)
    _tell(aws, place, None, asks=changes and not chosen.yes)
    return aws


def find_stack(chosen: TargetOptions = _NOT_CHOSEN, *, changes: bool = False) -> Stack:
    """The ActOnce stack that is meant; warns the person if its version does not fit.

    Args:
        chosen: the options.
        changes: see `find_aws`.

    Raises:
        Failed: there is no such stack, or see `find_aws`.
        UsageError: see there.
    """
    place = _place(chosen)
    aws = _aws(place)
    where = _tell(aws, place, place.stack, asks=changes and not chosen.yes)
    found = Stack.find(aws, place.stack)
    stack = replace(found, options=options(chosen, place.stack), where=where)
    warning = version_mismatch(stack.display_name, stack.version, version())
    if warning is not None:
        console.say_warning(warning)
    return stack


def configured(folder: Path, env: str | None) -> Configured:
    """What the nearest samconfig.toml, in a folder or above it, says about an environment.

    As in SAM, what is for `deploy` takes precedence over what is for all commands.

    Args:
        folder: where to begin.
        env: the environment; None for `default`, which may be missing.

    Raises:
        UsageError: the file cannot be read, or does not have the environment.
    """
    folders = (folder, *folder.parents)
    file = next((one / _SAMCONFIG for one in folders if (one / _SAMCONFIG).is_file()), None)
    if file is None:
        if env is not None:
            raise UsageError(f"--config-env {env}: there is no {_SAMCONFIG} here, nor above.")
        return Configured()
    shown_path = os.path.relpath(file, folder)
    try:
        document = tomllib.loads(file.read_text("utf-8"))
        if env is not None and env not in document:
            envs = ", ".join(name for name in document if name != "version")
            raise UsageError(f"--config-env {env}: {shown_path} has {envs or 'no environment'}.")
        settings = document.get(env or "default", {})
        both = [settings.get(one, {}).get("parameters", {}) for one in ("global", "deploy")]
        values = {name: (both[0] | both[1]).get(name) for name in _OF_SAMCONFIG}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise UsageError(f"{shown_path} cannot be read ({error}): mend it.") from error
    return Configured(
        f"[{env or 'default'}] of {shown_path}",
        {name: value for name, value in values.items() if isinstance(value, str) and value},
    )


def _place(chosen: TargetOptions) -> Place:
    paths = Paths.default()
    embedded = None
    if chosen.embedded is not False and read_state(paths) is not None:
        state = running(paths)
        embedded = Embedded(paths.home, state.endpoint_url if state is not None else None)
    env = chosen.config_env
    return decide(chosen, os.environ, embedded, lambda: configured(_here(), env))


def _aws(place: Place) -> Aws:
    # Another endpoint is one of the usual variables, which boto3 reads by itself.
    return Aws(place.endpoint_url if place.is_embedded else None, place.profile, place.region)


def _tell(aws: Aws, place: Place, name: str | None, *, asks: bool) -> str:
    """Tell the person where the command works; ask first if it changes something on AWS."""
    region = account = None
    try:
        if place.is_aws:
            region = aws.region_name  # fails without one, as everything else would
            caller = aws.caller
            account = caller.account if caller is not None else None
    finally:  # also if it fails, because samconfig.toml may be why
        text = line(place, name, account, region)
        console.say(text)
    if asks and place.is_aws:
        _ask(text)
    return text


def _ask(text: str) -> None:
    seen = "" if console.err.is_terminal else f"{text}. "
    console.agree(
        f"{seen}This changes something there. Go on?",
        f"{text}: this changes something there, and nobody can be asked here. Say --yes; or "
        "--embedded for the embedded AWS.",
    )


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:  # it was removed under the shell
        return Path("/")
