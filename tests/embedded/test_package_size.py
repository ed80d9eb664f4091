"""The functions' packages stay small, because what a cold start reads is waited for."""

import pytest

from actonce.embedded.lifecycle import State
from actonce.stack.embedded_folder import Paths

MOST_BYTES = 5_000_000
"""Unpacked, as sam build leaves it; Lambda takes up to 250 MB."""


@pytest.mark.parametrize("function", ["StarterFunction", "AppointmentsFunction"])
def test_a_functions_package_is_small(
    state: State,  # noqa: ARG001 - it is built for it
    embedded_paths: Paths,
    function: str,
) -> None:
    package = embedded_paths.build / function

    sizes = [
        one.stat().st_size
        for one in package.rglob("*")
        if one.is_file() and "__pycache__" not in one.parts
    ]

    assert len(sizes) > 50  # it is there
    assert sum(sizes) <= MOST_BYTES
