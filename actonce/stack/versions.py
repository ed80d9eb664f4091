"""Whether a deployed stack and this command line are of versions that fit."""

import re

_PARTS = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def numbers(version: str) -> tuple[int, int, int] | None:
    """A version's three numbers, to be compared; None if it has no such form.

    What follows them (a pre-release) is not compared.
    """
    match = _PARTS.match(version)
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def misfit(stack_name: str, stack: str | None, mine: str) -> str | None:
    """Why they do not fit and what to do, in one sentence; None if they do.

    Versions fit whose first two numbers are equal: only the third may change without a word of what
    a stack records and how it is asked.

    Args:
        stack_name: as the person knows it.
        stack: what its output says; None: it has none, for it is older than that output.
        mine: this command line's.
    """
    name, own = repr(stack_name), numbers(mine)
    if stack is None:
        return (
            f"The stack {name} does not say its version, so it is older than this actonce {mine}: "
            "deploy it anew, or expect that not everything is found."
        )
    its = numbers(stack)
    if its is None or own is None:
        said = f"The stack {name} says that its version is {stack!r}, and this is actonce {mine}."
        return None if stack == mine else said
    if its[:2] == own[:2]:
        return None
    other = f"install ActOnce {its[0]}.{its[1]} from a clone"
    if its < own:
        return (
            f"The stack {name} is of version {stack}, older than this actonce {mine}: deploy it "
            f"anew, or {other}"
        )
    return f"The stack {name} is of version {stack}, newer than this actonce {mine}: {other}"
