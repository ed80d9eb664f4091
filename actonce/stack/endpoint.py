"""Where a command works: on the embedded AWS of this folder, at an endpoint, or on AWS.

The rule, as plain functions over what was said, the variables and what runs. What only one
account knows is never asked of whatever credentials happen to be there: an embedded AWS
that is up, or was, is meant until somebody says otherwise.
"""

import ipaddress
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from actonce.terminal.errors import Failed, WrongUse

DEFAULT_STACK = "actonce"
"""The stack's name where nobody says another; on the embedded AWS it has no other."""

ENDPOINT = "AWS_ENDPOINT_URL"
STACK_NAME = "ACTONCE_STACK_NAME"


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a person said of it on the command line; see the options of the same names.

    Attributes:
        embedded: True for `--embedded`, False for `--aws`, None for neither.
        yes: not to ask before something is changed on AWS.
    """

    stack_name: str | None = None
    embedded: bool | None = None
    profile: str | None = None
    region: str | None = None
    yes: bool = False


@dataclass(frozen=True, slots=True)
class Embedded:
    """The embedded AWS that was brought up in this folder.

    Attributes:
        folder: where it keeps its things.
        endpoint_url: where it listens; None: it was not stopped, and does not answer.
    """

    folder: Path
    endpoint_url: str | None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command works.

    Attributes:
        endpoint_url: None for AWS's own endpoints.
        is_embedded: it is the embedded AWS of this folder.
        profile: None for what the usual variables and files say.
        region: likewise.
        shown_profile: the profile that credentials may come from, to be told of.
    """

    endpoint_url: str | None = None
    is_embedded: bool = False
    profile: str | None = None
    region: str | None = None
    shown_profile: str | None = None

    @property
    def is_aws(self) -> bool:
        """Whether what is changed there may be somebody's: an emulator on this machine is not."""
        return not self.is_embedded and not is_loopback(self.endpoint_url)


def decide(chosen: Chosen, variables: Mapping[str, str], embedded: Embedded | None) -> Place:
    """Where a command works.

    The first of these that says something decides:

    1. `--embedded`; or `--aws`, `--profile` or `--region`, each of which means AWS.
    2. `AWS_ENDPOINT_URL`, which names a place. Profiles and keys name none, so they do not decide.
    3. The embedded AWS of this folder, if it is up. If it was and does not answer: nothing.
    4. AWS, by the usual variables and files.

    Args:
        chosen: what was said.
        variables: the environment's.
        embedded: that was brought up in this folder; None: none was, or it was stopped.

    Raises:
        WrongUse: what was said contradicts itself, or the variables.
        Failed: the embedded AWS is meant, and is not up.
    """
    if chosen.embedded:
        if chosen.profile or chosen.region:
            raise WrongUse(
                "--embedded has no profiles and one Region: leave --profile and --region out, or "
                "say --aws."
            )
        return _up(embedded)
    endpoint = variables.get(ENDPOINT) or None
    of_aws = " and ".join(
        option
        for option, said in (
            ("--aws", chosen.embedded is False),
            ("--profile", chosen.profile),
            ("--region", chosen.region),
        )
        if said
    )
    if of_aws and is_loopback(endpoint):
        raise WrongUse(
            f"{of_aws} said, and {ENDPOINT} is {endpoint}, which is not AWS: unset it, and the "
            f"keys that go with it, or leave {of_aws} out."
        )
    if not of_aws:
        named = endpoint is None or (embedded is not None and endpoint == embedded.endpoint_url)
        if named and embedded is not None:
            return _up(embedded)
    return Place(
        endpoint_url=endpoint,
        profile=chosen.profile,
        region=chosen.region or variables.get("AWS_REGION") or None,
        shown_profile=chosen.profile or _profile_of(variables),
    )


def _up(embedded: Embedded | None) -> Place:
    if embedded is None:
        raise Failed("The embedded AWS is not up: actonce up brings it up; or say --aws.")
    if embedded.endpoint_url is None:
        raise Failed(
            f"The embedded AWS of {embedded.folder} was up and does not answer any more: actonce "
            "up brings it up again, actonce down forgets it. For AWS itself say --aws."
        )
    return Place(embedded.endpoint_url, is_embedded=True)


def _profile_of(variables: Mapping[str, str]) -> str | None:
    """The profile that is used; keys among the variables stand in front of it."""
    if variables.get("AWS_ACCESS_KEY_ID"):
        return None
    # In this order botocore looks for it.
    return variables.get("AWS_DEFAULT_PROFILE") or variables.get("AWS_PROFILE") or None


def stack_name(
    chosen: Chosen,
    place: Place,
    variables: Mapping[str, str],
    of_samconfig: Callable[[], str | None],
) -> str:
    """The name of the stack: as it was said; or `ACTONCE_STACK_NAME`, samconfig.toml's, `actonce`.

    On the embedded AWS of this folder there is one stack, so that what the variable and the file
    say is about AWS.
    """
    if chosen.stack_name is not None:
        return chosen.stack_name
    if place.is_embedded:
        return DEFAULT_STACK
    return variables.get(STACK_NAME) or of_samconfig() or DEFAULT_STACK


def options(chosen: Chosen, name: str) -> str:
    """What a command line needs to work there as well, with a blank before it; or nothing.

    All that was said; and the stack's name, whoever said it, unless nobody has to say it.
    """
    named = None if name == DEFAULT_STACK and chosen.stack_name is None else name
    told = {"--stack-name": named, "--profile": chosen.profile, "--region": chosen.region}
    said = [f" {option} {shlex.quote(value)}" for option, value in told.items() if value]
    if chosen.embedded is not None:
        said.append(" --embedded" if chosen.embedded else " --aws")
    return "".join(said)


def line(place: Place, stack: str | None, account: str | None, region: str | None) -> str:
    """Where a command works, for a person.

    Args:
        place: see there.
        stack: its name; None where a command wants none.
        account: its number; None: it is not known.
        region: its name; None: it is not known.
    """
    if place.is_embedded:
        told = [f"On the embedded AWS at {place.endpoint_url}"]
    elif place.is_aws:
        at = f" at {place.endpoint_url}" if place.endpoint_url else ""
        told = [f"On AWS{at}: account {account or 'unknown'}", f"Region {region or 'unknown'}"]
    else:
        told = [f"At {place.endpoint_url} ({ENDPOINT})"]
    told += [f"stack {stack}"] if stack is not None else []
    told += [f"profile {place.shown_profile}"] if place.is_aws and place.shown_profile else []
    return ", ".join(told)


def is_loopback(url: str | None) -> bool:
    """Whether a URL is one of this machine's own."""
    try:
        host = urlsplit(url or "").hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
