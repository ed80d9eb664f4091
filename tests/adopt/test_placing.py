"""Files in a folder of a team's own: put there, upgraded, never written over in silence."""

from pathlib import Path, PurePosixPath

import pytest

from actonce.adopt.project import placing
from actonce.adopt.project.placing import place, upgrade
from actonce.stack.stack_files import MANIFEST
from actonce.terminal.errors import Failed

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


# --------------------------------------------------------------------------- upgrading


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
