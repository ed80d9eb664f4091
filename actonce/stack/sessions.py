"""Makes boto3's clients. Imported with the first of them: boto3 takes most of a command's time."""

import functools
from collections.abc import Mapping
from typing import Any

import boto3
import botocore.session
from botocore.config import Config


# Any: of a service that is not known here, and boto3's own arguments.
def make_client(
    service: str, session: boto3.Session | None, config: Mapping[str, Any], **more: Any
) -> Any:
    """A client of a service.

    Args:
        service: boto3's name of it.
        session: None for boto3's default one.
        config: arguments of botocore's `Config`.
        more: arguments of boto3's `client`.
    """
    make: Any = boto3.client if session is None else session.client
    return make(service, config=Config(**config), **more)


@functools.cache
def without_profile() -> boto3.Session:
    """For the embedded AWS, which works even if AWS_PROFILE names a profile that is missing."""
    nothing = {"profile": (None, None, None, None)}
    return boto3.Session(botocore_session=botocore.session.Session(session_vars=nothing))


@functools.cache
def of_profile(name: str) -> boto3.Session:
    """The session with that profile's credentials."""
    return boto3.Session(profile_name=name)
