"""Every command that README.md shows is run, here or where the list below says."""

import gzip
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from actonce.embedded.lifecycle import State
from actonce.stack.clients import Aws, embedded_variables
from actonce.stack.embedded_folder import PROJECT
from actonce_pipeline.spark.java import find_java
from tests.embedded.homes import home
from tests.embedded.waiting import wait_until
from tests.support import template
from tests.support.commands import run, without_aws

BIN = Path(sys.executable).parent
PYTHON = f"python3.{sys.version_info.minor}"

RUN_ELSEWHERE = {
    "pip install '../actonce[embedded]'": "tests/repository/test_wheel.py",
    "actonce init": "tests/adopt/test_init_command.py, tests/repository/test_wheel.py",
    "actonce up --project .": "tests/embedded/test_gift_shop.py",
    "actonce doctor": "tests/embedded/test_gift_shop.py",
    # By `actonce sam-local`, which runs it: the container's way to the embedded AWS has to be made.
    "sam local invoke StarterFunction --env-vars StarterFunction.env.json "
    "--event events/one_message.json": "tests/embedded/test_in_containers.py",
    "actonce console  # Ctrl-C ends it": "tests/console/test_command.py",
}


def commands() -> list[str]:
    """Those that are run here."""
    blocks = re.findall(r"^```sh\n(.*?)^```", (PROJECT / "README.md").read_text(), re.M | re.S)
    shown = [line for block in blocks for line in block.splitlines() if line]
    assert set(RUN_ELSEWHERE) <= set(shown)
    return [line for line in shown if line not in RUN_ELSEWHERE]


def _run(
    command: str, environment: dict[str, str], cwd: Path, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    line = ["bash", "-c", command.replace("python3.13", PYTHON)]
    path = f"{BIN}{os.pathsep}{environment['PATH']}"
    return run(line, cwd, environment | {"PATH": path}, input_text=stdin)


@pytest.mark.embedded
@pytest.mark.long
def test_the_demo_ends_well_and_goes_down(tmp_path_factory: pytest.TempPathFactory) -> None:
    paths = home(tmp_path_factory)
    environment = without_aws(ACTONCE_DIR=str(paths.home))
    deploy = next(one for one in commands() if one.startswith("sam deploy --guided"))
    here = commands()[: commands().index(deploy)]
    assert here == [
        "make demo",
        'export PATH="$PWD/.venv/bin:$PATH"',
        "actonce down  # when you have seen enough",
        "sam build --parameter-overrides PythonRuntime=python3.13",
    ]
    try:
        # `make` would make an environment of its own where this one is not .venv.
        demo = "make demo" if BIN == PROJECT / ".venv" / "bin" else f"{BIN}/actonce demo"
        answer = _run(demo, environment, PROJECT)
        assert answer.returncode == 0, answer.stderr
        assert "Every message was acted on at most once, and none was lost." in answer.stdout
        if find_java() is not None:
            assert "The audit of the records agrees" in answer.stderr
            assert (paths.records / "audit" / "report.html").is_file()
            # No record has a body.
            for file in paths.records.rglob("*.gz"):
                assert b"patient" not in gzip.decompress(file.read_bytes()), file
        seconds = float(re.findall(r"([\d.]+) s in all\. The stack is still up", answer.stdout)[0])
        assert seconds > 0
        for command in here[1:-1]:
            answer = _run(command, environment, PROJECT)
            assert answer.returncode == 0, f"{command}: {answer.stderr}"
    finally:
        _run("actonce down", environment, PROJECT)


@pytest.mark.usefixtures("stack")
@pytest.mark.long
def test_it_is_built_deployed_and_sent_to(state: State, tmp_path: Path) -> None:
    environment = without_aws(**embedded_variables(state.endpoint_url), SAM_CLI_TELEMETRY="0")
    # --guided writes into samconfig.toml, so it gets a copy of its own.
    clone = tmp_path / "clone"
    clone.mkdir()
    for name in ("template.yaml", "templates/alarms.yaml", "samconfig.toml"):
        (clone / name).parent.mkdir(exist_ok=True)
        shutil.copy(PROJECT / name, clone / name)
    for name in ("functions", "statemachine"):
        shutil.copytree(PROJECT / name, clone / name)
    # MiniStack refuses an alarm of more than one metric (test_ministack_gaps.py).
    whole = (clone / "templates/alarms.yaml").read_text()
    (clone / "templates/alarms.yaml").write_text(
        re.sub(r"^  NothingReceivedAlarm:\n(?:    .*\n)+", "", whole, flags=re.M)
    )
    build, deploy, send, logs, where, collect, audit = commands()[-7:]

    answer = _run(build, environment, clone)
    assert answer.returncode == 0, answer.stderr
    parameters = len(template.load()["Parameters"])
    # Stack name, Region and parameters; then no confirmation of changes; defaults for the rest.
    answers = "readme\n\n" + "\n" * parameters + "n\n" + "\n" * 6
    try:
        answer = _run(deploy, environment, clone, answers)
    finally:
        Aws(state.endpoint_url).client("cloudformation").delete_stack(StackName="readme")
    assert answer.returncode == 0, answer.stdout[-3000:] + answer.stderr
    assert "Successfully created/updated stack - readme" in answer.stdout
    assert f'"PythonRuntime": "{PYTHON}"' in answer.stdout  # what the functions are built for

    answer = _run(send, environment, PROJECT)
    assert answer.returncode == 0, answer.stderr
    wait_until(lambda: "performed" in _run(where, environment, PROJECT).stdout)
    answer = _run(logs, environment, PROJECT)
    assert answer.returncode == 0, answer.stderr
    assert '"message_id": "request-1"' in answer.stdout

    # Other tests share this stack and do what they like to it, so the audit may find something.
    collect, audit = (
        command.replace("records/", f"{tmp_path}/records/") for command in (collect, audit)
    )
    answer = _run(collect, environment, PROJECT)
    assert answer.returncode == 0, answer.stderr
    answer = _run(audit, environment, PROJECT)
    if find_java() is None:
        assert answer.returncode == 2
    else:
        assert answer.returncode in (0, 1, 3), answer.stderr
        assert (tmp_path / "records" / "audit" / "report.html").is_file()
