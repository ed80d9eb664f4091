from collections.abc import Iterator

import pytest
from moto import mock_aws

from tests.support.moto_aws import MotoAws

# moto's plain Step Functions leaves every execution running, whatever the definition says.
_ENDS_AT_ONCE = {"StartAt": "Done", "States": {"Done": {"Type": "Succeed"}}}


@pytest.fixture(autouse=True)
def aws_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN", "LAMBDA_TASK_ROOT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "ActOnce")
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "actonce-test")


@pytest.fixture
def aws() -> Iterator[MotoAws]:
    with mock_aws():
        yield MotoAws.create(_ENDS_AT_ONCE)
