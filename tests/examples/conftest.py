import boto3
import pytest


@pytest.fixture(autouse=True)
def aws_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """For code that makes clients of its own."""
    for name, value in (("DEFAULT_REGION", "us-east-1"), ("ACCESS_KEY_ID", "testing")):
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
