"""What keeps the audit from judging."""


class CannotAudit(Exception):
    """Wrong use, nothing to audit, or records that cannot be judged (exit status 2)."""
