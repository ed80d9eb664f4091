"""`actonce effect check` as a person runs it, on code in processes of its own."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from actonce.cli import app as cli
from actonce.terminal import output

EFFECT = '''
import hashlib, json, os, sys, time, uuid
from pathlib import Path

from actonce_core.effect import Rejected, answer

class Cards:
    """Of the contract's two methods; ActOnce's own `answer` makes the rest."""

    def _file(self, message_id):
        name = hashlib.sha256(message_id.encode()).hexdigest()
        return Path(os.environ["ORDERS"]) / name

    def perform(self, request):
        if "amount" not in json.loads(request["body"]):
            raise Rejected("amount")
        done, file = {"order": str(uuid.uuid4())}, self._file(request["message_id"])
        part = file.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(done))
        part.replace(file)
        return done

    def find(self, message_id):
        file = self._file(message_id)
        return json.loads(file.read_text()) if file.exists() else None

def handler(event, context):
    assert context.get_remaining_time_in_millis() > 0
    if event["operation"] == "perform":
        BEFORE
    return answer(Cards(), event)
'''


def check(folder: Path, *arguments: str, before: str = "pass") -> dict[str, str]:
    """Run it on the effect; the status of each check."""
    (folder / "orders").mkdir()
    (folder / "cards.py").write_text(EFFECT.replace("BEFORE", before))
    answer = subprocess.run(
        [
            *(sys.executable, "-m", "actonce.cli.app", "effect", "check", *arguments),
            *("--body", '{"amount": 20}', "--env", f"ORDERS={folder / 'orders'}"),
            *("--margin", "0.05", "--json", "--yes"),
        ],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert answer.stdout.count("\n") == 1, answer.stderr
    told: dict[str, Any] = json.loads(answer.stdout)
    found = {one["check"]: one["status"] for one in told["checks"]}
    failed = list(found.values()).count("failed")
    assert (told["failed"], answer.returncode) == (failed, 1 if failed else 0)
    return found


def test_an_effect_that_is_right_keeps_all_killed_or_not(tmp_path: Path) -> None:
    found = check(tmp_path, "cards.py:Cards", "--rejected", "{}")
    assert found.pop("performed-again") == "told"
    assert found.pop("not-performed") == "not tried"
    assert set(found.values()) == {"passed"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("before", "failing"),
    [
        # It prints, a megabyte at a time, and reads what is asked of it: neither is in the way.
        ("print('x' * 10**6); print('{}', file=sys.stderr); sys.stdin.read()", set()),
        ("os.write(1, b'{\"loaded\": true}\\n' * 1000)", set()),
        ("import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)", set()),
        ("time.sleep(60)", {"performs"}),
        ("os._exit(0)", {"performs"}),
        ("raise SystemExit(0)", {"performs"}),
    ],
)
def test_an_effect_that_is_a_bad_neighbour(tmp_path: Path, before: str, failing: set[str]) -> None:
    found = check(tmp_path, "cards.py", "--timeout", "5", before=before)
    assert {name for name, status in found.items() if status == "failed"} == failing


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("none.py", "names no effect"),
        ("broken.py", "SystemExit"),
        ("one.py:other", "one.py has no other"),
        ("one.py --env X", "write NAME=VALUE"),
        ("one.py --body {", "is no JSON"),
        ("one.py --body @none", "cannot be read"),
        ("one.py --find arn:x", "goes with the ARN"),
        ("", "The embedded AWS is not up"),
        (None, "say --yes"),
    ],
)
def test_wrong_use_is_a_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    arguments: str | None,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ACTONCE_DIR", str(tmp_path / "home"))
    (tmp_path / "one.py").write_text("def handler(event, context): ...")
    (tmp_path / "broken.py").write_text("raise SystemExit\n")
    body = [] if "--body" in (arguments or "") else ["--body", "{}"]
    yes = [] if arguments is None else [*arguments.split(), "--yes"]
    monkeypatch.setattr(output, "ask", lambda _: None)  # nobody sits there
    monkeypatch.setattr(sys, "argv", ["actonce", "effect", "check", *body, *yes])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    err = capfd.readouterr().err
    assert ended.value.code == 2, err
    assert said in " ".join(err.split())
    assert "Traceback" not in err
