"""docs/privacy.md says how long the templates keep what they make, and leaves none of it out."""

from collections.abc import Iterator
from typing import Any

import pytest

from actonce.stack.embedded_folder import PROJECT
from tests.support import template

LINES = (PROJECT / "docs" / "privacy.md").read_text("utf-8").splitlines()
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in LINES if line[:1] == "|"]


def data_of(name: str) -> str:
    """How long the page says that it is kept."""
    (found,) = (how_long for where, _, how_long in ROWS if f"`{name}`" in where)
    return found


def kept(resources: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What is kept by a template, as the page names it, and how long."""
    for name, resource in resources.items():
        of = resource.get("Properties", {})
        if resource["Type"] == "AWS::SQS::Queue":
            yield name, f"{of['MessageRetentionPeriod'] / 86_400:g} days"
        elif resource["Type"] == "AWS::DynamoDB::Table":
            yield name, "by its items" if "TimeToLiveSpecification" in of else "for ever"
        elif resource["Type"] == "AWS::Logs::LogGroup":
            yield "LogGroup", f"`{of['RetentionInDays']['Ref']}`"
        elif resource["Type"] == "AWS::S3::Bucket":
            rules = of["LifecycleConfiguration"]["Rules"]
            (old,) = (
                rule["NoncurrentVersionExpiration"]["NoncurrentDays"]
                for rule in rules
                if "NoncurrentVersionExpiration" in rule and "Prefix" not in rule
            )
            for rule in rules:
                if "ExpirationInDays" in rule:
                    place = f"{name}/{rule['Prefix']}" if "Prefix" in rule else name
                    days = rule["ExpirationInDays"]["Ref"]
                    yield place, f"`{days}`, then {old} days as an older version"


@pytest.mark.parametrize(
    "name",
    ["template.yaml", "templates/records.yaml", "templates/audit.yaml"],
)
def test_the_page_says_how_long_each_thing_of_a_template_is_kept(name: str) -> None:
    found = list(kept(template.load(PROJECT / name)["Resources"]))
    assert found
    assert {(one, data_of(one)) for one, _ in found} == set(found)
