"""Spark: which Java runs it, and the session."""
