"""`actonce init`: a project is made or upgraded, and nothing of the team's is written over."""

import json
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from actonce.adopt.project.copied_files import stack_files
from actonce.stack.stack_files import version
from tests.cli.conftest import Run, Screen

TEMPLATE, STARTER, AUDIT = (
    f"actonce/{name}" for name in ("template.yaml", "functions/starter.py", "templates/audit.yaml")
)
Ships = Callable[..., None]


@pytest.fixture
def ships(monkeypatch: pytest.MonkeyPatch) -> Ships:
    """From now on this is a version that consists of these files."""

    def ships(its_version: str, files: dict[str, str]) -> None:
        made = {PurePosixPath(path): text.encode() for path, text in files.items()}
        monkeypatch.setattr("actonce.cli.init.version", lambda: its_version)
        monkeypatch.setattr("actonce.cli.init.stack_files", lambda **_: made)

    return ships


@pytest.fixture
def shop(run: Run, ships: Ships, tmp_path: Path) -> Path:
    """A folder with version 1.0.0, of a template and a starter."""
    ships("1.0.0", {TEMPLATE: "one\n", STARTER: "pass\n"})
    assert run("init").status == 0
    return tmp_path


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(text.encode())


def files(folder: Path) -> list[str]:
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file())


def refusal(run: Run, line: str, status: int = 1) -> str:
    """The sentence, and nothing else, with which it ends."""
    ended = run(line)
    assert (ended.status, ended.out, len(ended.err.splitlines())) == (status, "", 1)
    return ended.err.removeprefix("actonce: ").rstrip()


# ---------------------------------------------------------------- made


def test_a_project_is_made_and_says_what_to_type_next(
    run: Run, screen: Screen, tmp_path: Path
) -> None:
    screen("init_new", None, "init --new 'my shop'")
    assert "my shop/functions/your_effect.py" in files(tmp_path)
    has = f"{tmp_path}/my shop has ActOnce {version()} already, which is this version."
    assert refusal(run, "init --new 'my shop'") == has


def test_the_stack_is_put_there_the_lines_to_add_are_printed_and_an_upgrade_keeps_the_audit(
    run: Run, screen: Screen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen("init", None, "init")
    assert {one.partition("/")[0] for one in files(tmp_path)} == {"actonce"}
    assert AUDIT not in files(tmp_path)
    of_audit = ("actonce/statemachine/audit.asl.json", AUDIT)
    out = run("init --upgrade --audit").out
    assert [f"{one}: added" in out for one in of_audit] == [True, True]
    newer = {path: b"# newer\n" + content for path, content in stack_files(audit=True).items()}
    monkeypatch.setattr("actonce.cli.init.version", lambda: "9.9.9")
    monkeypatch.setattr("actonce.cli.init.stack_files", lambda audit: newer if audit else {})
    out = run("init --upgrade").out
    assert [f"{one}: replaced" in out for one in of_audit] == [True, True]
    write(tmp_path, AUDIT, "mine\n")
    assert "for these were changed since actonce init: " + AUDIT in refusal(run, "init --upgrade")


@pytest.mark.parametrize(
    ("line", "status", "sentence"),
    [
        ("--new .", 1, "holds something already (file):"),
        ("--new --upgrade", 2, "--new makes a project, and --upgrade changes one: say one of the"),
        ("nowhere", 2, "There is no folder nowhere; actonce init --new makes one."),
        ("file", 2, "file is no folder."),
        ("--new file/below", 1, "file/below/actonce/actonce.json is not as actonce init wrote it"),
        ("--upgrade", 1, "has no actonce/actonce.json, so actonce init has put nothing there; wi"),
    ],
)  # fmt: skip
def test_what_cannot_be_made_into_a_project_is_one_sentence(
    run: Run, tmp_path: Path, line: str, status: int, sentence: str
) -> None:
    write(tmp_path, "file", "")
    assert sentence in refusal(run, f"init {line}", status)


# ---------------------------------------------------------------- upgraded


def test_what_nobody_changed_is_replaced_added_and_removed_and_the_teams_own_is_left(
    shop: Path, run: Run, ships: Ships
) -> None:
    has = f"{shop} has ActOnce 1.0.0 already"
    assert refusal(run, "init") == f"{has}, which is this version."
    write(shop, "mine.py", "mine\n")
    write(shop, TEMPLATE, "one\r\n")  # as Git may check it out
    ships("1.1.0", {TEMPLATE: "one\ntwo\n", "actonce/functions/sub/new.py": "new\n"})
    assert refusal(run, "init") == f"{has}; --upgrade brings it to 1.1.0."
    assert run("init --upgrade").out.splitlines() == [
        f"{STARTER}: removed",
        "actonce/functions/sub/new.py: added",
        f"{TEMPLATE}: replaced",
        "It is of version 1.1.0.",
    ]
    assert run("init --upgrade").out == "Nothing to upgrade: it is of version 1.1.0.\n"
    kept = ["actonce/actonce.json", "actonce/functions/sub/new.py", TEMPLATE, "mine.py"]
    assert (files(shop), (shop / TEMPLATE).read_text()) == (kept, "one\ntwo\n")
    ships("1.0.9", {})
    older = f"{shop} has ActOnce 1.1.0, and this is the older 1.0.9: install ActOnce 1.1.0 from a"
    assert refusal(run, "init --upgrade", 2).startswith(older)


@pytest.mark.parametrize(
    ("changed", "text", "newer"),
    [
        (TEMPLATE, "mine\n", {TEMPLATE: "two\n", STARTER: "pass\n", "actonce/new.py": "new\n"}),
        (TEMPLATE, "mine\n", {STARTER: "pass\n"}),
        (AUDIT, "mine\n", {TEMPLATE: "two\n", STARTER: "pass\n", AUDIT: "two\n"}),
        (TEMPLATE, None, {TEMPLATE: "two\n", STARTER: "pass\n"}),
    ],
    ids=["replaced", "dropped", "made by the team", "removed by the team"],
)
def test_what_the_team_changed_made_or_removed_is_named_and_nothing_is_written(
    shop: Path, run: Run, ships: Ships, changed: str, text: str | None, newer: dict[str, str]
) -> None:
    if text is None:
        (shop / changed).unlink()
    else:
        write(shop, changed, text)
    before = {one: (shop / one).read_text() for one in files(shop)}
    ships("1.1.0", newer)
    assert refusal(run, "init --upgrade") == (
        f"Nothing was written, for these were changed since actonce init: {changed}. "
        "Put them back as they were, upgrade, and make your changes again."
    )
    assert {one: (shop / one).read_text() for one in files(shop)} == before


def test_nothing_is_written_through_a_link_or_above_the_folder(
    shop: Path, run: Run, ships: Ships
) -> None:
    elsewhere = "leads elsewhere, perhaps by a symbolic link: nothing is done there."
    write(shop, "other.yaml", "one\n")
    (shop / TEMPLATE).unlink()
    (shop / TEMPLATE).symlink_to(shop / "other.yaml")
    ships("1.1.0", {TEMPLATE: "two\n", STARTER: "pass\n"})
    assert refusal(run, "init --upgrade") == f"{shop / TEMPLATE} {elsewhere}"
    ships("1.1.0", {})
    for name, place in (
        ("../other.yaml", f"{shop}/../other.yaml"),
        ("/nowhere/other.yaml", "/nowhere/other.yaml"),
    ):
        manifest = {"version": "1.0.0", "files": {name: "x"}}
        write(shop, "actonce/actonce.json", json.dumps(manifest))
        assert refusal(run, "init --upgrade") == f"{place} {elsewhere}"
    assert (shop / "other.yaml").read_text() == "one\n"
