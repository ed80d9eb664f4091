"""What a benchmark ran on, which every one of them prints with its figures."""

import os
import platform
from importlib.metadata import version
from typing import Any


def machine(*packages: str) -> dict[str, Any]:
    """Cores, load of the last minute, platform, and versions of packages."""
    return {
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "platform": platform.platform(),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }
