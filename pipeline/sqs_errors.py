"""Which of SQS's refusals are over after a while, so that the same request is made again."""

from typing import TYPE_CHECKING, Final

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_sqs.type_defs import BatchResultErrorEntryTypeDef

_BUSY: Final = frozenset(
    {
        "InternalError",
        "InternalFailure",
        "KmsThrottled",
        "OverLimit",
        "RequestThrottled",
        "ServiceUnavailable",
        "Throttling",
        "ThrottlingException",
    }
)
"""SQS: "Common Errors", and the errors of SendMessageBatch and ReceiveMessage."""


def error_code(error: ClientError) -> str:
    """The error's code, without the prefix of SQS's older protocol."""
    return _plain(error.response["Error"]["Code"])


def is_busy(error: ClientError) -> bool:
    """Whether the whole request may be made again; throttling comes with statuses below 500."""
    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
    return error_code(error) in _BUSY or status >= 500


def is_refused(failure: "BatchResultErrorEntryTypeDef") -> bool:
    """Whether this entry of a batch would fail again."""
    return failure["SenderFault"] and _plain(failure["Code"]) not in _BUSY


def _plain(code: str) -> str:
    return code.rpartition(".")[2]
