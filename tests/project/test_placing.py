"""Files in a folder of a team's own: put there, upgraded, never written over in silence."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from actonce.adopt.project import manifest
from actonce.adopt.project.changes import Changes
from actonce.adopt.project.folder import Folder
from actonce.adopt.project.placing import place, upgrade
from actonce.adopt.project.plan import Kind, Plan
from actonce.stack.sources import MANIFEST
from actonce.terminal.errors import Failed, WrongUse

FILES = {"actonce/template.yaml": "one\n", "actonce/functions/starter.py": "pass\n"}
SEEDS = {"functions/your_effect.py": "yours\n"}


def made(files: dict[str, str]) -> dict[PurePosixPath, bytes]:
    return {PurePosixPath(path): text.encode() for path, text in files.items()}


def plan(
    version: str = "1.0.0", files: dict[str, str] | None = None, kind: Kind = Kind.PROJECT
) -> Plan:
    seeds = SEEDS if kind is Kind.PROJECT else {}
    return Plan(kind, version, made(FILES if files is None else files), made(seeds))


def tree(root: Path) -> dict[str, str]:
    """Every file but the manifest."""
    files = (one for one in sorted(root.rglob("*")) if one.is_file())
    return {
        str(one.relative_to(root)): one.read_text()
        for one in files
        if one.relative_to(root) != MANIFEST
    }


@pytest.fixture
def shop(tmp_path: Path) -> Folder:
    """A folder with version 1.0.0 in it."""
    folder = Folder(tmp_path / "a shop")
    place(folder, plan())
    return folder


def upgraded(folder: Folder, wanted: Plan) -> Changes:
    there = manifest.read(folder.root)
    assert there is not None
    return upgrade(folder, there, wanted)


def version_of(folder: Folder) -> str:
    there = manifest.read(folder.root)
    assert there is not None
    return there.version


# --------------------------------------------------------------------------- placing


def test_everything_is_put_there_and_remembered(shop: Folder) -> None:
    assert tree(shop.root) == FILES | SEEDS
    there = manifest.read(shop.root)
    assert there is not None
    assert (there.kind, there.version) == (Kind.PROJECT, "1.0.0")
    assert set(map(str, there.files)) == set(FILES)  # the seeds are the team's


def test_twice_is_refused_with_what_to_do(shop: Folder) -> None:
    with pytest.raises(Failed, match=r"has ActOnce 1\.0\.0 already; actonce init --upgrade"):
        place(shop, plan())


def test_what_was_cut_short_goes_on(shop: Folder) -> None:
    (shop.root / MANIFEST).unlink()
    (shop.root / "actonce/template.yaml").unlink()
    (shop.root / "actonce/template.yaml.actonce-part").write_text("on")
    assert place(shop, plan()) == [PurePosixPath("actonce/template.yaml")]
    assert tree(shop.root) == FILES | SEEDS


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("path", ["actonce/template.yaml", "actonce/__init__.py"])
def test_a_folder_that_holds_something_else_is_left_alone(
    tmp_path: Path, kind: Kind, path: str
) -> None:
    (tmp_path / "actonce").mkdir()
    (tmp_path / path).write_text("theirs\n")
    with pytest.raises(Failed, match="holds something else already"):
        place(Folder(tmp_path), plan(kind=kind))
    assert tree(tmp_path) == {path: "theirs\n"}


def test_a_project_is_made_in_a_new_folder_only_but_git_may_be_there(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "setup.py").write_text("")
    with pytest.raises(Failed, match=r"holds something else already \(setup\.py\)"):
        place(Folder(tmp_path), plan())
    (tmp_path / "setup.py").unlink()
    place(Folder(tmp_path), plan())


@pytest.mark.parametrize("kind", Kind)
def test_nothing_is_put_into_the_package_itself(kind: Kind) -> None:
    folder = Path(manifest.__file__).parent / "elsewhere"
    with pytest.raises(Failed, match="ActOnce itself"):
        place(Folder(folder), plan(kind=kind))
    assert not folder.exists()


def test_the_stack_goes_into_a_repository_and_leaves_the_rest_alone(tmp_path: Path) -> None:
    (tmp_path / "template.yaml").write_text("theirs\n")
    place(Folder(tmp_path), plan(kind=Kind.STACK))
    assert tree(tmp_path) == FILES | {"template.yaml": "theirs\n"}


# --------------------------------------------------------------------------- what is in the way


def link_to(target: str) -> Callable[[Path], None]:
    def link(path: Path) -> None:
        path.symlink_to(target)

    return link


def folder_with_a_file(path: Path) -> None:
    path.mkdir()
    (path / "x").write_text("")


@pytest.mark.parametrize(
    ("path", "what", "said"),
    [
        ("actonce", link_to("elsewhere"), "actonce is a symbolic link"),
        ("actonce", link_to("nowhere"), "actonce is a symbolic link"),
        ("actonce/template.yaml", link_to("../elsewhere/x"), "template.yaml is a symbolic link"),
        ("actonce/actonce.json", link_to("nowhere"), "actonce.json is a symbolic link"),
        ("actonce/functions", link_to("../elsewhere"), "functions is a symbolic link"),
        ("actonce/functions", Path.touch, "functions is no folder"),
        ("actonce/template.yaml", folder_with_a_file, "template.yaml is no file"),
        ("actonce/template.yaml", os.mkfifo, "template.yaml is no file"),
    ],
)
def test_what_is_in_the_way_is_named_and_nothing_is_written(
    tmp_path: Path, path: str, what: Callable[[Path], None], said: str
) -> None:
    root = tmp_path / "root"
    (root / path).parent.mkdir(parents=True)
    (root / "elsewhere").mkdir()
    what(root / path)
    before = tree(root)
    with pytest.raises(Failed, match=said):
        place(Folder(root), plan(kind=Kind.STACK))
    assert tree(root) == before


def test_a_link_put_in_the_place_of_a_file_is_not_written_through(
    shop: Folder, tmp_path: Path
) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("one\n")
    (shop.root / "actonce/template.yaml").unlink()
    (shop.root / "actonce/template.yaml").symlink_to(other)
    with pytest.raises(Failed, match="symbolic link"):
        upgraded(shop, plan("1.1.0", FILES | {"actonce/template.yaml": "two\n"}))
    assert other.read_text() == "one\n"


def test_the_team_s_folder_may_itself_be_reached_by_a_link(shop: Folder, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(shop.root)
    upgraded(Folder((tmp_path / "link").resolve()), plan("1.1.0"))


def test_read_only_is_said_before_anything_is_written(
    shop: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Who runs the tests may be allowed everything, so the answer is given in the place of a right.
    monkeypatch.setattr(os, "access", lambda path, _mode: Path(path).name != "functions")
    newer = {path: text + "more\n" for path, text in FILES.items()}
    with pytest.raises(Failed, match=r"functions is read-only: nothing was written"):
        upgraded(shop, plan("1.1.0", newer))
    assert tree(shop.root) == FILES | SEEDS


def test_what_cannot_be_written_is_one_sentence(shop: Folder) -> None:
    folder_with_a_file(shop.root / "actonce/template.yaml.actonce-part")
    with pytest.raises(Failed, match=r"template\.yaml cannot be written: "):
        upgraded(shop, plan("1.1.0", FILES | {"actonce/template.yaml": "two\n"}))
    assert (shop.root / "actonce/template.yaml").read_text() == "one\n"


# --------------------------------------------------------------------------- upgrading


def test_what_nobody_changed_is_replaced_added_and_removed(shop: Folder) -> None:
    newer = {"actonce/template.yaml": "one\ntwo\n", "actonce/functions/sub/new.py": "new\n"}
    changes = upgraded(shop, plan("1.1.0", newer))
    assert tree(shop.root) == newer | SEEDS
    assert changes == Changes(
        added=[PurePosixPath("actonce/functions/sub/new.py")],
        replaced=[PurePosixPath("actonce/template.yaml")],
        removed=[PurePosixPath("actonce/functions/starter.py")],
        refused=[],
    )
    assert version_of(shop) == "1.1.0"


def test_folders_that_are_empty_then_go_as_well(shop: Folder) -> None:
    upgraded(shop, plan("1.1.0", {"actonce/template.yaml": "one\n"}))
    assert not (shop.root / "actonce/functions").exists()
    assert (shop.root / "functions").exists()


def test_the_seeds_are_never_looked_at_again(shop: Folder) -> None:
    (shop.root / "functions/your_effect.py").write_text("my own\n")
    newer = plan("1.1.0")
    newer.seeds[PurePosixPath("functions/your_effect.py")] = b"another\n"
    upgraded(shop, newer)
    assert (shop.root / "functions/your_effect.py").read_text() == "my own\n"


def test_what_the_team_changed_made_or_removed_is_named_and_nothing_is_written(
    shop: Folder,
) -> None:
    (shop.root / "actonce/template.yaml").write_text("mine\n")
    (shop.root / "actonce/functions/starter.py").unlink()
    (shop.root / "actonce/audit.yaml").write_text("mine\n")
    before = tree(shop.root)
    newer = dict.fromkeys((*FILES, "actonce/audit.yaml", "actonce/new.py"), "two\n")
    with pytest.raises(Failed) as refused:
        upgraded(shop, plan("1.1.0", newer))
    named = ("actonce/template.yaml", "actonce/functions/starter.py", "actonce/audit.yaml")
    assert all(path in str(refused.value) for path in named)
    assert "new.py" not in str(refused.value)
    assert tree(shop.root) == before
    assert version_of(shop) == "1.0.0"


def test_what_is_told_to_git_shows_the_teams_change(shop: Folder) -> None:
    def shell(command: str) -> str:
        return subprocess.run(
            ["sh", "-c", command], cwd=shop.root, check=True, capture_output=True, text=True
        ).stdout

    commit = "git add -A && git -c user.name=a -c user.email=a@b commit -qm"
    shell(f"git init -q && {commit} 'actonce init'")
    (shop.root / "actonce/template.yaml").write_text("mine\n")
    shell(f"{commit} mine")
    with pytest.raises(Failed) as refused:
        upgraded(shop, plan("1.1.0", dict.fromkeys(FILES, "two\n")))
    told = re.search(r"git diff .* -- actonce(?=\. )", str(refused.value))
    assert told is not None
    assert "-one\n+mine\n" in shell(told[0])


def test_line_ends_that_git_has_rewritten_are_no_change(shop: Folder) -> None:
    (shop.root / "actonce/template.yaml").write_bytes(b"one\r\n")
    upgraded(shop, plan("1.1.0", FILES | {"actonce/template.yaml": "two\n"}))
    assert (shop.root / "actonce/template.yaml").read_text() == "two\n"


@pytest.mark.parametrize("writes", range(3))
def test_an_upgrade_that_ended_half_way_goes_on(
    shop: Folder, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    """At whichever write it ends, the next try ends as if nothing had been."""
    newer = {"actonce/template.yaml": "two\n", "actonce/new.py": "\n"}
    write, left = Folder.write, [writes]

    def interrupted(self: Folder, path: PurePosixPath, content: bytes) -> None:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        write(self, path, content)

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            upgraded(shop, plan("1.1.0", newer))
    assert version_of(shop) == "1.0.0"
    upgraded(shop, plan("1.1.0", newer))
    assert version_of(shop) == "1.1.0"
    assert tree(shop.root) == newer | SEEDS


def test_an_older_version_does_not_take_a_newer_one_back(shop: Folder) -> None:
    upgraded(shop, plan("1.10.0"))
    with pytest.raises(WrongUse, match=r"has ActOnce 1\.10\.0, and this is the older 1\.9\.0"):
        upgraded(shop, plan("1.9.0"))


# --------------------------------------------------------------------------- the manifest


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<<<<<<< HEAD\n{}",
        "[]",
        "{}",
        '{"version": "1.0.0", "kind": "other", "files": {}}',
        '{"version": 1, "kind": "stack", "files": {}}',
        '{"version": "1.0.0", "kind": "stack", "files": ["a"]}',
        '{"version": "1.0.0", "kind": "stack", "files": {"a": null}}',
        '{"version": "1.0.0", "kind": "stack", "files": {"../a": "0"}}',
        '{"version": "1.0.0", "kind": "stack", "files": {"/etc/passwd": "0"}}',
        '{"version": "1.0.0", "kind": "stack", "files": {"": "0"}}',
    ],
)
def test_a_manifest_that_was_not_written_here_is_not_believed(shop: Folder, text: str) -> None:
    (shop.root / MANIFEST).write_text(text)
    with pytest.raises(Failed, match=r"actonce\.json is not as actonce init wrote it"):
        manifest.read(shop.root)


def test_a_manifest_that_is_no_text_or_no_file_is_told(shop: Folder) -> None:
    (shop.root / MANIFEST).write_bytes(b"\xff\xfe{")
    with pytest.raises(Failed, match="it is no text"):
        manifest.read(shop.root)
    (shop.root / MANIFEST).unlink()
    (shop.root / MANIFEST).mkdir()
    with pytest.raises(Failed, match="cannot be read: Is a directory"):
        manifest.read(shop.root)


def test_the_manifest_is_the_same_for_the_same_files(shop: Folder) -> None:
    text = (shop.root / MANIFEST).read_text()
    upgraded(shop, plan())
    assert (shop.root / MANIFEST).read_text() == text
    assert list(json.loads(text)) == ["version", "kind", "files"]
