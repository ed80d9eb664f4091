"""The optional dependencies: whether they are installed, and how to install them."""

from importlib.util import find_spec

from actonce.stack.stack_files import in_clone, sources
from actonce.terminal.errors import UsageError

MODULES = {
    # pip: sam build installs the functions' requirements by the pip of this environment.
    "embedded": (
        "aws_lambda_powertools",
        "awslambdaric",
        "ministack",
        "packaging",
        "pip",
        "samcli",
        "samtranslator",
        "yaml",
    ),
    "console": ("jinja2", "starlette", "uvicorn"),
    "audit": ("jinja2", "pyspark"),
}
"""By the extras of pyproject.toml, the modules without which their commands cannot begin."""


def require(extra: str, wanted_by: str) -> None:
    """Check that an extra is installed.

    Args:
        extra: a key of `MODULES`.
        wanted_by: the command that needs it, as the person typed it.

    Raises:
        UsageError: it is not, or not completely; says what to type.
    """
    missing = [name for name in MODULES[extra] if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"{wanted_by} needs {missing[0]}, which is not installed: {install(extra)}"
        )


def install(extra: str) -> str:
    """The command that installs an extra: from a clone, because no package index has ActOnce."""
    clone = sources() if in_clone() else "path/to/your/clone/of/actonce"
    return f"pip install '{clone}[{extra}]'"
