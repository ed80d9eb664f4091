"""What this version puts into a folder, the project of it, and which one a command means."""

import ast
import json
import posixpath
import re
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from actonce.adopt.project.copied_files import has_audit, seeds, stack_files, stack_name
from actonce.adopt.project.placing import place
from actonce.cli import demo as demo_command
from actonce.embedded import lifecycle, nesting
from actonce.stack.embedded_folder import PROJECT, Paths
from actonce.stack.stack_files import MANIFEST
from actonce.terminal.errors import UsageError
from actonce_core.message import MessageReader
from tests.support import template
from tests.support.commands import run

FUNCTIONS = PurePosixPath("actonce", "functions")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    place(tmp_path / "my shop", "1.0.0", stack_files(), seeds("my shop"))
    return tmp_path / "my shop"


@pytest.mark.parametrize("audit", [False, True])
def test_the_stack_is_all_that_it_is_deployed_from_and_no_other_code(*, audit: bool) -> None:
    managed = stack_files(audit=audit)
    assert has_audit(managed) is audit
    for path, content in managed.items():
        source = (PROJECT / path.relative_to("actonce")).read_bytes()
        assert content == source or path.suffix == ".yaml"  # test_nested_template.py
    names = [
        PurePosixPath(posixpath.normpath(path.parent / name))
        for path, text in managed.items()
        if path.suffix == ".yaml"
        for name in re.findall(
            r"(?:CodeUri|DefinitionUri|TemplateURL|Code|DefinitionS3Location): (\S+)", text.decode()
        )
    ]
    assert len(names) >= (5 if audit else 3)
    for name in names:
        assert any(one.is_relative_to(name) for one in managed), name
    runs = {FUNCTIONS / "starter.py"} | ({FUNCTIONS / "execution_records.py"} if audit else set())
    while more := {one for path in runs for one in imported(managed[path])} - runs:
        runs |= more
    assert {path for path in managed if path.suffix == ".py"} == runs


def imported(code: bytes) -> set[PurePosixPath]:
    """What a module imports of `actonce_core`, packages included."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
    found: set[PurePosixPath] = set()
    for parts in (name.split(".") for name in names if name.startswith("actonce_core")):
        for depth in range(1, len(parts) + 1):
            for file in (f"{'/'.join(parts[:depth])}.py", f"{'/'.join(parts[:depth])}/__init__.py"):
                if (PROJECT / "functions" / file).is_file():
                    found.add(FUNCTIONS / file)
    return found


def test_a_project_nests_the_stack_under_its_own_name(shop: Path) -> None:
    resources = template.load(shop / "template.yaml")["Resources"]
    once = resources["Once"]["Properties"]
    assert once["Location"] == "actonce/template.yaml"
    known = template.load(shop / "actonce" / "template.yaml")["Parameters"]
    assert once["Parameters"].keys() <= known.keys()
    (effect,) = template.of_type({"Resources": resources}, "AWS::Serverless::Function").values()
    assert (shop / effect["Properties"]["CodeUri"] / "your_effect.py").is_file()
    timeout = effect["Properties"]["Timeout"]
    assert timeout == once["Parameters"]["EffectTimeoutSeconds"] == {"Ref": "EffectSeconds"}
    (nested,) = nesting.nested(nesting.read(shop / "template.yaml"))
    assert nested.logical_id == "Once"
    assert 'stack_name = "my-shop"' in (shop / "samconfig.toml").read_text()
    assert ".actonce/" in (shop / ".gitignore").read_text().splitlines()
    for text in seeds("my shop").values():
        assert not re.search(rb"\{(name|python)\}", text)


def test_a_project_s_own_tests_pass(shop: Path) -> None:
    answer = run([sys.executable, "-m", "unittest", "discover", "-s", "tests"], shop)
    assert answer.returncode == 0, answer.stderr
    assert "Ran 6 tests" in answer.stderr


def test_a_command_means_the_project_that_it_is_run_in(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meant(folder: Path, names: Path | None = None) -> Paths:
        monkeypatch.delenv("ACTONCE_DIR", raising=False)
        if names:
            monkeypatch.setenv("ACTONCE_DIR", str(names))
        folder.mkdir(parents=True, exist_ok=True)
        monkeypatch.chdir(folder)
        return Paths.default()

    own, other = Paths(shop / ".actonce", shop, is_project=True), tmp_path / "other"
    assert meant(shop / "functions") == own
    assert meant(shop / "functions", other) == Paths(other, shop, is_project=True)
    # One that was up with `--project`, but another within it is itself.
    prepared = tmp_path / ".actonce" / "prepared"
    prepared.mkdir(parents=True)
    assert meant(tmp_path / "src") == Paths(tmp_path / ".actonce", tmp_path, is_project=True)
    assert meant(shop) == own
    # No project: this clone, or with a wheel the person's own folder.
    prepared.rmdir()
    (shop / MANIFEST).unlink()
    clone = Paths(PROJECT / ".actonce", PROJECT)
    assert meant(shop) == clone
    monkeypatch.setattr("actonce.stack.embedded_folder.in_clone", lambda: False)
    assert meant(tmp_path / "src" / "deep").home == tmp_path / ".actonce"
    monkeypatch.setattr("actonce.stack.embedded_folder.in_clone", lambda: True)
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert Paths.default() == clone


def test_a_folder_that_cannot_be_written_to_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"cannot be made \(Not a directory\).*ACTONCE_DIR"):
        lifecycle.up(Paths(tmp_path / "file" / ".actonce"), lambda _: None)


def test_the_demo_of_a_project_is_of_its_own_effect(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop)
    own = demo_command._own(Paths.default(), None)
    assert own is not None
    traffic = own.generate(10, 7)
    assert traffic == own.generate(10, 7)
    bodies = [json.loads(body) for body in traffic.bodies]
    assert len(bodies) == 12
    assert {(body["amount"], body["message_id"]) for body in bodies} == {
        (20, message_id) for message_id in traffic.message_ids
    }
    own.check(MessageReader("body:message_id"))
    for where, fits in (("body:order.id", True), ("body:join('', [amount])", False)):
        theirs = replace(own, message_id_from=where)
        with nullcontext() if fits else pytest.raises(UsageError, match="--input"):
            theirs.check(MessageReader(where))
    assert demo_command._own(Paths(shop / "other"), None) is None  # the example's
    event = {"message": {"body": "[]"}}
    (shop / "events" / "perform.json").write_text(json.dumps(event))
    with pytest.raises(UsageError, match="has to be an object"):
        demo_command._own(Paths.default(), None)


@pytest.mark.parametrize(
    ("name", "stack"),
    [
        ("my shop", "my-shop"),
        ("Gift_Cards.v2", "Gift-Cards-v2"),
        ("2024", "actonce-2024"),
        ("ÄÖ", "actonce"),
        ("x" * 300, "x" * 128),
    ],
)
def test_a_stack_is_named_as_cloudformation_wants_it(name: str, stack: str) -> None:
    assert stack_name(name) == stack
