"""Who said once that this terminal may change this stack on AWS, so that it is not asked again.

What is kept is one small file of the user's own. It is a help against mistakes, not a right: what
AWS allows is decided by AWS.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MOST = 100
"""As many consents are kept, the newest."""


@dataclass(frozen=True, slots=True)
class Consents:
    """The consents that were given, in a file; what cannot be read there was not given."""

    file: Path

    @classmethod
    def of_user(cls, variables: Mapping[str, str]) -> "Consents":
        """Where the XDG Base Directory Specification has what a program remembers."""
        named = Path(variables.get("XDG_STATE_HOME", ""))
        root = named if named.is_absolute() else Path("~/.local/state").expanduser()
        return cls(root / "actonce" / "consents.json")

    def has(self, consent: str) -> bool:
        """Whether it was given."""
        return consent in self._read()

    def remember(self, consent: str) -> None:
        """Keep it, readable for the user only; where that cannot be, it is asked again."""
        kept = [*(one for one in self._read() if one != consent), consent][-MOST:]
        try:
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # A file of its own (0600), renamed: two commands at a time leave one of the two.
            number, name = tempfile.mkstemp(dir=self.file.parent)
            with os.fdopen(number, "w", encoding="utf-8") as new:
                json.dump(kept, new)
            Path(name).replace(self.file)
        except OSError:
            return

    def _read(self) -> list[str]:
        try:
            kept = json.loads(self.file.read_text("utf-8"))
        except (OSError, ValueError):
            return []
        return [one for one in kept if isinstance(one, str)] if isinstance(kept, list) else []


def consent(account: str, region: str, stack: str) -> str:
    """What is consented to, in this terminal's session."""
    session = os.getsid(0)
    # Numbers of processes come again, the time at which one started does not.
    started = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(session)], capture_output=True, text=True, check=False
    ).stdout
    return "\t".join([str(session), " ".join(started.split()), account, region, stack])
