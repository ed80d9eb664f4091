"""What this version puts into a folder, and the project that it makes."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest
import yaml

from actonce.adopt.project.folder import Folder
from actonce.adopt.project.placing import place
from actonce.adopt.project.plan import Kind, has_audit, plan, stack_name
from actonce.cli import demo as demo_command
from actonce.embedded import lifecycle, nesting
from actonce.stack.embedded_folder import PROJECT, Paths
from actonce.stack.sources import MANIFEST, project_above
from actonce.terminal.errors import WrongUse
from tests import template


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    place(Folder(tmp_path / "my shop"), plan(Kind.PROJECT, "my shop"))
    return tmp_path / "my shop"


@pytest.mark.parametrize("audit", [False, True])
def test_the_stack_is_all_that_it_is_deployed_from(*, audit: bool) -> None:
    managed = plan(Kind.STACK, "x", audit=audit).managed
    assert has_audit(managed) is audit
    texts = "".join(text.decode() for path, text in managed.items() if path.suffix == ".yaml")
    named = re.findall(
        r"(?:CodeUri|DefinitionUri|TemplateURL|Code|DefinitionS3Location): (\S+)", texts
    )
    assert len(named) >= (6 if audit else 4)
    for name in named:
        path = PurePosixPath("actonce", name)
        assert any(one.is_relative_to(path) for one in managed), name
    for path, content in managed.items():
        assert content == (PROJECT / path.relative_to("actonce")).read_bytes()


@pytest.mark.parametrize("audit", [False, True])
def test_it_has_the_code_that_it_runs_and_no_other(*, audit: bool) -> None:
    managed = plan(Kind.STACK, "x", audit=audit).managed
    brought = {path for path in managed if path.suffix == ".py"}
    folder = PurePosixPath("actonce", "functions")
    run = {folder / "starter.py"} | ({folder / "dead_letters_of_day.py"} if audit else set())
    while more := {one for path in run for one in imported(managed[path])} - run:
        assert more <= brought
        run |= more
    assert brought == run


def imported(code: bytes) -> set[PurePosixPath]:
    """What a module imports of `actonce_core`, packages included."""
    functions = PurePosixPath("actonce", "functions")
    names: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
    found: set[PurePosixPath] = set()
    for name in names:
        parts = name.split(".")
        for depth in range(1, len(parts) + 1):
            for file in (f"{'/'.join(parts[:depth])}.py", f"{'/'.join(parts[:depth])}/__init__.py"):
                if parts[0] == "actonce_core" and (PROJECT / "functions" / file).is_file():
                    found.add(functions / file)
    return found


def test_a_project_nests_the_stack_as_everybody_s_template_does(shop: Path) -> None:
    resources = template.load(shop / "template.yaml")["Resources"]
    once = resources["Once"]["Properties"]
    assert once["Location"] == "actonce/template.yaml"
    known = template.load(shop / "actonce" / "template.yaml")["Parameters"]
    assert once["Parameters"].keys() <= known.keys()
    (effect,) = template.of_type({"Resources": resources}, "AWS::Serverless::Function").values()
    assert (shop / effect["Properties"]["CodeUri"] / "your_effect.py").is_file()
    timeout = effect["Properties"]["Timeout"]
    assert timeout == once["Parameters"]["EffectTimeoutSeconds"] == {"Ref": "EffectSeconds"}
    assert [one.logical_id for one in nesting.nested(nesting.read(shop / "template.yaml"))] == [
        "Once"
    ]


def test_a_project_s_own_tests_pass(shop: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "unittest", "discover", "-s", "tests"],
        cwd=shop,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert "Ran 6 tests" in answer.stderr


def test_whoever_is_in_a_project_means_its_stack(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ACTONCE_DIR", raising=False)
    monkeypatch.chdir(shop / "functions")
    assert project_above(Path.cwd()) == shop
    assert Paths.default() == Paths(shop / ".actonce", shop, is_project=True)
    monkeypatch.setenv("ACTONCE_DIR", str(shop / "elsewhere"))
    assert Paths.default() == Paths(shop / "elsewhere", shop, is_project=True)
    (shop / MANIFEST).unlink()
    assert Paths.default().stack == PROJECT


def test_where_a_teams_own_project_was_up_it_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ACTONCE_DIR", raising=False)
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    assert not Paths.default().is_project
    Paths.of_project(tmp_path).prepared.mkdir(parents=True)
    assert Paths.default() == Paths(tmp_path / ".actonce", tmp_path, is_project=True)
    # Another project within it, made by `actonce init --new`, is itself.
    inner = tmp_path / "inner"
    place(Folder(inner), plan(Kind.PROJECT, "inner"))
    monkeypatch.chdir(inner)
    assert Paths.default() == Paths(inner / ".actonce", inner, is_project=True)


def test_what_a_wheel_brought_keeps_its_things_where_the_person_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actonce.stack.embedded_folder.in_clone", lambda: False)
    monkeypatch.delenv("ACTONCE_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    assert Paths.default().home == tmp_path / ".actonce"
    (tmp_path / ".actonce").mkdir()
    (tmp_path / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep" / "er")
    assert Paths.default().home == tmp_path / ".actonce"


def test_a_folder_that_is_gone_is_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ACTONCE_DIR", raising=False)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert Paths.default() == Paths(PROJECT / ".actonce", PROJECT)


def test_a_folder_that_cannot_be_written_to_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WrongUse, match=r"cannot be made \(Not a directory\).*ACTONCE_DIR"):
        lifecycle.up(Paths(tmp_path / "file" / ".actonce"), lambda _: None)


def test_the_demo_of_a_project_is_of_its_own_effect(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop)
    own = demo_command._own(Paths.default(), {}, None, None)
    assert own is not None
    traffic, again = own.generate(10, 7), own.generate(10, 7)
    assert traffic == again
    assert len(traffic.message_ids) == len(set(traffic.message_ids)) == 10
    assert len(traffic.bodies) == 12
    assert {json.loads(body)["amount"] for body in traffic.bodies} == {20}
    assert {json.loads(body)["message_id"] for body in traffic.bodies} == set(traffic.message_ids)
    assert demo_command._own(Paths(shop / "other"), {}, None, None) is None  # the example's
    for wrong, said in (("[]", "has to be an object"), ("{", "is no JSON"), ("@none", "be read")):
        with pytest.raises(WrongUse, match=said):
            demo_command._own(Paths.default(), {}, wrong, None)


@pytest.mark.parametrize(
    ("name", "stack"),
    [
        ("shop", "shop"),
        ("my shop", "my-shop"),
        ("Gift_Cards.v2", "Gift-Cards-v2"),
        ("2024", "actonce-2024"),
        ("Läden", "L-den"),
        ("ÄÖ", "actonce"),
        ("x" * 300, "x" * 128),
    ],
)
def test_a_stack_is_named_as_cloudformation_wants_it(name: str, stack: str) -> None:
    assert stack_name(name) == stack
    assert re.fullmatch("[a-zA-Z][-a-zA-Z0-9]*", stack)


def test_the_project_s_name_stands_where_it_is_deployed(shop: Path) -> None:
    assert 'stack_name = "my-shop"' in (shop / "samconfig.toml").read_text()
    assert (shop / "README.md").read_text().startswith("# my-shop\n")
    assert ".actonce/" in (shop / ".gitignore").read_text().splitlines()
    for file in shop.rglob("*.*"):
        if file.is_file() and not file.is_relative_to(shop / "actonce"):
            assert not re.search(r"\{(name|python)\}", file.read_text()), file
    assert yaml.safe_load((shop / "events" / "find.json").read_text())["operation"] == "find"
