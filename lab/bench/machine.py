"""What a benchmark on the embedded AWS ran on, as each of them prints it."""

import os
import platform
from importlib.metadata import version
from typing import Any


def machine() -> dict[str, Any]:
    """Cores, load of the last minute, platform, and the versions that a figure depends on."""
    return {
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "ministack": version("ministack"),
        "boto3": version("boto3"),
    }
