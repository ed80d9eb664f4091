"""Lambda's Python runtime, as a custom runtime of MiniStack; `server` sends functions to it.

AWS's own runtime client (awslambdaric) runs the handlers, so errors, time-outs and crashes have the
names that they have on AWS. Functions can import the standard library, boto3, their own package and
their layers, but nothing else of this environment. ActOnce's can also import Powertools, which a
nested stack's have from a layer.
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
OF_THE_LAYER = ("aws-lambda-powertools",)
LAYER = "layer"
POWERTOOLS = ":layer:AWSLambdaPowertoolsPython"
BOOTSTRAP = "bootstrap"

_BOOTSTRAP = """\
#!/bin/sh
# Stands in for the Python runtime of Lambda. -S keeps this interpreter's own packages out.
export PYTHONPATH="$LAMBDA_TASK_ROOT$_LAYERS:{packages}"
if [ -d "$LAMBDA_TASK_ROOT/actonce_core" ]; then PYTHONPATH="$PYTHONPATH:{layer}"; fi
export PYTHONPYCACHEPREFIX="{bytecode}"
export FAULTS_DIR="{faults}"
exec "{python}" -I -S "{processes}" enter "{packages}" "$_HANDLER"
"""


def provide(paths: Paths) -> None:
    """Fill `Paths.runtime` with what AWS's runtime brings, and the `bootstrap` that starts it."""
    folder = paths.runtime
    shutil.rmtree(folder, ignore_errors=True)
    layer = folder / LAYER
    _link(PROVIDED_BY_AWS, folder)
    _link(OF_THE_LAYER, layer)
    start = folder / BOOTSTRAP
    start.write_text(
        _BOOTSTRAP.format(
            packages=folder,
            layer=layer,
            bytecode=paths.bytecode,
            faults=paths.faults,
            python=sys.executable,
            processes=function_processes.__file__,
        )
    )
    start.chmod(0o755)


def _link(names: tuple[str, ...], folder: Path) -> None:
    """Put distributions of this environment into a folder, with what they require."""
    folder.mkdir(parents=True)
    for dist in _with_requirements(names):
        for top in {file.parts[0] for file in dist.files or [] if file.parts[0] != ".."}:
            source = Path(str(dist.locate_file(top)))
            if source.exists() and top != "__pycache__":
                (folder / top).symlink_to(source)


def start_host(packages: Path, bytecode: Path) -> subprocess.Popen[bytes]:
    """Start the process that forks the functions'; it ends when its standard input closes."""
    return subprocess.Popen(
        [sys.executable, "-P", "-S", "-u", function_processes.__file__, "host", str(packages)],
        env=os.environ | {"PYTHONPATH": str(packages), "PYTHONPYCACHEPREFIX": str(bytecode)},
        stdin=subprocess.PIPE,
    )


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
