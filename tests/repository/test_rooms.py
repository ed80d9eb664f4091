"""The rooms of CONTRIBUTING.md's picture: what is imported by what."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]

ROOMS = (
    ("lab",),
    ("cli",),
    ("console", "demo", "doctor", "adopt"),
    ("embedded", "operate"),
    ("records",),
    ("messages",),
    ("queues",),
    ("stack",),
    ("terminal",),
    ("actonce_pipeline",),
    ("actonce_core",),
)
"""From top to bottom. A room imports from those below it."""

PLACES = {
    **{name: PROJECT / "actonce" / name for rooms in ROOMS[1:-2] for name in rooms},
    "lab": PROJECT / "lab",
    "actonce_pipeline": PROJECT / "pipeline" / "actonce_pipeline",
    "actonce_core": PROJECT / "functions" / "actonce_core",
}
FLOOR = {name: number for number, rooms in enumerate(ROOMS) for name in rooms}


def imported(file: Path) -> Iterator[str]:
    """The rooms that a module imports from."""
    for node in ast.walk(ast.parse(file.read_text())):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{one.name}" for one in node.names]
        elif isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        for name in names:
            first, _, rest = name.partition(".")
            room = rest.partition(".")[0] if first == "actonce" else first
            if room in FLOOR:
                yield room


@pytest.mark.parametrize("room", FLOOR)
def test_a_room_imports_only_from_below(room: str) -> None:
    upward = {
        f"{file.relative_to(PROJECT)} imports {other}"
        for file in PLACES[room].rglob("*.py")
        for other in imported(file)
        if other != room and FLOOR[other] <= FLOOR[room]
    }
    assert not upward


def test_no_module_lies_loose() -> None:
    rooms = {
        path.name for path in (PROJECT / "actonce").iterdir() if (path / "__init__.py").exists()
    }
    assert rooms == FLOOR.keys() - {"lab", "actonce_pipeline", "actonce_core"}
    assert [path.name for path in (PROJECT / "actonce").glob("*.py")] == ["__init__.py"]
