import errno
import fcntl
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.backfill.errors import BackfillFailed, WrongRequest
from pipeline.backfill.work import (
    Confirmations,
    confirmed_in,
    read_state,
    the_only_run,
    write_whole,
)

MONDAY, TUESDAY = datetime(2026, 11, 23, tzinfo=UTC), datetime(2026, 11, 24, tzinfo=UTC)


def lines(*positions: int, part: int = 0) -> list[dict[str, object]]:
    return [{"part": part, "position": position, "message_id": "é"} for position in positions]


def test_confirmations_are_on_the_disk_and_read_back_over_days(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    confirmations = Confirmations(tmp_path, 3, 6)
    confirmations.append(MONDAY, lines(0, part=3))
    assert len(synced) == 4  # the file, and for a new one the folders above it
    confirmations.append(MONDAY, lines(1, part=3))
    assert len(synced) == 5
    confirmations.append(TUESDAY, lines(4, part=3))
    assert Confirmations(tmp_path, 3, 6).confirmed == bytes([1, 1, 0, 0, 1, 0])
    assert Confirmations(tmp_path, 2, 2).confirmed == bytes(2)
    assert confirmed_in(tmp_path) == 3


@given(cut=st.integers(0), at=st.sampled_from(["all at once", "line by line"]))
def test_whatever_was_cut_off_is_not_confirmed_and_can_be_confirmed_again(
    tmp_path_factory: pytest.TempPathFactory, cut: int, at: str
) -> None:
    work = tmp_path_factory.mktemp("work")
    confirmations = Confirmations(work, 0, 4)
    for positions in [(0, 1, 2, 3)] if at == "all at once" else [(0,), (1,), (2,), (3,)]:
        confirmations.append(MONDAY, lines(*positions))
    (path,) = (work / "sent").glob("dt=*/*.jsonl")
    whole = path.read_bytes()
    torn = whole[: cut % (len(whole) + 1)]
    path.write_bytes(torn)
    assert confirmed_in(work) == torn.count(b"\n")

    again = Confirmations(work, 0, 4)
    kept = torn.count(b"\n")
    assert again.confirmed == bytes([1] * kept + [0] * (4 - kept))
    again.append(MONDAY, lines(*range(kept, 4)))
    assert path.read_bytes() == whole
    assert confirmed_in(work) == 4


def test_a_folder_is_held_by_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with the_only_run(tmp_path), pytest.raises(WrongRequest, match="Another backfill works in"):
        the_only_run(tmp_path).__enter__()
    with the_only_run(tmp_path):
        pass
    (tmp_path / "file").touch()
    with pytest.raises(WrongRequest, match="cannot be worked in"):
        the_only_run(tmp_path / "file").__enter__()

    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(WrongRequest, match="cannot be locked: No locks available"):
        the_only_run(tmp_path).__enter__()


def test_state_is_there_whole_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    assert read_state(path) is None
    write_whole(path, '{"a": 1}')
    assert read_state(path) == {"a": 1}
    assert [file.name for file in tmp_path.iterdir()] == ["plan.json"]
    for torn in ('{"a"', "[]"):
        path.write_text(torn)
        with pytest.raises(BackfillFailed, match="name another --work"):
            read_state(path)
