"""Checks a stack's parameters before a deployment."""

from collections.abc import Mapping, Sequence

from actonce.embedded import nesting
from actonce.stack.clients import Aws
from actonce.terminal.errors import UsageError

STORED = "ssm:"
"""Begins the name of what is put into Parameter Store, in place of a template's parameter."""
_IS_STORED = "AWS::SSM::Parameter::Value<"

HERE = {"StragglerMarginSeconds": {"MinValue": 1, "AllowedValues": []}}
"""What ActOnce's template also allows on the embedded AWS, where no cold start takes 10 s."""


def check(given: Mapping[str, str], templates: Sequence[nesting.Template]) -> None:
    """Check that each is a parameter of one of the templates, and may have its value.

    Args:
        given: by name; names that begin with `STORED` are of Parameter Store.
        templates: the outermost, and then ActOnce's; the first that declares a parameter counts.

    Raises:
        UsageError: one is unknown, or its template does not allow its value; or the outermost has
            one without a value, or reads from Parameter Store what is not given.
    """
    for name, parameter in templates[0].parameters.items():
        if str(parameter.get("Type")).startswith(_IS_STORED):
            key = given.get(name, str(parameter.get("Default", "")))
            _check_stored(name, key, given, templates[0])
        elif "Default" not in parameter and name not in given:
            raise UsageError(
                f"{templates[0].file.name}: {name} has no Default: add --parameter {name}=VALUE."
            )
    for name, value in given.items():
        if name.startswith(STORED):
            continue
        one = next((one for one in templates if name in one.parameters), None)
        if one is None:
            known = sorted({name for one in templates for name in one.parameters})
            raise UsageError(
                f"{templates[0].file.name} has no parameter {name!r}; it has {', '.join(known)}."
            )
        if str(one.parameters[name].get("Type")).startswith(_IS_STORED):
            continue
        declared = {**one.parameters[name], **(HERE.get(name, {}) if one.is_actonce else {})}
        # Judged as the embedded CloudFormation does; it takes half a second to import.
        from ministack.services.cloudformation import engine  # noqa: PLC0415

        try:
            engine._resolve_parameters(  # noqa: SLF001 - it has no name for others
                {"Parameters": {name: declared}}, [{"Key": name, "Value": value}]
            )
        except ValueError as error:
            raise UsageError(f"{one.file.name}: {error}.") from error


def _check_stored(
    name: str, key: str, given: Mapping[str, str], template: nesting.Template
) -> None:
    from ministack.services import ssm  # noqa: PLC0415 - as above

    # Of AWS's own it has some, as of images.
    if f"{STORED}{key}" not in given and ssm.resolve_parameter_value(key) is None:
        raise UsageError(
            f"{template.file.name}: {name} is read from {key!r} of Parameter Store, which the "
            f"embedded AWS does not have: add --parameter {STORED}{key or 'NAME'}=VALUE."
        )


def store(aws: Aws, given: Mapping[str, str]) -> None:
    """Put what is of Parameter Store there, before a template reads it."""
    client = aws.client("ssm")
    for name, value in given.items():
        if name.startswith(STORED):
            key = name.removeprefix(STORED)
            client.put_parameter(Name=key, Value=value, Type="String", Overwrite=True)
