"""The lines that `actonce init` prints and README.md shows, pasted into a project and built."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import yaml

from actonce.adopt.project.folder import Folder
from actonce.adopt.project.placing import place
from actonce.adopt.project.plan import Kind, plan
from actonce.cli.init import NESTED
from actonce.stack.embedded_folder import PROJECT

PYTHON = f"python3.{sys.version_info.minor}"
README = (PROJECT / "README.md").read_text()

OF_THE_TEAM = """\
Transform: AWS::Serverless-2016-10-31
Resources:
  GiftCards:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: shop/
      Handler: {handler}
      Runtime: {runtime}
      Timeout: 10
      AutoPublishAlias: live
"""

HANDLERS = {
    PYTHON: ("gift_cards.py", "def handler(event, context):\n    pass\n"),
    "nodejs22.x": ("gift_cards.js", "exports.handler = async () => {};\n"),
}


def in_readme() -> str:
    """README.md's lines, with this machine's Python in them."""
    (shown,) = re.findall(r"^```yaml\n(  Once:.*?)^```", README, re.M | re.S)
    return re.sub(r"python3\.13\b.*", PYTHON, shown)


def test_readme_shows_the_lines_that_init_prints() -> None:
    shown, printed = (yaml.safe_load(text.replace("!Ref ", "")) for text in (in_readme(), NESTED))
    assert shown == printed
    assert printed["Once"]["Properties"]["Parameters"]["PythonRuntime"] == PYTHON


@pytest.mark.long
@pytest.mark.parametrize("runtime", HANDLERS)
def test_what_is_pasted_is_built(tmp_path: Path, runtime: str) -> None:
    if runtime.startswith("node") and shutil.which("npm") is None:
        pytest.skip("sam build needs npm for a function in Node")
    file, code = HANDLERS[runtime]
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / file).write_text(code)
    template = OF_THE_TEAM.format(handler="gift_cards.handler", runtime=runtime)
    pasted = textwrap.indent(textwrap.dedent(NESTED), "  ")
    (tmp_path / "template.yaml").write_text(template + pasted)
    place(Folder(tmp_path), plan(Kind.STACK, "shop"))

    built = subprocess.run(
        [sys.executable, "-m", "samcli", "build"],
        cwd=tmp_path,
        env=os.environ
        | {"SAM_CLI_TELEMETRY": "0", "AWS_DEFAULT_REGION": "us-east-1"}
        # As in the environment that actonce is installed in.
        | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert built.returncode == 0, built.stderr
    assert (tmp_path / ".aws-sam" / "build" / "GiftCards" / file).is_file()
    assert (tmp_path / ".aws-sam" / "build" / "Once" / "StarterFunction" / "starter.py").is_file()
