"""Other programs, run to their end without a terminal."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from actonce.stack.embedded_folder import PROJECT


def without_aws(**more: str) -> dict[str, str]:
    """This process's environment, but for what is of AWS."""
    return {k: v for k, v in os.environ.items() if not k.startswith("AWS_")} | more


def run(
    command: Sequence[str],
    folder: Path = PROJECT,
    environment: Mapping[str, str] | None = None,
    *,
    input_text: str = "",
) -> subprocess.CompletedProcess[str]:
    """Run a command, however it ends; `environment`: None for this process's."""
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        input=input_text,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


def succeeds(
    command: Sequence[str], folder: Path = PROJECT, environment: Mapping[str, str] | None = None
) -> str:
    """Run a command to a good end; what it printed."""
    answer = run(command, folder, environment)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout
