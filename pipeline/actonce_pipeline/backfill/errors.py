"""Errors of a backfill; each text is one sentence for a person."""


class BackfillFailed(Exception):
    """It could not be done (exit status 1)."""


class WrongRequest(BackfillFailed):
    """It cannot be asked for like this (exit status 2)."""
