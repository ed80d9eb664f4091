"""How long something took, as a person says it."""

from datetime import timedelta

_UNITS = ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"))
"""Of two units the larger and the smaller: their seconds and names."""


def duration(span: timedelta) -> str:
    """`0.4 s`, `45 s`, `12 min 5 s`, `2 h 3 min`, `14 d`; less than nothing is `0 s`.

    >>> duration(timedelta(seconds=725))
    '12 min 5 s'
    """
    seconds = max(0.0, span.total_seconds())
    if seconds < 9.95:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    whole = round(seconds)
    for unit, name, smaller, its_name in _UNITS:
        if whole >= 2 * unit:
            rest = whole % unit // smaller
            return f"{whole // unit} {name}" + (f" {rest} {its_name}" if rest else "")
    return f"{whole} s"
