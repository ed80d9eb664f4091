"""The audit's state machine, with its substitutions filled in as CloudFormation does."""

import json

from tests.support import asl

AUDIT = asl.PROJECT / "statemachine" / "audit.asl.json"

SUBSTITUTIONS = {
    "Partition": "aws",
    "RecordsBucket": "records",
    "AuditBucket": "audit",
    "EffectsTableArn": "arn:aws:dynamodb:us-east-1:123456789012:table/appointments",
    "EffectsAttributes": "message_id,booked_at,practice,slot",
    "ApplicationId": "00f1abcd2efgh345",
    "JobRoleArn": "arn:aws:iam::123456789012:role/audit-job",
    "ExecutionRecordsFunctionArn": "arn:aws:lambda:us-east-1:123456789012:function:records",
    "AlarmTopicArn": "arn:aws:sns:us-east-1:123456789012:alarms",
    "KmsKeyArn": "",
    "StackName": "audit",
}


def definition(**substitutions: str) -> asl.Definition:
    """The whole definition; `substitutions` that are not as above."""
    known = SUBSTITUTIONS | substitutions
    text = asl.SUBSTITUTION.sub(lambda match: known[match[1]], AUDIT.read_text())
    parsed: asl.Definition = json.loads(text)
    return parsed
