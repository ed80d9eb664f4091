"""Where a command works: on the embedded AWS of this folder, at an endpoint, or on AWS.

The rule, as plain functions of the options, the variables and what runs. A command never goes to
AWS just because credentials happen to be there: an embedded AWS that is up, or was, is meant until
somebody says otherwise.
"""

import ipaddress
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from actonce.terminal.errors import Failed, UsageError

DEFAULT_STACK = "actonce"
"""The stack's name if nobody gives another; on the embedded AWS it has no other."""

ENDPOINT = "AWS_ENDPOINT_URL"
STACK_NAME = "ACTONCE_STACK_NAME"


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """A command line's options of the same names.

    Attributes:
        embedded: True for `--embedded`, False for `--aws`, None for neither.
        yes: not to ask before something is changed on AWS.
    """

    stack_name: str | None = None
    embedded: bool | None = None
    config_env: str | None = None
    profile: str | None = None
    region: str | None = None
    yes: bool = False

    @property
    def aws_options(self) -> dict[str, str]:
        """The options that only AWS has, and their values."""
        options = {
            "--config-env": self.config_env,
            "--profile": self.profile,
            "--region": self.region,
        }
        return {option: value for option, value in options.items() if value}


@dataclass(frozen=True, slots=True)
class Configured:
    """What samconfig.toml says about one environment.

    Attributes:
        section: for a person: `[prod] of samconfig.toml`.
        said: those of `stack_name`, `region` and `profile` that it has.
    """

    section: str = ""
    said: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Embedded:
    """The embedded AWS that was started in this folder.

    Attributes:
        folder: its home.
        endpoint_url: where it listens; None if it was not stopped, and does not answer.
    """

    folder: Path
    endpoint_url: str | None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command works.

    Attributes:
        endpoint_url: None for AWS's own endpoints.
        is_embedded: whether it is the embedded AWS of this folder.
        profile: None for what the usual variables and files say.
        region: likewise.
        shown_profile: the profile that a person is told, from which credentials may come.
        stack: the stack's name.
        by_file: which of these samconfig.toml says, and in which section; empty if none.
    """

    endpoint_url: str | None = None
    is_embedded: bool = False
    profile: str | None = None
    region: str | None = None
    shown_profile: str | None = None
    stack: str = DEFAULT_STACK
    by_file: str = ""

    @property
    def is_aws(self) -> bool:
        """Whether a change there may affect somebody; not so on an emulator of this machine."""
        return not self.is_embedded and not is_loopback(self.endpoint_url)


def decide(
    chosen: TargetOptions,
    variables: Mapping[str, str],
    embedded: Embedded | None,
    configured: Callable[[], Configured],
) -> Place:
    """Where a command works.

    The first of these that is given decides:

    1. `--embedded`; or `--aws`, `--config-env`, `--profile` or `--region`, each of which means AWS.
    2. `AWS_ENDPOINT_URL`, which names a place. Profiles and keys do not, so they do not decide.
    3. The embedded AWS of this folder, if it is up. If it has crashed, the command fails.
    4. AWS, by the usual variables, samconfig.toml and the usual files, in this order.

    The embedded AWS has one stack, so a name in variables or samconfig.toml is that of one on AWS.

    Args:
        chosen: the options.
        variables: the environment's.
        embedded: None if none was started in this folder, or it was stopped.
        configured: reads samconfig.toml; called only if it matters.

    Raises:
        UsageError: the options contradict each other, or the variables.
        Failed: the embedded AWS is meant, and is not up.
    """
    if chosen.embedded:
        if chosen.aws_options:
            raise UsageError(
                "--embedded has no profiles and one Region: leave --config-env, --profile and "
                "--region out, or say --aws."
            )
        return _up(chosen, embedded)
    endpoint = variables.get(ENDPOINT) or None
    aws_options = " and ".join(
        [*(["--aws"] if chosen.embedded is False else []), *chosen.aws_options]
    )
    if aws_options and is_loopback(endpoint):
        raise UsageError(
            f"{aws_options} said, and {ENDPOINT} is {endpoint}, which is not AWS: unset it, and "
            f"the keys that go with it, or leave {aws_options} out."
        )
    if not aws_options:
        is_embedded = endpoint is None or (
            embedded is not None and endpoint == embedded.endpoint_url
        )
        if is_embedded and embedded is not None:
            return _up(chosen, embedded)
    shown, stack = chosen.profile or _profile_of(variables), chosen.stack_name
    region = chosen.region or variables.get("AWS_REGION") or variables.get("AWS_DEFAULT_REGION")
    source = {
        "stack_name": stack if stack is not None else variables.get(STACK_NAME) or None,
        "region": region or None,
        "profile": shown or variables.get("AWS_ACCESS_KEY_ID") or None,
    }
    file = configured()
    of_file = {name: value for name, value in file.said.items() if source[name] is None}
    stack = (source | of_file)["stack_name"]
    return Place(
        endpoint_url=endpoint,
        profile=chosen.profile or of_file.get("profile"),
        region=(source | of_file)["region"],
        shown_profile=shown or of_file.get("profile"),
        stack=DEFAULT_STACK if stack is None else stack,
        by_file=f"{', '.join(of_file)} by {file.section}" if of_file else "",
    )


def _up(chosen: TargetOptions, embedded: Embedded | None) -> Place:
    if embedded is None:
        raise Failed("The embedded AWS is not up: actonce up brings it up; or say --aws.")
    if embedded.endpoint_url is None:
        raise Failed(
            f"The embedded AWS of {embedded.folder} was up and does not answer any more: actonce "
            "up brings it up again, actonce down forgets it. For AWS itself say --aws."
        )
    stack = DEFAULT_STACK if chosen.stack_name is None else chosen.stack_name
    return Place(embedded.endpoint_url, is_embedded=True, stack=stack)


def _profile_of(variables: Mapping[str, str]) -> str | None:
    """The profile that is used; keys among the variables take precedence."""
    if variables.get("AWS_ACCESS_KEY_ID"):
        return None
    # In this order botocore looks for it.
    return variables.get("AWS_DEFAULT_PROFILE") or variables.get("AWS_PROFILE") or None


def options(chosen: TargetOptions, name: str) -> str:
    """The options with which another command works there too, with a blank before each.

    They are those that were given, and the stack's name, unless it is the default.
    """
    stack_name = None if name == DEFAULT_STACK and chosen.stack_name is None else name
    values = ({"--stack-name": stack_name} if stack_name else {}) | chosen.aws_options
    words = [f" {option} {shlex.quote(value)}" for option, value in values.items()]
    if chosen.embedded is not None:
        words.append(" --embedded" if chosen.embedded else " --aws")
    return "".join(words)


def line(place: Place, stack: str | None, account: str | None, region: str | None) -> str:
    """Where a command works, for a person.

    Args:
        place: where.
        stack: its name; None for a command without a stack.
        account: its number; None if it is not known.
        region: its name; None if it is not known.
    """
    if place.is_embedded:
        parts = [f"On the embedded AWS at {place.endpoint_url}"]
    elif place.is_aws:
        at = f" at {place.endpoint_url}" if place.endpoint_url else ""
        parts = [f"On AWS{at}: account {account or 'unknown'}", f"Region {region or 'unknown'}"]
    else:
        parts = [f"At {place.endpoint_url} ({ENDPOINT})"]
    parts += [f"stack {stack}"] if stack is not None else []
    parts += [f"profile {place.shown_profile}"] if place.is_aws and place.shown_profile else []
    return ", ".join(parts) + (f" ({place.by_file})" if place.by_file else "")


def is_loopback(url: str | None) -> bool:
    """Whether a URL is on this machine's loopback."""
    try:
        host = urlsplit(url or "").hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
