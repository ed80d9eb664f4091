"""The rooms of .github/CONTRIBUTING.md's table: what is imported by what, and what lies where."""

import ast
import subprocess
import tomllib
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
    ("terminal", "actonce_pipeline"),
    ("actonce_core",),
)
"""From top to bottom. A room imports from those below it."""

FLOOR = {name: number for number, rooms in enumerate(ROOMS) for name in rooms}
PACKAGES = {
    "actonce": PROJECT / "actonce",
    "actonce_core": PROJECT / "functions" / "actonce_core",
    "actonce_pipeline": PROJECT / "pipeline" / "actonce_pipeline",
    "lab": PROJECT / "lab",
}
STARTER = {
    *("backoff", "batch", "delivery", "effect", "events", "execution", "first_attempt"),
    *("invoked_effect", "message", "reason", "records", "result", "start", "strict_json"),
    "unstarted",
}
"""What the starter loads of `actonce_core`, on each cold start: a new name here is a decision."""

MOST_LINES = 530
LONGER = {"lab/conformance/hazards.py", "lab/conformance/world.py"}
"""Modules that are longer: one table of hazards, and one class that many tests read as a whole."""

TEST_FOLDERS = FLOOR.keys() - {"actonce_core", "actonce_pipeline"} | {
    *("functions", "pipeline", "templates", "examples", "repository", "support"),
}


def modules() -> dict[str, Path]:
    """Each module of the packages, by its dotted name."""
    found = {}
    for package, folder in PACKAGES.items():
        for file in folder.rglob("*.py"):
            parts = (package, *file.relative_to(folder).with_suffix("").parts)
            if "skeleton" not in parts and "injected" not in parts:
                found[".".join(part for part in parts if part != "__init__")] = file
    return found


MODULES = modules()


def imports(file: Path) -> Iterator[str]:
    """What a module imports of the packages, for its types and by `import_module` too."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        names: list[str] = []
        match node:
            case ast.ImportFrom(module=str(module)):
                names = [f"{module}.{alias.name}" for alias in node.names]
            case ast.Import():
                names = [alias.name for alias in node.names]
            case ast.Call(args=[ast.Constant(value=str(name)), *_]) if (
                "import_module" in ast.unparse(node.func)
            ):
                names = [name]
        for name in names:
            while name and name not in MODULES:
                name = name.rpartition(".")[0]  # noqa: PLW2901 - of a module's contents
            if name:
                yield name


IMPORTS = {name: set(imports(file)) - {name} for name, file in MODULES.items()}


def room_of(module: str) -> str:
    first, _, rest = module.partition(".")
    return rest.partition(".")[0] if first == "actonce" else first


@pytest.mark.parametrize("room", FLOOR)
def test_a_room_imports_only_from_below(room: str) -> None:
    upward = {
        f"{module} imports {other}"
        for module, others in IMPORTS.items()
        if room_of(module) == room
        for other in others
        if room_of(other) in FLOOR and room_of(other) != room
        if FLOOR[room_of(other)] <= FLOOR[room]
    }
    assert not upward


def test_no_module_lies_loose() -> None:
    folder = PACKAGES["actonce"]
    rooms = {path.name for path in folder.iterdir() if (path / "__init__.py").exists()}
    assert rooms == FLOOR.keys() - {"lab", "actonce_pipeline", "actonce_core"}
    assert [path.name for path in folder.glob("*.py")] == ["__init__.py"]


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Also not for their types. A package's `__init__` counts as what it says itself."""
    waiting = {name: set(others) for name, others in IMPORTS.items()}
    while leaves := {name for name, others in waiting.items() if not others}:
        waiting = {name: others - leaves for name, others in waiting.items() if name not in leaves}
    assert waiting == {}


def closure(module: str) -> set[str]:
    found: set[str] = set()
    waiting = {module}
    while waiting:
        found |= waiting
        waiting = {other for name in waiting for other in IMPORTS[name]} - found
    return found


def test_the_starter_loads_no_more_than_it_needs() -> None:
    file = PROJECT / "functions" / "starter.py"
    loaded = {name for first in imports(file) for name in closure(first)}
    assert {name.partition(".")[2] for name in loaded if "." in name} == STARTER


def test_the_wheel_takes_no_name_that_a_team_may_use() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert all(Path(package).name.startswith("actonce") for package in packages)


def test_no_module_is_too_long_to_be_read_at_once() -> None:
    long = {
        file.relative_to(PROJECT).as_posix()
        for file in MODULES.values()
        if len(file.read_text("utf-8").splitlines()) > MOST_LINES
    }
    assert long == LONGER


def test_each_test_lies_in_a_folder_named_after_what_it_tests() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "tests"], cwd=PROJECT, capture_output=True, text=True, check=False
    ).stdout.splitlines()
    elsewhere = {
        path
        for path in listed
        if Path(path).name != "conftest.py" or len(Path(path).parts) > 2
        if Path(path).parts[1] not in TEST_FOLDERS
    }
    assert not elsewhere


def test_only_the_example_and_its_demo_know_appointments() -> None:
    """The command line and the audit work for anybody's effect."""
    knowing = {
        name
        for name, file in MODULES.items()
        if room_of(name) not in {"demo", "lab"} and "appointment" in file.read_text("utf-8").lower()
    }
    assert knowing == {
        "actonce.adopt.project.copied_files",
        "actonce.cli.demo",
    }  # which leave it out, and show it
