"""Takes docs/pictures/console.png and console-first.png: the console, after a demo.

    python docs/picture_console.py      needs Chromium, and an embedded AWS that is not up

The pictures are for people; what they show is tested elsewhere.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from tests.support.browser import Page, chromium  # noqa: E402

PICTURES = PROJECT / "docs" / "pictures"
ACTONCE = [sys.executable, "-m", "actonce.cli.app"]
DEMO = ["demo", "--faults", "many", "--messages", "150", "--seed", "7", "--no-audit"]
CONFLICT = (
    '{"message_id": "request-twice", "practice": "harbour", "day": "2026-02-03"}\n'
    '{"message_id": "request-twice", "practice": "main", "day": "2026-02-03"}\n'
)


def main() -> None:
    """Take them."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"ACTONCE_DIR": folder, "NO_COLOR": "1"}
        try:
            _actonce(DEMO, environment)
            _actonce(["send", "-"], environment, CONFLICT)
            console = subprocess.Popen(
                [*ACTONCE, "console", "--no-browser"],
                env=environment,
                stdout=subprocess.PIPE,
                text=True,
            )
            if console.stdout is None:
                sys.exit("The console says nothing.")
            found = re.search(r"http://127\S+", console.stdout.readline())
            if found is None:
                sys.exit("The console has not said where it is.")
            with chromium() as browser:
                if browser is None:
                    sys.exit("There is no Chromium here.")
                with browser.window(width=1200) as page:
                    _take(page, found[0])
            console.terminate()
        finally:
            _actonce(["down"], environment)


def _take(page: Page, address: str) -> None:
    page.open(address)
    page.wait_for("document.querySelectorAll('#stack dd').length > 5")
    page.wait_for("document.querySelectorAll('#waiting tbody tr').length > 1")
    page.resize(1200, 620)
    (PICTURES / "console-first.png").write_bytes(page.screenshot(whole=False))
    page.click("#waiting a[href*=rounds_used_up]")
    page.wait_for("document.querySelector('#choose tbody a') !== null")
    page.click("#choose tbody a")
    # Its log is read after it is shown.
    page.wait_for("document.querySelector('#now button[data-key=u]') !== null")
    page.resize(1200, 1120)
    (PICTURES / "console.png").write_bytes(page.screenshot(whole=False))


def _actonce(arguments: list[str], environment: dict[str, str], answer: str = "") -> None:
    subprocess.run([*ACTONCE, *arguments], env=environment, input=answer, text=True, check=True)


if __name__ == "__main__":
    main()
