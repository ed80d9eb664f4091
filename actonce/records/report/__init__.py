"""The audit's page: `report.html`, one file that opens offline."""

from actonce.records.report.page import html, write

__all__ = ["html", "write"]
