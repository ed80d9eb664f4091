"""What GitHub Actions and the hooks of a commit run: the same as everybody, and all of it."""

import os
import re
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


def test_each_hook_runs_when_a_test_changes_that_it_runs() -> None:
    config = yaml.safe_load((PROJECT / ".ci/pre-commit.yaml").read_text())
    hooks = [hook for repository in config["repos"] for hook in repository["hooks"]]
    named = [
        (hook, word) for hook in hooks for word in hook["entry"].split() if word.endswith(".py")
    ]
    assert named
    for hook, path in named:
        assert (PROJECT / path).is_file()
        assert re.search(hook["files"], path), hook["id"]
    (of_templates,) = (hook["files"] for hook in hooks if hook["id"] == "state-machine")
    for template in (TEMPLATE, *(PROJECT / "templates").iterdir()):
        assert re.search(of_templates, template.relative_to(PROJECT).as_posix())
