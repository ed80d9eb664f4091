"""How this command reaches AWS: the usual variables, or the embedded AWS."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from actonce.errors import Failed
from actonce.stacks import find_all, find_one

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_logs import CloudWatchLogsClient
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_stepfunctions import SFNClient

EMBEDDED_REGION = "us-east-1"
EMBEDDED_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}

_CLIENT_CONFIG = Config(
    connect_timeout=5,
    read_timeout=60,
    max_pool_connections=32,
    retries={"mode": "standard", "total_max_attempts": 5},
)


@dataclass(slots=True)
class Aws:
    """Makes clients, one per service.

    Args:
        endpoint_url: of the embedded AWS; None for what the usual variables say.
    """

    endpoint_url: str | None = None
    _clients: dict[str, Any] = field(default_factory=dict, repr=False)

    def client(self, service: str) -> Any:
        """The client of a service.

        Raises:
            Failed: no Region or credentials are set.
        """
        if service not in self._clients:
            try:
                self._clients[service] = self._make(service)
            except BotoCoreError as error:
                raise Failed(f"AWS cannot be reached: {error}") from error
        return self._clients[service]

    def fresh(self, service: str, config: Config) -> Any:
        """A client of its own, for who wants other time-outs, or no call made twice.

        Raises:
            Failed: no Region or credentials are set.
        """
        try:
            return self._make(service, config)
        except BotoCoreError as error:
            raise Failed(f"AWS cannot be reached: {error}") from error

    def _make(self, service: str, config: Config = _CLIENT_CONFIG) -> Any:
        if self.endpoint_url is None:
            return boto3.client(service, config=config)  # type: ignore[call-overload]
        return boto3.client(  # type: ignore[call-overload]
            service,
            endpoint_url=self.endpoint_url,
            region_name=EMBEDDED_REGION,
            aws_access_key_id=EMBEDDED_CREDENTIALS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=EMBEDDED_CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
            config=config,
        )


@dataclass(frozen=True, slots=True)
class Stack:
    """A deployed stack: its name, its outputs, and clients for what it is made of.

    Attributes:
        name: CloudFormation's: its name, or its ARN where it is nested in a team's own.
        outputs: by name.
        path: see `called`.
    """

    aws: Aws
    name: str
    outputs: dict[str, str]
    path: str = ""

    @classmethod
    def find(cls, aws: Aws, name: str) -> "Stack":
        """Read the stack's outputs from CloudFormation; of the ActOnce stack nested in it, if so.

        Raises:
            WrongUse: no stack can have this name, or several are nested in it.
            Failed: there is no such stack, or it is not this project's, or AWS says no.
        """
        found = find_one(aws.client("cloudformation"), name)
        return cls(aws, found.name, found.outputs, found.path)

    @classmethod
    def find_all(cls, aws: Aws, name: str) -> "list[Stack]":
        """As `find`, for a stack that may have several nested in it; one at least."""
        found = find_all(aws.client("cloudformation"), name)
        return [cls(aws, one.name, one.outputs, one.path) for one in found]

    @property
    def called(self) -> str:
        """As a person names it: `shop`, or `shop/Once` where it is nested in theirs."""
        return self.path or self.name

    @property
    def sqs(self) -> "SQSClient":
        """Client of SQS."""
        return self.aws.client("sqs")  # type: ignore[no-any-return]

    @property
    def stepfunctions(self) -> "SFNClient":
        """Client of Step Functions."""
        return self.aws.client("stepfunctions")  # type: ignore[no-any-return]

    @property
    def dynamodb(self) -> "DynamoDBClient":
        """Client of DynamoDB."""
        return self.aws.client("dynamodb")  # type: ignore[no-any-return]

    @property
    def logs(self) -> "CloudWatchLogsClient":
        """Client of CloudWatch Logs."""
        return self.aws.client("logs")  # type: ignore[no-any-return]

    @property
    def lambda_(self) -> "LambdaClient":
        """Client of Lambda."""
        return self.aws.client("lambda")  # type: ignore[no-any-return]

    @property
    def requests_queue(self) -> str:
        """URL of RequestsQueue."""
        return self.outputs["RequestsQueueUrl"]

    @property
    def is_fifo(self) -> bool:
        """Whether RequestsQueue, and UnstartedQueue with it, is a FIFO queue."""
        return self.requests_queue.endswith(".fifo")

    @property
    def unstarted_queue(self) -> str:
        """URL of UnstartedQueue."""
        return self.outputs["UnstartedQueueUrl"]

    @property
    def dead_letter_queue(self) -> str:
        """URL of DeadLetterQueue."""
        return self.outputs["DeadLetterQueueUrl"]

    @property
    def fingerprints_table(self) -> str:
        """Name of the Fingerprints table."""
        return self.outputs["FingerprintsTableName"]

    @property
    def ledger_table(self) -> str | None:
        """Name of the table of ledger and lease; None where executions are started."""
        return self.outputs.get("LedgerTableName")

    @property
    def is_example(self) -> bool:
        """Whether the effect is the example's appointments, and not a team's own function."""
        return "AppointmentsTableName" in self.outputs

    @property
    def appointments_table(self) -> str:
        """Name of the Appointments table, which only the example has."""
        return self.outputs["AppointmentsTableName"]

    @property
    def find_function(self) -> str | None:
        """What looks up effects, by name or ARN; None where a person does."""
        return self.outputs.get("FindFunctionArn")

    @property
    def effect_function(self) -> str:
        """What performs effects, by name or ARN."""
        return self.outputs["EffectFunctionArn"]

    @property
    def state_machine(self) -> str:
        """ARN of ProcessMessage."""
        return self.outputs["ProcessMessageArn"]

    @property
    def starter_function(self) -> str:
        """Name of what the queue feeds: StarterFunction, or ConsumerFunction in its place."""
        return self.outputs["StarterFunctionName"]

    @property
    def appointments_function(self) -> str:
        """Name of AppointmentsFunction."""
        return self.outputs["AppointmentsFunctionName"]

    @property
    def starter_log_group(self) -> str:
        """Name of the starter's log group."""
        return self.outputs["StarterLogGroupName"]

    @property
    def version(self) -> str | None:
        """Of the release that it was deployed from; None: one that did not say it yet."""
        return self.outputs.get("ActOnceVersion")

    def execution_arn(self, name: str) -> str:
        """ARN of ProcessMessage's execution of that name."""
        return f"{self.state_machine.replace(':stateMachine:', ':execution:')}:{name}"
