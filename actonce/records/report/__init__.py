"""The audit's page: `report.html`, one file that opens offline."""
