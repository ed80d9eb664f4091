"""The machine that a benchmark ran on; every benchmark prints it with its figures."""

import os
import platform
from importlib.metadata import version
from typing import Any


def machine(*packages: str) -> dict[str, Any]:
    """Cores, load of the last minute, platform, and the packages' versions."""
    return {
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "platform": platform.platform(),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }
