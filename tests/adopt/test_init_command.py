"""`actonce init` as a person runs it."""

import re

from samtranslator.yaml_helper import yaml_parse

from actonce.cli.init import NESTED, PUBLISHED
from actonce.stack.embedded_folder import PROJECT
from tests.support import template


def test_the_page_shows_the_lines_that_init_prints() -> None:
    text = (PROJECT / "docs" / "adopting.md").read_text()
    shown = "".join(re.findall(r"^```yaml\n(  (?:Once|GiftCards):.*?)^```", text, re.M | re.S))
    printed = yaml_parse(NESTED + PUBLISHED)
    assert yaml_parse(shown) == printed
    known = template.load()["Parameters"]
    assert printed["Once"]["Properties"]["Parameters"].keys() <= known.keys()
