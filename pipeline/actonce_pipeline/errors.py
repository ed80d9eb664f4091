"""What keeps the audit from judging."""


class CannotAudit(Exception):
    """Wrong use, nothing to audit, or an audit that did not come to its end (exit status 2)."""
