"""`actonce audit verify`, in a folder and in a bucket: what was judged, and what is there now."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from actonce.stack.clients import Stack
from actonce.terminal import output as console
from pipeline.audit.reading import places
from pipeline.audit.results.digests import Chain, chain_of, following
from tests.cli.conftest import Actonce, Ended

FILES = {
    f"{stream}/dt={day}/a.jsonl": f"{stream} of {day}".encode()
    for stream in ("deliveries", "effects")
    for day in ("2026-01-30", "2026-01-31")
}
CHANGED = "deliveries/dt=2026-01-31/a.jsonl"
REMOVED = "effects/dt=2026-01-31/a.jsonl"
ADDED = "effects/dt=2026-01-31/late.jsonl"


@dataclass
class Audited:
    """Records and an audit's results, wherever they are."""

    where: str
    results: str
    put: Callable[[str, bytes], object]
    remove: Callable[[str], object]
    run: Callable[..., Ended]
    read: Callable[[str], str]

    def digest(self, number: int) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.read(f"audit/digests/{number:06}.json"))
        return told


@pytest.fixture(params=["folder", "bucket"])
def audited(
    request: pytest.FixtureRequest, actonce: Actonce, tmp_path: Path, moto_stack: Stack
) -> Audited:
    """Two digests: of the first day, and of the second."""
    if request.param == "bucket":
        s3 = moto_stack.aws.client("s3")
        s3.create_bucket(Bucket="bucket")
        where = "s3://bucket/of/"
        told = Audited(
            where,
            f"{where}audit/",
            lambda path, content: s3.put_object(Bucket="bucket", Key=f"of/{path}", Body=content),
            lambda path: s3.delete_object(Bucket="bucket", Key=f"of/{path}"),
            lambda *said: actonce("audit", "verify", *said, stack=moto_stack),
            lambda path: s3.get_object(Bucket="bucket", Key=f"of/{path}")["Body"].read().decode(),
        )
    else:
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "real")
        where = str(tmp_path / "link")

        def put(path: str, content: bytes) -> None:
            file = Path(where, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)

        told = Audited(
            where,
            f"{where}/audit",
            put,
            lambda path: Path(where, path).unlink(),
            lambda *said: actonce("audit", "verify", *said),
            lambda path: Path(where, path).read_text(),
        )
    chain, texts = Chain(), {}
    for day in ("2026-01-30", "2026-01-31"):
        files = [
            {"path": path, "size": 1, "sha256": hashlib.sha256(content).hexdigest()}
            for path, content in FILES.items()
            if day in path
        ]
        days = {date.fromisoformat(day): {"files": files, "verdicts": {}}}
        name, text, head = following(chain, "then", where, days)
        texts[name.removeprefix("digests/")] = text
        chain = chain_of(texts)
        told.put(f"audit/{name}", text.encode())
    for path, content in FILES.items():
        told.put(path, content)
    told.put("audit/summary.json", json.dumps({"digest": head}).encode())
    return told


def test_all_is_as_it_was_judged_whatever_came_since(audited: Audited) -> None:
    audited.put(ADDED, b"late")
    audited.put("effects/dt=2026-02-01/a.jsonl", b"of another day")
    ended = audited.run(audited.results, "--json")
    said = json.loads(ended.out)
    assert (ended.status, said["as_judged"], said["days"], said["files"]) == (0, True, 2, 4)
    assert (said["added"], said["changed"], said["removed"]) == ([ADDED], [], [])
    assert said["digest"]["number"] == 2
    assert f"added: {ADDED}" in audited.run(audited.results).out


def test_what_was_changed_or_removed_is_named_and_can_be_accepted(audited: Audited) -> None:
    audited.put(CHANGED, FILES[CHANGED].swapcase())
    audited.remove(REMOVED)
    audited.put(ADDED, b"late")
    ended = audited.run(audited.results, "--json")
    said = json.loads(ended.out)
    assert (ended.status, said["as_judged"], said["files"]) == (1, False, 2)
    assert (said["changed"], said["removed"]) == ([CHANGED], [REMOVED])
    assert audited.run(audited.results, "--accept").status == 2  # nobody can be asked
    assert audited.run(audited.results).status == 1

    assert audited.run(audited.results, "--accept", "--yes").status == 0
    third = audited.digest(3)
    told = {one["path"] for one in third["days"]["2026-01-31"]["files"]}
    assert (third["days"].keys(), told) == ({"2026-01-31"}, {CHANGED, ADDED})
    assert third["days"]["2026-01-31"]["verdicts"] is None
    assert audited.run(audited.results).status == 0
    audited.remove(ADDED)
    assert audited.run(audited.results).status == 1


@pytest.mark.parametrize(
    "spoil",
    [
        lambda one: one.put("audit/digests/000001.json", b"{}"),
        lambda one: one.put(
            "audit/digests/000001.json",
            one.read("audit/digests/000001.json").replace("then", "now").encode(),
        ),
        lambda one: one.put(
            "audit/digests/000002.json",
            one.read("audit/digests/000002.json").replace("then", "now").encode(),
        ),
        lambda one: one.remove("audit/digests/000002.json"),
    ],
    ids=["no digest", "the first", "the last", "no last"],
)
def test_a_broken_chain_vouches_for_nothing(
    audited: Audited, spoil: Callable[[Audited], None]
) -> None:
    spoil(audited)
    ended = audited.run(audited.results, "--json", "--accept", "--yes")
    said = json.loads(ended.out)
    assert (ended.status, said["as_judged"], said["files"]) == (1, False, 0)
    assert "digests/" in said["broken"]


def test_what_was_shown_is_accepted_and_not_what_came_in_between(
    audited: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    audited.put(CHANGED, b"as it was shown")
    agree = console.agree
    monkeypatch.setattr(console, "agree", lambda *_: audited.put(CHANGED, b"in between"))
    assert audited.run(audited.results, "--accept").status == 0
    monkeypatch.setattr(console, "agree", agree)
    (told,) = (
        one["sha256"]
        for one in audited.digest(3)["days"]["2026-01-31"]["files"]
        if one["path"] == CHANGED
    )
    assert told == hashlib.sha256(b"as it was shown").hexdigest()
    assert audited.run(audited.results).status == 1


@pytest.mark.parametrize("audited", ["folder"], indirect=True)
def test_nothing_is_accepted_while_an_audit_is_at_work(audited: Audited) -> None:
    audited.put(CHANGED, b"another")
    with places.alone_in(audited.results):
        ended = audited.run(audited.results, "--accept", "--yes")
    assert ended.status == 1
    assert "Another audit writes" in ended.err
    assert audited.run(audited.results, "--accept", "--yes").status == 0


def test_without_a_summary_that_can_be_read_a_chain_may_lack_its_end(audited: Audited) -> None:
    audited.put("audit/summary.json", b"{")
    audited.remove("audit/digests/000002.json")
    assert audited.run(audited.results).status == 1


def test_who_holds_a_digest_of_then_can_tell_another_chain(audited: Audited) -> None:
    first = hashlib.sha256(audited.read("audit/digests/000001.json").encode()).hexdigest()
    assert audited.run(audited.results, "--head", f" {first.upper()} ").status == 0
    # Everything forged, and fitting.
    name, text, _ = following(Chain(), "then", "/r", {})
    audited.put(f"audit/{name}", text.encode())
    audited.remove("audit/digests/000002.json")
    audited.remove("audit/summary.json")
    assert audited.run(audited.results, "--records", audited.where).status == 0
    assert audited.run(audited.results, "--records", audited.where, "--head", first).status == 1


def test_what_is_nowhere_is_wrong_use(audited: Audited, tmp_path: Path) -> None:
    assert audited.run(f"{audited.results}/cache").status == 2
    ended = audited.run(audited.results, "--records", str(tmp_path / "nowhere"))
    assert (ended.status, "--records" in ended.err) == (2, True)


def test_it_needs_no_spark() -> None:
    start = "import sys; sys.modules['pyspark'] = None; import actonce.cli.audit_verify"
    subprocess.run([sys.executable, "-c", start], check=True)
