"""Lambda's Python runtime, for MiniStack's custom-runtime path.

AWS's own runtime client (awslambdaric) runs the handlers, so the names of errors, time-outs and
crashes come out as on AWS. The functions see the standard library, boto3 and what their own
package brings; not the packages of the environment that runs this code.
"""

import os
import shutil
import subprocess
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from actonce.embedded import function_processes
from actonce.stack.embedded_folder import Paths

PROVIDED_BY_AWS = ("awslambdaric", "boto3")

_BOOTSTRAP = """\
#!/bin/sh
# Stands in for the Python runtime of Lambda. -S keeps this interpreter's own packages out.
export PYTHONPATH="$LAMBDA_TASK_ROOT:{packages}${{EXTRA_PYTHONPATH:+:$EXTRA_PYTHONPATH}}"
export PYTHONPYCACHEPREFIX="{bytecode}"
export FAULTS_DIR="{faults}"
exec "{python}" -I -S "{processes}" enter "{packages}" "$_HANDLER"
"""


def provide_packages(folder: Path) -> None:
    """Link the packages that AWS's runtime brings into a folder of their own."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for dist in _with_requirements(PROVIDED_BY_AWS):
        for top in {file.parts[0] for file in dist.files or [] if file.parts[0] != ".."}:
            source = Path(str(dist.locate_file(top)))
            if source.exists() and top != "__pycache__":
                (folder / top).symlink_to(source)


def bootstrap(paths: Paths) -> str:
    """The text of the `bootstrap` that makes a function's package a custom runtime."""
    return _BOOTSTRAP.format(
        packages=paths.runtime,
        bytecode=paths.bytecode,
        faults=paths.faults,
        python=sys.executable,
        processes=function_processes.__file__,
    )


def start_host(packages: Path, bytecode: Path) -> subprocess.Popen[bytes]:
    """Start the process whose forks are the functions'; it ends when its standard input closes."""
    return subprocess.Popen(
        [sys.executable, "-P", "-S", "-u", function_processes.__file__, "host", str(packages)],
        env=os.environ | {"PYTHONPATH": str(packages), "PYTHONPYCACHEPREFIX": str(bytecode)},
        stdin=subprocess.PIPE,
    )


def provide_package(source: Path, target: Path, bootstrap: str) -> None:
    """Copy a function's package and make it a custom runtime by its `bootstrap`."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    start = target / "bootstrap"
    start.write_text(bootstrap)
    start.chmod(0o755)


def _with_requirements(names: tuple[str, ...]) -> list[Distribution]:
    found: dict[str, Distribution] = {}
    wanted = list(names)
    while wanted:
        name = canonicalize_name(wanted.pop())
        if name in found:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:  # a requirement of another platform
            continue
        for text in found[name].requires or []:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                wanted.append(requirement.name)
    return list(found.values())
