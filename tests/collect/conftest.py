from collections.abc import Iterator

import pytest
from moto import mock_aws

from actonce.stack.clients import Aws


@pytest.fixture
def moto_aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    """AWS, on moto in this process."""
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        yield Aws()
