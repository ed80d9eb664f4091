"""Columns written as SQL.

Each column that Python makes takes several calls to the JVM: of a small day, half the work.
"""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark


def literal(text: str) -> str:
    """A text as SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def columns(named: Mapping[str, str]) -> list[Column]:
    """Columns out of their SQL, by name."""
    return [F.expr(f"{sql} AS {name}") for name, sql in named.items()]


def worked_out(rows: DataFrame, *names: str) -> DataFrame:
    """Columns of rows, to filter by.

    Spark puts a filter below the projection that makes its columns, and makes them there once
    more, each as often as the filter and the others name it; but never below a generator.
    """
    return rows.selectExpr(f"inline(array(struct({', '.join(names)})))")
