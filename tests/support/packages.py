"""Packages of functions and layers, as Lambda takes them."""

import io
import zipfile
from collections.abc import Mapping


def packed(files: Mapping[str, str]) -> bytes:
    """A zip of these texts, by their paths in it."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as package:
        for name, text in files.items():
            package.writestr(name, text)
    return written.getvalue()
