"""Runs `actonce demo` as a person runs it, in a folder of its own."""

import json
import os
import subprocess
import sys
from typing import Any

from actonce.stack.embedded_folder import Paths

BAD_LINES = (
    '{"message_id": "good", "practice": "main"}',
    '{"practice": "main", "message_id": "good"}',
    '{"message_id": "good", "practice": "harbour"}',
    '{"message_id": "cut off',
    '{"message_id": NaN}',
    '{"no": "id"}',
    '{"message_id": true}',
    json.dumps({"message_id": "vast", "text": "ü" * 140_000}, ensure_ascii=False),
)
"""One message, its duplicate and its conflict; two that are no JSON, two without an id, one too
large."""

ACTONCE = [sys.executable, "-m", "actonce.cli.app"]


def start(paths: Paths, *arguments: str) -> subprocess.Popen[str]:
    """Start it, without the audit unless the arguments ask for it."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    return subprocess.Popen(
        [*ACTONCE, "demo", *(arguments if "--audit" in arguments else ("--no-audit", *arguments))],
        env=environment | {"ACTONCE_DIR": str(paths.home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def demo(paths: Paths, *arguments: str) -> dict[str, Any]:
    """Run it, and return what `--json` printed."""
    out, err = (process := start(paths, *arguments, "--json")).communicate(timeout=400)
    assert process.returncode == 0, err
    assert out.count("\n") == 1, "exactly one object on standard output"
    answer: dict[str, Any] = json.loads(out)
    return answer
