"""A key of one's own, given to a stack that runs: it encrypts what is kept, and messages go on."""

import json
import uuid

import pytest

from actonce.embedded import lifecycle
from actonce.stack.embedded_folder import Paths
from tests.embedded.waiting import wait_for_execution


@pytest.mark.long
def test_a_key_given_later_encrypts_what_is_kept_and_messages_go_on(paths: Paths) -> None:
    _, stack = lifecycle.up(paths, lambda _: None, parameters={})
    key = stack.aws.client("kms").create_key(Description="mine")["KeyMetadata"]["Arn"]
    _, stack = lifecycle.up(paths, lambda _: None, parameters={"KmsKeyArn": key})

    for url in (stack.requests_queue, stack.unstarted_queue, stack.dead_letter_queue):
        attributes = stack.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])
        assert attributes["Attributes"].get("KmsMasterKeyId") == key
        assert attributes["Attributes"].get("SqsManagedSseEnabled") != "true"
    groups = stack.logs.describe_log_groups()["logGroups"]
    own = [group for group in groups if group["logGroupName"] == stack.starter_log_group]
    assert [group.get("kmsKeyId") for group in own] == [key]
    # MiniStack keeps nothing of the bucket's and the topic's key: tests/test_every_template.py.

    message_id = f"test-{uuid.uuid4()}"
    stack.sqs.send_message(
        QueueUrl=stack.requests_queue, MessageBody=json.dumps({"message_id": message_id})
    )
    wait_for_execution(stack, stack.execution_arn(message_id))
