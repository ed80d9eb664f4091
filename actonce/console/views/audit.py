"""What the last audit said, where its results are at hand."""

from starlette.responses import Response

from actonce.console.answers import Asked, page
from actonce.console.context import Context
from actonce.records import audit_summary


def audit(context: Context, _: Asked) -> Response:
    """Its sentence, its days and its alarms.

    Raises:
        Failed: there are results that cannot be read.
        ClientError: AWS says no.
    """
    place, summary = None, None
    bucket = context.stack.outputs.get("AuditBucketName")
    if context.audit is not None:
        place, summary = f"{context.audit}/", audit_summary.of_folder(context.audit)
    elif bucket is not None:
        place = f"s3://{bucket}/audit/"
        summary = audit_summary.of_bucket(context.stack.aws.client("s3"), place)
    return page(
        context,
        "audit.html.j2",
        summary=summary,
        has_ended=summary is not None and audit_summary.has_ended(summary),
        results=place,
    )
