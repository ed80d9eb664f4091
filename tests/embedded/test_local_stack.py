"""The templates as they are deployed here, with shorter times: no rule refuses them."""

from pathlib import Path

import yaml

from actonce.embedded import local_stack
from tests.support.template import LOCKS, TEMPLATE, load, refusals


def test_the_lease_is_deployed_here_with_times_that_its_rules_would_refuse(tmp_path: Path) -> None:
    root = TEMPLATE.parent
    for file in (LOCKS, root / "templates" / "alarms.yaml"):
        built = tmp_path / file.relative_to(root)
        built.parent.mkdir(exist_ok=True)
        built.write_text(yaml.safe_dump(load(file)))
    parameters_given = {"Strategy": "lease", "QueueType": "fifo"}
    here = local_stack.rewrite(
        tmp_path / LOCKS.relative_to(root), local_stack.Settings(parameters_given)
    )
    template = yaml.safe_load(here.read_text())
    assert refusals(template, **parameters_given) == []
    consumer = template["Resources"]["ConsumerFunction"]["Properties"]
    assert consumer["Timeout"] == local_stack.CONSUMER_TIMEOUT_SECONDS
