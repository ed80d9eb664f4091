"""What a team writes to put each way in front of its function: lines and files, counted.

    python -m bench.adopting

`bench/adopted/before` is a project as it was: a queue, a function, a table. Each folder beside it
is that project behind one of the ways, as its documentation has it. Counted is what is new or
changed, without comments, docstrings and blank lines; what is gone is counted apart.
"""

import ast
import difflib
import importlib.util
import io
import json
import subprocess
import sys
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from actonce.embedded import nesting

SOURCES = Path(__file__).parent / "adopted"
BEFORE = SOURCES / "before"


@dataclass(frozen=True, slots=True)
class Way:
    """One way, and what is to be known besides its lines.

    Attributes:
        folder: below `bench/adopted`.
        besides: what runs besides the team's own functions, and who runs it.
        after_a_crash: what becomes of a message whose call was cut short.
        imports: the package that it is written with; empty: none.
    """

    name: str
    folder: str
    besides: str
    after_a_crash: str
    imports: str = ""


WAYS = (
    Way(
        "ActOnce",
        "actonce",
        "the stack that `actonce init` brings, in Lambda and Step Functions",
        "looked up, then decided",
    ),
    Way(
        "Powertools Idempotency",
        "powertools",
        "a table",
        "performed again when its time is over",
        "aws_lambda_powertools",
    ),
    Way(
        "a workflow as collections have it",
        "workflow",
        "Step Functions",
        "performed again by its `Retry`, or left in a queue",
    ),
    Way(
        "Temporal",
        "temporal",
        "a Temporal service, and workers that never stop",
        "looked up, then decided, as far as written",
        "temporalio",
    ),
    Way(
        "DBOS",
        "dbos",
        "a Postgres, and workers that never stop",
        "looked up and performed again at once",
        "dbos",
    ),
)


@dataclass(frozen=True, slots=True)
class Written:
    """What a team writes for one way: lines that are new or changed, that are gone, and files."""

    lines: int
    gone: int
    files: int


def written(folder: Path) -> Written:
    """Compare a project with what it was."""
    lines = gone = files = 0
    for file in sources(folder):
        before = BEFORE / file.relative_to(folder)
        old = counted(before) if before.exists() else []
        changes = list(difflib.ndiff(old, counted(file)))
        added = sum(one.startswith("+ ") for one in changes)
        removed = sum(one.startswith("- ") for one in changes)
        lines += added
        gone += removed
        files += bool(added or removed)
    return Written(lines, gone, files)


def sources(folder: Path) -> list[Path]:
    """The files of a project."""
    return sorted(one for one in folder.rglob("*") if one.is_file() and one.suffix != ".pyc")


def counted(file: Path) -> list[str]:
    """The lines of a file that count: neither blank nor comment nor docstring."""
    text = file.read_text()
    lines = text.splitlines()
    if file.suffix == ".py":
        kept = _lines_of_code(text)
        return [line for number, line in enumerate(lines, 1) if number in kept]
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _lines_of_code(text: str) -> set[int]:
    found: set[int] = set()
    silent = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (*silent, tokenize.ENDMARKER):
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                found -= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return found


def check(way: Way) -> str:
    """Read what can be read, and import what can be imported; what was not tried is said.

    Raises:
        ValueError: a source does not stand.
    """
    folder = SOURCES / way.folder
    template = nesting.read(folder / "template.yaml")
    if not list(template.resources()):
        raise ValueError(f"{template.file} has no resources")
    modules = [file.stem for file in sources(folder) if file.suffix == ".py"]
    for file in sources(folder):
        if file.suffix == ".json":
            json.loads(file.read_text())
        elif file.suffix == ".yaml":
            yaml.compose(file.read_text())
    if way.imports and importlib.util.find_spec(way.imports) is None:
        return f"not imported: {way.imports} is not installed"
    code = f"import {', '.join(modules)}"
    answer = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_LAMBDA_FUNCTION_NAME": "gift-cards",
            "AWS_SECRET_ACCESS_KEY": "test",
            "DBOS_SYSTEM_DATABASE_URL": "sqlite:///:memory:",
            "GIFT_CARDS_TABLE": "gift-cards",
            "IDEMPOTENCY_TABLE": "idempotency",
            "ORDERS_QUEUE_URL": "https://sqs.us-east-1.amazonaws.com/123456789012/orders",
            "PYTHONDONTWRITEBYTECODE": "1",
            "STATE_MACHINE_ARN": "arn:aws:states:us-east-1:123456789012:stateMachine:cards",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if answer.returncode != 0:
        raise ValueError(f"{way.folder} cannot be imported: {answer.stderr}")
    return "imported"


def table(ways: Sequence[Way] = WAYS) -> str:
    """The table of bench/README.md, in Markdown."""
    rows = ["| | lines | files | runs besides | after a call that was cut short |"]
    rows.append("| --- | --- | --- | --- | --- |")
    for way in ways:
        found = written(SOURCES / way.folder)
        rows.append(
            f"| {way.name} | {found.lines} | {found.files} | {way.besides} | {way.after_a_crash} |"
        )
    return "\n".join(rows) + "\n"


def main() -> None:
    """Check each, and print the table."""
    for way in WAYS:
        gone = written(SOURCES / way.folder).gone
        print(f"{way.name}: {check(way)}; {gone} lines gone", file=sys.stderr)
    print(table(), end="")


if __name__ == "__main__":
    main()
