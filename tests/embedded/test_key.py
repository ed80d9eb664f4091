"""A key of one's own, given to a stack that runs: it encrypts what is kept, and messages go on."""

import json
import uuid
from typing import Any

import boto3

from actonce.aws import EMBEDDED_CREDENTIALS, EMBEDDED_REGION
from actonce.embedded import lifecycle
from actonce.embedded.lifecycle import State
from actonce.embedded.paths import Paths
from tests.embedded.waiting import wait_for_execution

EVERYTHING = {"KeepRecords": "true"}


def client(state: State, service: str) -> Any:
    return boto3.session.Session(
        aws_access_key_id=EMBEDDED_CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=EMBEDDED_CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        region_name=EMBEDDED_REGION,
    ).client(service, endpoint_url=state.endpoint_url)


def test_a_key_given_later_encrypts_what_is_kept_and_messages_go_on(paths: Paths) -> None:
    state, _ = lifecycle.up(paths, lambda _: None, parameters=EVERYTHING)
    key = client(state, "kms").create_key(Description="mine")["KeyMetadata"]["Arn"]
    state, stack = lifecycle.up(paths, lambda _: None, parameters={**EVERYTHING, "KmsKeyArn": key})

    for url in (stack.requests_queue, stack.unstarted_queue, stack.dead_letter_queue):
        attributes = stack.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])
        assert attributes["Attributes"].get("KmsMasterKeyId") == key
        assert attributes["Attributes"].get("SqsManagedSseEnabled") != "true"
    groups = stack.logs.describe_log_groups()["logGroups"]
    own = [group for group in groups if group["logGroupName"] == stack.starter_log_group]
    assert [group.get("kmsKeyId") for group in own] == [key]
    bucket = stack.outputs["RecordsBucketName"]
    (rule,) = client(state, "s3").get_bucket_encryption(Bucket=bucket)[
        "ServerSideEncryptionConfiguration"
    ]["Rules"]
    assert rule["ApplyServerSideEncryptionByDefault"]["KMSMasterKeyID"] == key
    topic = client(state, "sns").get_topic_attributes(TopicArn=stack.outputs["AlarmTopicArn"])
    assert topic["Attributes"]["KmsMasterKeyId"] == key

    message_id = f"test-{uuid.uuid4()}"
    stack.sqs.send_message(
        QueueUrl=stack.requests_queue, MessageBody=json.dumps({"message_id": message_id})
    )
    wait_for_execution(stack, stack.execution_arn(message_id))
