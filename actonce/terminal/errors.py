"""Errors that a person is told of in one sentence."""


class Failed(Exception):
    """What was asked for could not be done (exit status 1)."""

    exit_status = 1


class UsageError(Failed):
    """What was asked for cannot be asked for (exit status 2)."""

    exit_status = 2


class Interrupted(Failed):
    """A person ended it in the middle (exit status 130, as for Ctrl-C everywhere)."""

    exit_status = 130
