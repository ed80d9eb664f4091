"""Every command, tried where the package is installed with certain extras and nothing else.

    python -m tests.support.with_extras FOLDER < EXTRAS

For each line of EXTRAS, extras of pyproject.toml, a child of this process runs each command of
`COMMANDS` by its words of `WORDS`, in a folder of its own; what no distribution of these extras
brings is not to be found. Each child writes a JSON object: by line and command, the exit status and
what was said on standard error; -1 and the traceback for an exception that nobody caught.
"""

import contextlib
import importlib.metadata
import io
import json
import os
import sys
import tomllib
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import boto3  # likewise
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from actonce.cli import app as cli
from actonce.cli import status  # with what all commands need, so that no child imports it again
from actonce.cli.app import COMMANDS
from actonce.terminal import output

PROJECT = Path(__file__).parents[2]
_PACKAGE = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
OPTIONAL: dict[str, list[str]] = _PACKAGE["optional-dependencies"]
NEEDS = {name: [one.extra] if one.extra else [] for name, one in COMMANDS.items()}
NEEDS["demo"].append("audit")  # for the second count
"""The extras that a command needs as it is tried here."""
STARTS_SOMETHING = ("demo", "up")
"""Where they can begin, they are only loaded: the embedded AWS is not started for this."""

WORDS = {
    "init": "",
    "audit": "records",
    "audit package": "--to package",
    "audit page": "records/audit",
    "collect": "--day 2026-01-31 --to collected",
    "backfill": "archive.jsonl --message-id id",
    "demo": "--messages 1",
    "effect": "check --yes",
    "up": "",
    "down": "",
    "env": "",
    "sam-local": "StarterFunction event.json",
    "send": "archive.jsonl",
    "pause": "--note note",
    "resume": "",
    "status": "",
    "doctor": "",
    "list": "",
    "console": "--no-browser",
    "where": "m-1",
    "dead-letters": "list",
    "unstarted": "list",
}
"""By command: as far as each gets without AWS and without Java."""


def included(extras: Sequence[str]) -> set[str]:
    """These extras, and those that they bring along."""
    found = set(extras)
    for extra in extras:
        inside = [one for one in map(Requirement, OPTIONAL[extra]) if one.name == "actonce"]
        found |= {name for one in inside for name in included(sorted(one.extras))}
    return found


def brought(extras: Sequence[str]) -> set[str]:
    """The distributions that the package brings along with these extras, by canonical name."""
    wanted = [*_PACKAGE["dependencies"], *(one for extra in extras for one in OPTIONAL[extra])]
    found: set[tuple[str, str]] = set()
    while wanted:
        requirement = Requirement(wanted.pop())
        name = canonicalize_name(requirement.name)
        for extra in ("", *requirement.extras):
            if (name, extra) in found:
                continue
            found.add((name, extra))
            if name == "actonce":
                wanted += OPTIONAL.get(extra, [])
                continue
            marked = {"extra": extra}
            wanted += [
                one.partition(";")[0]
                for one in _required(name)
                if (marker := Requirement(one).marker) is None or marker.evaluate(marked)
            ]
    return {name for name, _ in found}


def _required(name: str) -> list[str]:
    try:
        return importlib.metadata.requires(name) or []
    except importlib.metadata.PackageNotFoundError:  # what the environment of the tests lacks
        return []


def absent(extras: Sequence[str]) -> frozenset[str]:
    """The top-level modules of this environment that are not there with these extras alone."""
    there = brought(extras)
    return frozenset(
        module
        for module, of in _DISTRIBUTIONS.items()
        if not there & {canonicalize_name(one) for one in of} and module not in OURS
    )


class Without:
    """Finds what another finder of `sys.meta_path` does, but for some modules."""

    def __init__(self, finder: Any, modules: frozenset[str]) -> None:
        self._finder, self._modules = finder, modules

    def find_spec(self, name: str, *more: Any) -> Any:
        return None if name in self._modules else self._finder.find_spec(name, *more)


def tried(command: str, words: str) -> tuple[int, str]:
    """The exit status of a command, and what it said of it; see the module."""
    sys.argv = ["actonce", *command.split(), *words.split()]
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        output.out, output.err = output.SafeConsole(), output.SafeConsole(stderr=True)
        try:
            cli.main()
        except SystemExit as ended:
            return int(ended.code or 0), said.getvalue()
        except BaseException:  # noqa: BLE001 - it is told
            return -1, traceback.format_exc()
    return 0, said.getvalue()


def tried_with(extras: Sequence[str]) -> dict[str, tuple[int, str]]:
    """Of every command, in this process."""
    modules = absent(extras)
    for name in [name for name in sys.modules if name.partition(".")[0] in modules]:
        del sys.modules[name]  # this module's own
    sys.meta_path[:] = [Without(finder, modules) for finder in sys.meta_path]
    answers = {}
    for command, words in WORDS.items():
        if command in STARTS_SOMETHING and included(extras).issuperset(NEEDS[command]):
            COMMANDS[command].load(command)
        elif NEEDS[command] or not extras:  # what needs nothing needs nothing beside anything
            answers[command] = tried(command, words)
    return answers


def main() -> None:
    os.chdir(sys.argv[1])
    for number, line in enumerate(sys.stdin.read().splitlines()):
        if os.fork() == 0:
            folder = Path(f"{number}").absolute()
            folder.mkdir()
            os.chdir(folder)
            os.environ["ACTONCE_DIR"] = str(folder / "no-embedded-aws")
            Path("records").mkdir()
            Path("archive.jsonl").write_text('{"id": "m-1"}\n')
            Path("answers.json").write_text(json.dumps({line: tried_with(line.split())}))
            os._exit(0)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


OURS = {"actonce", "actonce_core", "actonce_pipeline", "awscrt"}
"""Never hidden: what is here, and what botocore has looked for by now."""
assert status
assert boto3
_DISTRIBUTIONS = importlib.metadata.packages_distributions()

if __name__ == "__main__":
    main()
