"""Files in a folder of a team's own: put there, upgraded, never written over in silence."""

import json
from pathlib import Path, PurePosixPath

import pytest

from actonce.adopt.project import placing
from actonce.adopt.project.placing import place, upgrade
from actonce.stack.sources import MANIFEST
from actonce.terminal.errors import Failed, WrongUse

TEMPLATE, STARTER = "actonce/template.yaml", "actonce/functions/starter.py"
FILES = {TEMPLATE: "one\n", STARTER: "pass\n"}
SEEDS = {"functions/your_effect.py": "yours\n"}


def made(files: dict[str, str]) -> dict[PurePosixPath, bytes]:
    return {PurePosixPath(path): text.encode() for path, text in files.items()}


def tree(root: Path) -> dict[str, str]:
    """Every file but the manifest."""
    files = (one.relative_to(root) for one in sorted(root.rglob("*")) if one.is_file())
    return {str(one): (root / one).read_text() for one in files if one != MANIFEST}


def upgraded(root: Path, files: dict[str, str], version: str = "1.1.0") -> dict[str, str]:
    return {str(path): what for path, what in upgrade(root, version, made(files)).items()}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A project with version 1.0.0 in it."""
    root = tmp_path / "a shop"
    place(root, "1.0.0", made(FILES), made(SEEDS))
    return root


# --------------------------------------------------------------------------- placing


def test_everything_is_put_there_once(shop: Path) -> None:
    assert tree(shop) == FILES | SEEDS
    assert json.loads((shop / MANIFEST).read_text())["files"].keys() == FILES.keys()
    with pytest.raises(Failed, match=r"already, which is this version\.$"):
        place(shop, "1.0.0", made(FILES), {})
    with pytest.raises(Failed, match=r"already; --upgrade brings it to 2\.0\.0"):
        place(shop, "2.0.0", made(FILES), {})


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "setup.py").touch()
    with pytest.raises(Failed, match=r"holds something already \(setup\.py\)"):
        place(tmp_path, "1.0.0", made(FILES), made(SEEDS))
    assert tree(tmp_path) == {"setup.py": ""}
    place(tmp_path, "1.0.0", made(FILES), seeds={})
    assert tree(tmp_path) == FILES | {"setup.py": ""}
    (tmp_path / MANIFEST).unlink()
    with pytest.raises(Failed, match="is there already"):
        place(tmp_path, "1.0.0", made(FILES), seeds={})


def test_nothing_is_written_through_a_link_or_above_the_folder(shop: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("one\n")
    (shop / TEMPLATE).unlink()
    (shop / TEMPLATE).symlink_to(other)
    with pytest.raises(Failed, match="symbolic link"):
        upgraded(shop, FILES | {TEMPLATE: "two\n"})
    for path in ("../other.yaml", str(other)):
        told = {"version": "1.0.0", "files": {path: placing.digest(b"one\n")}}
        (shop / MANIFEST).write_text(json.dumps(told))
        with pytest.raises(Failed, match="leads elsewhere"):
            upgraded(shop, {})
    assert other.read_text() == "one\n"


# --------------------------------------------------------------------------- upgrading


def test_what_nobody_changed_is_replaced_added_and_removed(shop: Path) -> None:
    (shop / "functions/your_effect.py").write_text("my own\n")  # a seed is never looked at again
    (shop / TEMPLATE).write_bytes(b"one\r\n")  # line ends that git has rewritten are no change
    newer = {TEMPLATE: "one\ntwo\n", "actonce/functions/sub/new.py": "new\n"}
    assert upgraded(shop, newer) == {
        "actonce/functions/sub/new.py": "added",
        TEMPLATE: "replaced",
        STARTER: "removed",
    }
    assert tree(shop) == newer | {"functions/your_effect.py": "my own\n"}
    assert upgraded(shop, newer) == {}
    with pytest.raises(WrongUse, match=r"has ActOnce 1\.1\.0, and this is the older 1\.0\.9"):
        upgraded(shop, FILES, "1.0.9")


@pytest.mark.parametrize(
    ("path", "theirs", "newer"),
    [
        (TEMPLATE, "mine\n", "one\n"),
        (TEMPLATE, "mine\n", "two\n"),
        (TEMPLATE, "mine\n", None),
        (TEMPLATE, None, "one\n"),
        (TEMPLATE, None, "two\n"),
        ("actonce/audit.yaml", "mine\n", "two\n"),
    ],
)
def test_what_the_team_changed_made_or_removed_is_named_and_nothing_is_written(
    shop: Path, path: str, theirs: str | None, newer: str | None
) -> None:
    if theirs is None:
        (shop / path).unlink()
    else:
        (shop / path).write_text(theirs)
    before = tree(shop)
    files = {**FILES, path: newer, "actonce/new.py": "new\n"}
    with pytest.raises(Failed, match=rf"changed since actonce init: {path}\."):
        upgraded(shop, {name: text for name, text in files.items() if text is not None})
    assert tree(shop) == before


@pytest.mark.parametrize("writes", range(3))
def test_an_upgrade_that_ended_half_way_goes_on(
    shop: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    newer = {TEMPLATE: "two\n", "actonce/new.py": "\n"}
    write, left = placing._write, [writes]

    def interrupted(root: Path, path: PurePosixPath, content: bytes) -> None:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        write(root, path, content)

    with monkeypatch.context() as patch:
        patch.setattr(placing, "_write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            upgraded(shop, newer)
    upgraded(shop, newer)
    assert tree(shop) == newer | SEEDS
    there = placing.manifest_of(shop)
    assert there is not None
    assert there.version == "1.1.0"


def test_an_upgrade_on_a_full_disk_leaves_no_half_file(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer, before = FILES | {TEMPLATE: "two\n"}, tree(shop)
    write = Path.write_bytes

    def full(file: Path, content: bytes) -> int:
        write(file, content[:2])
        raise OSError(28, "No space left on device", str(file))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(Failed, match="No space left"):
            upgraded(shop, newer)
    assert tree(shop) == before
    upgraded(shop, newer)
    assert tree(shop) == newer | SEEDS


def test_what_cannot_be_read_is_one_sentence(shop: Path) -> None:
    (shop / TEMPLATE).unlink()
    (shop / TEMPLATE).mkdir()
    with pytest.raises(Failed, match=r"template\.yaml cannot be read or written: Is a directory"):
        upgraded(shop, FILES)
    for text in (b"", b"<<<<<<< HEAD\n{}", b"[]", b'{"version": "1", "files": []}', b"\xff\xfe{"):
        (shop / MANIFEST).write_bytes(text)
        with pytest.raises(Failed, match=r"actonce\.json is not as actonce init wrote it"):
            upgraded(shop, FILES)
