"""Where the embedded AWS keeps its things."""

import os
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
"""The clone this code runs from: template.yaml is here."""


@dataclass(frozen=True, slots=True)
class Paths:
    """Everything lies under one folder: `.actonce/` of the clone, or `$ACTONCE_DIR`."""

    home: Path

    @classmethod
    def default(cls) -> "Paths":
        """The folder of this clone, unless the environment names another."""
        return cls(Path(os.environ.get("ACTONCE_DIR") or PROJECT / ".actonce").resolve())

    @property
    def state(self) -> Path:
        """What runs, where, with which parameters (JSON)."""
        return self.home / "embedded.json"

    @property
    def lock(self) -> Path:
        """Held while the embedded AWS is brought up or down."""
        return self.home / "lock"

    @property
    def server_log(self) -> Path:
        """What MiniStack prints."""
        return self.home / "ministack.log"

    @property
    def deploy_log(self) -> Path:
        """What sam build and sam deploy print."""
        return self.home / "sam.log"

    @property
    def build(self) -> Path:
        """The output of sam build, untouched."""
        return self.home / "build"

    @property
    def built_of(self) -> Path:
        """The digest of the sources that were built; sam removes it when it begins to build."""
        return self.build / "sources.sha256"

    @property
    def build_cache(self) -> Path:
        """The cache of sam build."""
        return self.home / "build-cache"

    @property
    def local(self) -> Path:
        """The built stack, rewritten for the embedded AWS."""
        return self.home / "local"

    @property
    def runtime(self) -> Path:
        """What AWS's Python runtime brings to a function: its client and boto3, nothing else."""
        return self.home / "runtime"

    @property
    def temporary(self) -> Path:
        """MiniStack's own temporary files, the functions' unpacked code among them."""
        return self.home / "tmp"

    @property
    def bytecode(self) -> Path:
        """What the functions' processes compile."""
        return self.temporary / "bytecode"

    @property
    def faults(self) -> Path:
        """The demo's fault injection: its wrapper, its plan, what of it was used."""
        return self.home / "faults"

    @property
    def sent(self) -> Path:
        """The `sent` stream that the demo writes."""
        return self.home / "sent"

    @property
    def records(self) -> Path:
        """The streams of the demo's run, and their audit."""
        return self.home / "records"
