"""The parts of the stack that the starter and the effect talk to, on moto in this process."""

import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from actonce_core.first_attempt import FirstAttempt
from actonce_core.message import MessageReader
from actonce_core.start import Starter
from actonce_core.unstarted import UnstartedQueue
from tests.support.tables import make_table

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_stepfunctions import SFNClient

NOW = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
NAMES_REMEMBERED = timedelta(days=25)

_ONE_ATTEMPT = Config(retries={"mode": "standard", "total_max_attempts": 1})
_ROLE = "arn:aws:iam::123456789012:role/process-message"


@cache
def _session() -> boto3.session.Session:
    """One for all tests: it keeps the service models, whose loading takes longer than a test."""
    return boto3.session.Session(
        aws_access_key_id="testing", aws_secret_access_key="testing", region_name="us-east-1"
    )


def _make_state_machine(stepfunctions: "SFNClient", name: str, definition: dict[str, Any]) -> str:
    made = stepfunctions.create_state_machine(
        name=name, definition=json.dumps(definition), roleArn=_ROLE
    )
    return made["stateMachineArn"]


@dataclass(frozen=True)
class MotoAws:
    """Clients, and the names of what they reach."""

    dynamodb: "DynamoDBClient"
    stepfunctions: "SFNClient"
    sqs: "SQSClient"
    fingerprints_table: str
    appointments_table: str
    state_machine: str
    unstarted_queue: str
    lease_table: str
    requests_queue: str

    @classmethod
    def create(cls, definition: dict[str, Any]) -> "MotoAws":
        """Create tables, queue and a state machine of that definition."""
        session = _session()
        dynamodb = session.client("dynamodb", config=_ONE_ATTEMPT)
        stepfunctions = session.client("stepfunctions", config=_ONE_ATTEMPT)
        sqs = session.client("sqs", config=_ONE_ATTEMPT)
        for table in ("fingerprints", "lease"):
            make_table(dynamodb, table, "message_id")
        make_table(dynamodb, "appointments", "message_id", "appointment_id")
        return cls(
            dynamodb=dynamodb,
            stepfunctions=stepfunctions,
            sqs=sqs,
            fingerprints_table="fingerprints",
            appointments_table="appointments",
            state_machine=_make_state_machine(stepfunctions, "process-message", definition),
            unstarted_queue=sqs.create_queue(QueueName="unstarted")["QueueUrl"],
            lease_table="lease",
            requests_queue=sqs.create_queue(
                QueueName="requests", Attributes={"VisibilityTimeout": "210"}
            )["QueueUrl"],
        )

    def starter(
        self,
        reader: MessageReader | None = None,
        now: datetime | None = NOW,
        state_machine: str | None = None,
        first_attempt: FirstAttempt | None = None,
    ) -> Starter:
        """A starter over these clients, at a time of the test's choice; None: by its own clock."""
        return Starter(
            reader=reader or MessageReader(),
            dynamodb=self.dynamodb,
            table=self.fingerprints_table,
            stepfunctions=self.stepfunctions,
            state_machine=state_machine or self.state_machine,
            unstarted=UnstartedQueue(self.sqs, self.unstarted_queue),
            names_remembered=NAMES_REMEMBERED,
            clock=lambda: now or datetime.now(UTC),
            first_attempt=first_attempt,
        )

    def make_state_machine(self, name: str) -> str:
        """ARN of one more state machine, whose executions end at once."""
        ends = {"StartAt": "Done", "States": {"Done": {"Type": "Succeed"}}}
        return _make_state_machine(self.stepfunctions, name, ends)

    def variables(self) -> dict[str, str]:
        """What the templates set in the environments of the functions, by their defaults."""
        return {
            "FINGERPRINTS_TABLE": self.fingerprints_table,
            "APPOINTMENTS_TABLE": self.appointments_table,
            "STATE_MACHINE_ARN": self.state_machine,
            "UNSTARTED_QUEUE_URL": self.unstarted_queue,
            "REQUESTS_QUEUE_URL": self.requests_queue,
            "MESSAGE_ID_FROM": "body:message_id",
            "CONTENT_FROM": "",
            "NAMES_REMEMBERED_DAYS": "25",
            "STACK_NAME": "actonce",
        }

    def first_attempt_variables(self) -> dict[str, str]:
        """What template.yaml sets besides where the starter makes the first attempt."""
        function = "arn:aws:lambda:us-east-1:123456789012:function"
        return {
            "START_EXECUTIONS": "on-trouble",
            "EFFECT_FUNCTION_ARN": f"{function}:effect:3",
            "FIND_FUNCTION_ARN": f"{function}:find",
            "EFFECT_TIMEOUT_SECONDS": "15",
            "STARTER_TIMEOUT_SECONDS": "30",
            "STRAGGLER_MARGIN_SECONDS": "30",
        }

    def appointments(self) -> list[dict[str, Any]]:
        """Every appointment, in DynamoDB's form."""
        items = self.dynamodb.scan(TableName=self.appointments_table)["Items"]
        return [item for item in items if item["appointment_id"]["S"].startswith("appointment-")]

    def executions(self) -> Counter[str]:
        """How many executions there are of each name."""
        pages = self.stepfunctions.get_paginator("list_executions").paginate(
            stateMachineArn=self.state_machine
        )
        return Counter(execution["name"] for page in pages for execution in page["executions"])

    def execution_arn(self, name: str) -> str:
        """ARN of the state machine's execution of that name."""
        return f"{self.state_machine.replace(':stateMachine:', ':execution:')}:{name}"

    def fingerprint_row(self, message_id: str) -> dict[str, Any] | None:
        """The row of a message id in the Fingerprints table, in DynamoDB's form."""
        return self.dynamodb.get_item(
            TableName=self.fingerprints_table, Key={"message_id": {"S": message_id}}
        ).get("Item")

    def lease_row(self, message_id: str) -> dict[str, Any]:
        """The row of a message id in the lease, without DynamoDB's types; empty: none."""
        item = self.dynamodb.get_item(
            TableName=self.lease_table, Key={"message_id": {"S": message_id}}
        ).get("Item", {})
        return {name: next(iter(value.values())) for name, value in item.items()}

    def reasons(self) -> list[str]:
        """Why each message in UnstartedQueue is there; see `unstarted`."""
        attributes = [message["MessageAttributes"] for message in self.unstarted()]
        return [one["reason"]["StringValue"] for one in attributes]

    def unstarted(self) -> list[dict[str, Any]]:
        """Everything in UnstartedQueue, in SQS's form; it stays there, but invisible."""
        return self._messages(self.unstarted_queue)

    def _messages(self, queue_url: str) -> list[dict[str, Any]]:
        messages: list[Any] = []
        while received := self.sqs.receive_message(
            QueueUrl=queue_url, MaxNumberOfMessages=10, MessageAttributeNames=["All"]
        ).get("Messages"):
            messages += received
        return messages
