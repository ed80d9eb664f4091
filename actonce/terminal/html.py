"""How pages are drawn: every value is put into them as visible text, and only `Markup` as it is."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from actonce.terminal.visible import visible


def environment(folder: Path, keep: str = "") -> Environment:
    """A folder's templates.

    Jinja escapes each value for HTML; before that, `visible` shows as codes what a browser would
    obey, reorder or hide.

    Args:
        folder: that has them.
        keep: characters that stay although they act; see `visible`.
    """

    def seen(value: Any) -> Any:
        is_text = isinstance(value, str) and not isinstance(value, Markup)
        return visible(value, keep) if is_text else value

    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=seen,
        trim_blocks=True,
        lstrip_blocks=True,
    )
