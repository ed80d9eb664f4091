"""The audit's page: `report.html`, one file that opens offline."""

from actonce.report.page import write

__all__ = ["write"]
