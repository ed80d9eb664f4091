"""`actonce init` as a person runs it."""

import re

import pytest
from samtranslator.yaml_helper import yaml_parse

from actonce.cli.init import NESTED, PUBLISHED
from actonce.stack.embedded_folder import PROJECT
from tests.support import template


@pytest.mark.parametrize(
    ("page", "lines"), [("README.md", NESTED), ("docs/adopting.md", NESTED + PUBLISHED)]
)
def test_the_pages_show_the_lines_that_init_prints(page: str, lines: str) -> None:
    text = (PROJECT / page).read_text()
    shown = "".join(re.findall(r"^```yaml\n(  (?:Once|GiftCards):.*?)^```", text, re.M | re.S))
    printed = yaml_parse(lines)
    assert yaml_parse(shown) == printed
    known = template.load()["Parameters"]
    assert printed["Once"]["Properties"]["Parameters"].keys() <= known.keys()
