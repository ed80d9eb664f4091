"""Whether a stack's parameters can be what is asked for: what can be known before a deployment."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from actonce.embedded import nesting
from actonce.terminal.errors import WrongUse

HERE = {"StragglerMarginSeconds": {"MinValue": 1, "AllowedValues": []}}
"""What ActOnce's template allows on the embedded AWS besides: there no cold start takes 10 s."""


def check(given: Mapping[str, str], templates: Sequence[nesting.Template]) -> None:
    """Whether each is a parameter of one of the templates, and may have its value.

    Args:
        given: by name.
        templates: the first that declares a parameter counts.

    Raises:
        WrongUse: one is unknown, or its value is none that its template allows.
    """
    for name, value in given.items():
        one = next((one for one in templates if name in one.parameters), None)
        if one is None:
            known = sorted({name for one in templates for name in one.parameters})
            raise WrongUse(
                f"{templates[0].file.name} has no parameter {name!r}; it has {', '.join(known)}."
            )
        allowed = {**one.parameters[name], **(HERE.get(name, {}) if one.is_actonce else {})}
        wrong = complaint(value, allowed)
        if wrong is not None:
            raise WrongUse(f"{name}={value}: {one.file.name} wants {wrong} there.")


def complaint(value: str, declared: Mapping[str, Any]) -> str | None:
    """What is wanted instead of the value; None where it may be.

    Args:
        value: of the parameter.
        declared: the parameter in its template: Type, AllowedValues, AllowedPattern, MinValue,
            MaxValue, ConstraintDescription, as far as they are there.
    """
    kind = declared.get("Type", "String")
    values = value.split(",") if str(kind).startswith(("CommaDelimited", "List<")) else [value]
    choices = [str(one) for one in declared.get("AllowedValues", ())]
    if choices and not set(values) <= set(choices):
        return f"one of {', '.join(choices)}"
    if kind in ("Number", "List<Number>"):
        least, most = declared.get("MinValue"), declared.get("MaxValue")
        if not all(_is_number_between(one, least, most) for one in values):
            bounds = f" from {least}" if least is not None else ""
            bounds += f" to {most}" if most is not None else ""
            return f"a number{bounds}"
    pattern = declared.get("AllowedPattern")
    if pattern is not None and not all(_fits(str(pattern), one) for one in values):
        return str(declared.get("ConstraintDescription") or f"what fits {pattern}")
    return None


def _is_number_between(text: str, least: Any, most: Any) -> bool:
    try:
        number = float(text)
    except ValueError:
        return False
    return (least is None or number >= float(least)) and (most is None or number <= float(most))


def _fits(pattern: str, text: str) -> bool:
    try:
        return re.fullmatch(pattern, text) is not None
    except re.error:
        return True  # it is Java's, and CloudFormation knows
