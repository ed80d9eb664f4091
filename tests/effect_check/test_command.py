"""`actonce effect check` as a person runs it, on code in processes of its own."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from actonce.cli import app as cli

RIGHT = """
import json, os, time, uuid
from pathlib import Path

ORDERS = Path(os.environ["ORDERS"])

def file_of(message_id):
    import hashlib
    return ORDERS / hashlib.sha256(message_id.encode()).hexdigest()

class Rejected(Exception):
    pass

def handler(event, context):
    assert context.get_remaining_time_in_millis() > 0
    message = event["message"]
    file = file_of(message["message_id"])
    if event["operation"] == "find":
        if not file.exists():
            return {"performed": False}
        return {"performed": True, "effect": json.loads(file.read_text())}
    body = json.loads(message["body"])
    if not isinstance(body.get("amount"), int):
        raise Rejected("amount")
    done = {"order": str(uuid.uuid4())}
    part = file.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps(done))
    PLACE
    part.replace(file)
    AFTER
    return {"performed": True, "effect": done}
"""

BY_CLASS = '''
import os
from pathlib import Path

from actonce_core.effect import Rejected

class Cards:
    """Of the contract's two methods; ActOnce's own `answer` makes the rest."""

    def perform(self, request):
        if "amount" not in request["body"]:
            raise Rejected("amount")
        name = request["message_id"].encode().hex()[:180]
        (Path(os.environ["ORDERS"]) / name).write_text("card")
        return {"card": name[-8:]}

    def find(self, message_id):
        name = message_id.encode().hex()[:180]
        return {"card": name[-8:]} if (Path(os.environ["ORDERS"]) / name).exists() else None
'''


def check(folder: Path, *arguments: str, status: int | None = None) -> dict[str, dict[str, str]]:
    """Run it on what a test has written; the checks by name."""
    (folder / "orders").mkdir(exist_ok=True)
    answer = subprocess.run(
        [
            *(sys.executable, "-m", "actonce.cli.app", "effect", "check", *arguments),
            *("--body", '{"amount": 20}', "--env", f"ORDERS={folder / 'orders'}"),
            *("--settle", "0.05", "--margin", "0.05", "--json", "--yes"),
        ],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert answer.returncode in ({0, 1} if status is None else {status}), answer.stderr
    assert answer.stdout.count("\n") == 1, "exactly one object on standard output"
    told: dict[str, Any] = json.loads(answer.stdout)
    found = {one["check"]: one for one in told["checks"]}
    failed = [name for name, one in found.items() if one["status"] == "failed"]
    assert told["failed"] == len(failed)
    assert (answer.returncode == 1) is bool(failed)
    return found


def written(folder: Path, place: str = "pass", after: str = "pass") -> str:
    (folder / "cards.py").write_text(RIGHT.replace("PLACE", place).replace("AFTER", after))
    return "cards.py"


def test_a_handler_that_is_right_keeps_all_killed_or_not(tmp_path: Path) -> None:
    found = check(tmp_path, written(tmp_path), "--rejected", "{}", status=0)
    passed = {name for name, one in found.items() if one["status"] == "passed"}
    assert passed == set(found) - {"not-performed", "performed-again"}
    assert "second effect" in found["performed-again"]["story"]


def test_wrong_use_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ACTONCE_DIR", str(tmp_path / "home"))
    (tmp_path / "one.py").write_text("def handler(event, context): ...")
    (tmp_path / "broken.py").write_text("import there_is_none\n")
    (tmp_path / "ends.py").write_text("raise SystemExit\n")
    for arguments, said in {
        ("none.py",): "names no effect",
        ("cards",): "names no effect",
        ("broken.py",): "cannot be loaded",
        ("ends.py",): "SystemExit",
        ("one.py:other",): "one.py has no other",
        ("one.py", "--env", "X"): "write NAME=VALUE",
        ("one.py", "--body", "{"): "is no JSON",
        ("one.py", "--body", "@none"): "cannot be read",
        ("one.py", "--find", "arn:x"): "goes with the ARN",
        (): "The embedded AWS is not up",
        ("one.py", "without a body"): "unexpected",
    }.items():
        monkeypatch.setattr(
            sys,
            "argv",
            [
                "actonce",
                "effect",
                "check",
                *arguments,
                *([] if "--body" in arguments else ["--body", "{}"]),
                "--yes",
            ],
        )
        with pytest.raises(SystemExit) as ended:
            cli.main()
        err = capfd.readouterr().err
        assert ended.value.code == 2, err
        assert said in " ".join(err.split())
        assert "Traceback" not in err


def test_what_acts_is_not_begun_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["actonce", "effect", "check", written(tmp_path)])
    monkeypatch.setattr("actonce.terminal.output.can_ask", lambda: False)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert "say --yes" in capfd.readouterr().err


@pytest.mark.long
def test_a_class_is_asked_by_way_of_the_contract_s_own_answer(tmp_path: Path) -> None:
    """Ids are cut off in its file names, and the check sees that."""
    (tmp_path / "of_class.py").write_text(BY_CLASS)
    found = check(tmp_path, "of_class.py:Cards", "--rejected", "{}")
    assert {name for name, one in found.items() if one["status"] == "failed"} <= {
        "long-ids", "finds-this-one-only", "odd-ids",
    }  # fmt: skip
    assert found["rejected"]["status"] == found["killed-in"]["status"] == "passed"


@pytest.mark.long
@pytest.mark.parametrize(
    ("place", "after", "failing"),
    [
        # It prints, a megabyte at a time, and reads what is asked of it: neither is in the way.
        ("import sys; print('x' * 10**6); print('{}', file=sys.stderr); sys.stdin.read()", "", ""),
        ("os.write(1, b'{\"loaded\": true}\\n' * 1000)", "", ""),
        ("", "os.fork() or time.sleep(60)", "leaves-nothing-running"),
        ("time.sleep(60)", "", "performs"),
        ("os._exit(0)", "", "performs"),
        ("raise SystemExit(0)", "", "performs"),
        ("done['pdf'] = 'x' * 10**7; part.write_text(json.dumps(done))", "", "performs"),
        ("", "import threading; threading.Thread(target=time.sleep, args=(60,)).start()", ""),
        ("", "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)", ""),
    ],
    ids=["prints", "prints answers", "forks", "sleeps", "exits", "SystemExit", "10 MB", "thread",
         "deaf"],
)  # fmt: skip
def test_an_effect_that_is_a_bad_neighbour(
    tmp_path: Path, place: str, after: str, failing: str
) -> None:
    target = written(tmp_path, place or "pass", after or "pass")
    found = check(tmp_path, target, "--timeout", "5")
    failed = {name for name, one in found.items() if one["status"] == "failed"}
    assert failed == ({failing} if failing else set()), found
