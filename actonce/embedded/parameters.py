"""Checks a stack's parameters before a deployment."""

from collections.abc import Mapping, Sequence

from actonce.embedded import nesting
from actonce.terminal.errors import WrongUse

HERE = {"StragglerMarginSeconds": {"MinValue": 1, "AllowedValues": []}}
"""What ActOnce's template also allows on the embedded AWS, where no cold start takes 10 s."""


def check(given: Mapping[str, str], templates: Sequence[nesting.Template]) -> None:
    """Check that each is a parameter of one of the templates, and may have its value.

    Args:
        given: by name.
        templates: the first that declares a parameter counts.

    Raises:
        WrongUse: one is unknown, or its template does not allow its value.
    """
    for name, value in given.items():
        one = next((one for one in templates if name in one.parameters), None)
        if one is None:
            known = sorted({name for one in templates for name in one.parameters})
            raise WrongUse(
                f"{templates[0].file.name} has no parameter {name!r}; it has {', '.join(known)}."
            )
        declared = {**one.parameters[name], **(HERE.get(name, {}) if one.is_actonce else {})}
        # Judged as the embedded CloudFormation does; it takes half a second to import.
        from ministack.services.cloudformation import engine  # noqa: PLC0415

        try:
            engine._resolve_parameters(  # noqa: SLF001 - it has no name for others
                {"Parameters": {name: declared}}, [{"Key": name, "Value": value}]
            )
        except ValueError as error:
            raise WrongUse(f"{one.file.name}: {error}.") from error
