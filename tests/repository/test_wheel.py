"""The wheel, installed into an empty environment outside the clone, and what it does there."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from actonce.cli.app import COMMANDS
from actonce.records.audit_package import pack
from actonce.stack.clients import Aws, embedded_variables, outputs_of
from actonce.stack.embedded_folder import PROJECT
from actonce.stack.stack_files import version
from requirements import install
from tests.embedded.waiting import wait_until
from tests.examples.test_pipeline_example import lines
from tests.support import commands

pytestmark = [pytest.mark.long, pytest.mark.embedded]


class Installed:
    """An environment with the wheel in it, and a folder that holds nothing."""

    def __init__(self, wheel: Path, root: Path, python: str = sys.executable) -> None:
        self.wheel, self.root = wheel, root
        self.venv, self.here = root / "venv", root / "here"
        self.here.mkdir()
        self._uv = _uv(root)
        self._run_uv("venv", "--python", python, str(self.venv))

    def add(self, *extras: str) -> None:
        """Install the wheel with these extras, in the versions that are locked."""
        into = ["pip", "install", "--index-strategy", "unsafe-best-match"]
        into += ["--python", str(self.venv / "bin" / "python")]
        locked = str(PROJECT / "requirements/dev.lock")
        wanted = f"actonce[{','.join(extras)}] @ {self.wheel.as_uri()}"
        self._run_uv(*into, "--constraint", locked, wanted)

    def run(self, *command: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        return self._run([str(self.venv / "bin" / command[0]), *command[1:]], folder or self.here)

    def _run(
        self, command: list[str], folder: Path, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(_OF_THE_CLONE)}
        own = {"AWS_EC2_METADATA_DISABLED": "true", "COLUMNS": "200"}
        return commands.run(command, folder, kept | own | variables)

    def succeeds(self, *command: str, folder: Path | None = None) -> str:
        answer = self.run(*command, folder=folder)
        assert answer.returncode == 0, answer.stdout + answer.stderr
        assert str(PROJECT) not in answer.stdout + answer.stderr
        return answer.stdout

    def shell(self, line: str, folder: Path, **variables: str) -> str:
        """Run a line of a pipeline, as that does, to a good end; all that it said."""
        path = f"{self.venv / 'bin'}{os.pathsep}{os.environ['PATH']}"
        answer = self._run(["bash", "-e", "-c", line], folder, PATH=path, **variables)
        output = answer.stdout + answer.stderr
        assert answer.returncode == 0, f"{line}: {output}"
        return output

    def _run_uv(self, *arguments: str) -> None:
        environment = os.environ | install._pip_arguments()
        commands.succeeds([str(self._uv), *arguments], environment=environment)


_OF_THE_CLONE = ("AWS_", "ACTONCE_", "PYTHON", "PYTEST_", "VIRTUAL_ENV", "SPARK_")


def _uv(root: Path) -> Path:
    here = shutil.which("uv", path=str(install.BIN)) or shutil.which("uv")
    if here:
        return Path(here)
    locked = install.requirements((PROJECT / "requirements/demo.lock").read_text())
    return install._uv("".join(text for name, text in locked if name == install.UV), root)


def build(sources: Path, into: Path) -> Path:
    """Build sdist and wheel; the wheel."""
    commands.succeeds([sys.executable, "-m", "hatchling", "build", "-d", str(into)], sources)
    (built,) = into.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make release` has built, or a wheel of what is here."""
    if built := os.environ.get("ACTONCE_DIST"):
        return next(Path(built).glob("*.whl"))
    return build(PROJECT, tmp_path_factory.mktemp("dist"))


def unpacked(wheel: Path, folder: Path) -> Path:
    """The sources of the sdist that was built with a wheel."""
    with tarfile.open(next(wheel.parent.glob("*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    (sources,) = folder.iterdir()
    return sources


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel with no extra; the last test adds one."""
    made = Installed(wheel, tmp_path_factory.mktemp("outside"))
    made.add()
    return made


def test_the_wheel_is_of_the_stacks_version_and_holds_what_is_committed(wheel: Path) -> None:
    assert wheel.name == f"actonce-{version()}-py3-none-any.whl"
    of_the_stack = ("functions", "statemachine", "events", "*.yaml", "samconfig.toml")
    listed = commands.run(["git", "ls-files", *of_the_stack, "docs/pictures/process_message.svg"])
    if listed.returncode != 0:
        pytest.skip("what the wheel holds was not compared: this is no git repository")
    elsewhere = (".", "actonce/", "lab/", "examples/", "tests/")
    committed = {one for one in listed.stdout.splitlines() if not one.startswith(elsewhere)}
    with zipfile.ZipFile(wheel) as archive:
        stack = "actonce/stack_files/"
        names = {one.removeprefix(stack) for one in archive.namelist() if one.startswith(stack)}
        assert names == committed
        pages = {
            str(file.relative_to(PROJECT))
            for folder in ("templates", "static")
            for file in (PROJECT / "actonce" / "console" / folder).rglob("*.*")
        }
        assert pages <= {*archive.namelist()}
        for name in names:
            assert archive.read(stack + name) == (PROJECT / name).read_bytes()


def test_one_release_is_upgraded_to_the_next(
    installed: Installed, wheel: Path, tmp_path: Path
) -> None:
    sources = unpacked(wheel, tmp_path / "sdist")
    template, starter = sources / "template.yaml", sources / "functions" / "starter.py"
    is_now = f'{{Version: "{version()}"}}'
    assert is_now in template.read_text()
    template.write_text(template.read_text().replace(is_now, '{Version: "9.0.0"}'))
    starter.write_text(starter.read_text() + "# newer\n")
    newer = Installed(build(sources, tmp_path / "dist"), tmp_path)
    newer.add()
    shop = tmp_path / "shop"
    shop.mkdir()

    installed.succeeds("actonce", "init", folder=shop)
    output = newer.succeeds("actonce", "init", "--upgrade", folder=shop)
    replaced = {"actonce/functions/starter.py: replaced", "actonce/template.yaml: replaced"}
    assert replaced == {line for line in output.splitlines() if ": " in line}
    assert (shop / "actonce" / "functions" / "starter.py").read_text().endswith("# newer\n")
    # The older one does not take it back.
    assert installed.run("actonce", "init", "--upgrade", folder=shop).returncode == 2


def test_without_an_extra_it_is_the_operators_and_producers_command_line(
    installed: Installed,
) -> None:
    assert installed.succeeds("actonce", "--version") == f"actonce {version()}\n"
    listed = installed.succeeds("actonce", "--help")
    assert re.findall(r"^  ([a-z][a-z-]*(?: [a-z]+)?)  ", listed, re.M) == list(COMMANDS)
    for_all = [name for name, one in COMMANDS.items() if one.extra is None]
    code = (
        f"from actonce.cli import app as cli; [cli.COMMANDS[name].load(name) for name in {for_all}]"
    )
    installed.succeeds("python", "-c", code)
    size = sum(one.stat().st_size for one in installed.venv.rglob("*") if one.is_file())
    assert size < 80e6, "boto3 is most of it; something large has come along"

    answer = installed.run("actonce", "where", "m-1")
    assert answer.returncode == 2
    assert "--region" in answer.stderr
    assert installed.run("python", "-c", "import lab").returncode != 0


def test_a_command_that_needs_more_is_one_sentence_that_says_what(installed: Installed) -> None:
    for name, one in COMMANDS.items():
        if one.extra is not None:
            answer = installed.run("actonce", *name.split())
            assert (answer.returncode, answer.stdout) == (2, "")
            assert len(answer.stderr.splitlines()) == 1
            wanted = f"pip install 'path/to/your/clone/of/actonce[{one.extra}]'"
            assert wanted in answer.stderr


def test_the_audits_package_is_the_clones(installed: Installed, tmp_path: Path) -> None:
    digests = installed.succeeds("actonce", "audit", "package", "--to", str(tmp_path), "--json")

    assert {name: one["sha256"] for name, one in json.loads(digests).items()} == {
        name: sha256(content).hexdigest() for name, content in pack().items()
    }


def _comes_to(
    installed: Installed, folder: Path, message_id: str, outcome: str, deliveries: int = 1
) -> None:
    """Wait until its execution ended so, and so many deliveries of it are recorded."""

    def has_come() -> bool:
        answer = installed.run("actonce", "where", message_id, "--json", folder=folder)
        assert "version" not in answer.stderr
        story = json.loads(answer.stdout) if answer.returncode == 0 else {}
        execution = story.get("execution") or {}
        return execution.get("outcome") == outcome and len(story["deliveries"]) == deliveries

    wait_until(has_come)


def test_with_the_console_extra_it_loads(installed: Installed) -> None:
    installed.add("console")
    load = """
from actonce.cli.app import COMMANDS
COMMANDS["console"].load("console")
from actonce.console.views import message
assert message.PICTURE.read_text().startswith("<?xml")
"""
    installed.succeeds("python", "-c", load)


def test_with_the_embedded_extra_its_stack_and_a_new_project_run(installed: Installed) -> None:
    installed.add("embedded")
    made = installed.here / "my shop"
    assert "cd 'my shop'" in installed.succeeds("actonce", "init", "--new", "my shop")
    try:
        # What the wheel brought, from a folder that is nothing to it.
        assert "stack actonce" in installed.succeeds("actonce", "up")
        (installed.here / "one.jsonl").write_text('{"message_id": "m-1", "practice": "north"}\n')
        installed.succeeds("actonce", "send", "one.jsonl")
        _comes_to(installed, installed.here, "m-1", "performed")
        assert "Stopped" in installed.succeeds("actonce", "down")
        # And the project, as its pipeline does: first it is tried.
        output = [installed.shell(line, made) for line in lines("try")[1:]]
        # The function's own time-out, which its template says.
        assert any(" of 10 s)" in one for one in output)
        installed.succeeds("actonce", "send", "events/requests.jsonl", folder=made)
        _comes_to(installed, made, "request-1", "performed", deliveries=2)
        # Then each stage is deployed, as far as the embedded AWS goes: to its change set.
        (url,) = re.findall(
            "AWS_ENDPOINT_URL=(.*)", installed.succeeds("actonce", "env", folder=made)
        )
        account = embedded_variables(url) | {"SAM_CLI_POLL_DELAY": "0.2"}
        of_stage, of_roles = re.findall(
            "^sam .*$", (PROJECT / "docs" / "stages.md").read_text(), re.M
        )
        assert lines("staging")[2].startswith(of_stage)
        shutil.copy(PROJECT / "examples" / "pipeline" / "roles.yaml", installed.here)
        installed.shell(of_roles, installed.here, **account)
        name = of_roles.partition("--stack-name ")[2].split()[0]
        outputs = outputs_of(Aws(url), name)
        account["ARTIFACTS"] = outputs["Artifacts"]
        account["CLOUDFORMATION_ROLE"] = outputs["CloudFormationRole"]
        for stage, overridden in (("staging", {}), ("prod", {"AlarmEmail": "on-call@example.com"})):
            build, deploy, _ = lines(stage)[1:]
            installed.shell(build, made, **account)
            said = installed.shell(f"{deploy} --no-execute-changeset", made, **account)
            shown = dict(re.findall(r"^\s*(\w[\w ]+?) +: (.*)$", said, re.M))
            assert shown["Stack name"] == f"my-shop-{stage}"
            assert json.loads(shown["Parameter overrides"]) == overridden
            assert "Changeset created successfully" in said
    finally:
        for folder in (installed.here, made):
            installed.run("actonce", "down", folder=folder)
    assert (made / ".actonce").is_dir()
    assert not (made / "actonce" / ".actonce").exists()
