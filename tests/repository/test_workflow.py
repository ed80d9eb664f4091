"""GitHub Actions run what everybody runs."""

import os
import tomllib

import yaml

from tests.support.template import TEMPLATE, load

PROJECT = TEMPLATE.parent


def test_the_workflow_runs_what_ci_runs_on_the_oldest_and_the_newest_python() -> None:
    workflow = yaml.safe_load((PROJECT / ".github/workflows/ci.yml").read_text())
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    runtimes = load()["Parameters"]["PythonRuntime"]["AllowedValues"]
    versions = [runtime.removeprefix("python") for runtime in runtimes]
    (job,) = workflow["jobs"].values()
    (command,) = (step["run"] for step in job["steps"] if "run" in step)

    assert job["strategy"]["matrix"]["python"] == [versions[0], versions[-1]]
    assert project["requires-python"] == f">={versions[0]}"
    assert os.access(PROJECT / command, os.X_OK)
    assert workflow["permissions"] == {"contents": "read"}
    assert "secrets." not in str(workflow)
