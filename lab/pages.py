"""Pages of docs/ whose words are people's, and whose tables are written by a program."""

import re
from collections.abc import Iterable, Mapping, Sequence


def table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [names, ["---"] * len(names), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def with_tables(page: str, tables: Mapping[str, str]) -> str:
    """The page with these tables, each between `<!-- table: NAME -->` and `<!-- end -->`.

    Raises:
        KeyError: the page has a table that is not among them, or they one that it has not.
    """
    missing = set(tables)

    def filled(match: re.Match[str]) -> str:
        missing.discard(match[2])
        return f"{match[1]}\n{tables[match[2]].strip()}\n\n<!-- end -->"

    written = re.sub(r"(<!-- table: (.*?) -->\n).*?<!-- end -->", filled, page, flags=re.DOTALL)
    if missing:
        raise KeyError(*sorted(missing))
    return written
