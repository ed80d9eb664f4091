import tomllib
from pathlib import Path

import pytest

from actonce.stack import stack_files as versions
from actonce.stack.stack_files import in_clone, version, version_mismatch, version_of
from actonce.stack.stack_files import sources as stack
from tests.support import template


@pytest.mark.parametrize(
    ("stack_version", "expected"),
    [
        *((fits, None) for fits in ("1.4.0", "1.4.9", "1.4.2rc1", "1.4.0; rm")),
        ("1.3.9", "older"),
        ("0.4.2", "older"),
        ("1.10.0", "1.10.0, and this actonce"),
        (None, "older"),
        ("main", "main"),
    ],
)
def test_versions_fit_where_only_the_third_number_differs(
    stack_version: str | None, expected: str | None
) -> None:
    warning = version_mismatch("orders", stack_version, "1.4.2")
    assert warning is None if expected is None else warning is not None and expected in warning


def test_template_is_the_one_place_that_says_the_version() -> None:
    project = tomllib.loads((stack() / "pyproject.toml").read_text())["project"]
    assert "version" not in project
    assert project["dynamic"] == ["version"]
    warning = template.load()["Mappings"]["ActOnce"]["Release"]["Version"]
    assert version() == warning
    assert versions.numbers(warning)
    output = template.load()["Outputs"]["ActOnceVersion"]["Value"]
    assert output == {"Fn::FindInMap": ["ActOnce", "Release", "Version"]}
    with pytest.raises(ValueError, match="has no ActOnce"):
        version_of("Mappings:\n")


def test_where_the_package_lies_decides_where_the_stack_is(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "actonce"
    package.mkdir(parents=True)
    assert stack(package) == tmp_path / "site-packages"
    assert in_clone(package)
    (package / "stack_files").mkdir()
    assert stack(package) == package / "stack_files"
    assert not in_clone(package)
