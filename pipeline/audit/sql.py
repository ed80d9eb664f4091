"""Columns written as SQL.

Each column that Python makes takes several calls to the JVM: of a small day, half the work.
"""

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark


def columns(named: Mapping[str, str]) -> list[Column]:
    """Columns out of their SQL, by name."""
    return [F.expr(f"{sql} AS {name}") for name, sql in named.items()]
