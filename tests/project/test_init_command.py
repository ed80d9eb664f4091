"""`actonce init` as a person runs it."""

import re

import yaml

from actonce.cli.init import NESTED
from actonce.stack.embedded_folder import PROJECT
from tests import template


def test_readme_shows_the_lines_that_init_prints() -> None:
    readme = (PROJECT / "README.md").read_text()
    (shown,) = re.findall(r"^```yaml\n(  Once:.*?)^```", readme, re.M | re.S)
    shown, printed = (yaml.safe_load(text.replace("!Ref ", "")) for text in (shown, NESTED))
    assert shown == printed
    known = template.load()["Parameters"]
    assert printed["Once"]["Properties"]["Parameters"].keys() <= known.keys()
