"""The order of the files: the slow ones first, so that no process is left with them alone."""

import pytest

SLOWEST_FIRST = (
    "embedded/test_audit_night",
    "embedded/test_demo_real_requests",
    "embedded/test_strategies",
    "embedded/test_demo",
    "embedded/test_worker",
    "embedded/test_readme",
    "embedded/test_lifecycle",
    "conformance/test_page",
    "conformance/test_spoiled",
    "pipeline/",
    "container/",
    "embedded/",
    "conformance/",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def rank(item: pytest.Item) -> int:
        path = item.path.as_posix()
        matching = (n for n, part in enumerate(SLOWEST_FIRST) if f"/tests/{part}" in path)
        return next(matching, len(SLOWEST_FIRST))

    items.sort(key=rank)  # stable: within a file nothing changes
