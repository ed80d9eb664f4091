"""What has to be on the disk before the next step is taken."""

import os
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """A new file is there after a power cut only if its folder says so."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
