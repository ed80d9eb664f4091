"""PySpark jobs: the audit and the backfill. Imports neither `functions/` nor `actonce/`."""
