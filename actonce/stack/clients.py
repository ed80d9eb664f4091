"""How this command reaches AWS: the usual variables, or the embedded AWS."""

import functools
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
    ProfileNotFound,
)

from actonce.stack.discovery import find_all, find_one
from actonce.terminal.errors import Failed

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

# To be told who asks is worth little waiting: STS cannot be reached from every network.
_CALLER_CONFIG = Config(connect_timeout=2, read_timeout=3, retries={"total_max_attempts": 1})

_NO_REGION = (
    "No Region is set: say --region, or set AWS_REGION. For the embedded AWS run actonce up first."
)
_NO_CREDENTIALS = (
    "No credentials of AWS were found ({error}): say --profile, or set the usual variables. For "
    "the embedded AWS run actonce up first."
)
_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


def embedded_variables(endpoint_url: str) -> dict[str, str]:
    """The usual variables that point at the embedded AWS which listens there."""
    return EMBEDDED_CREDENTIALS | {
        "AWS_ENDPOINT_URL": endpoint_url,
        "AWS_DEFAULT_REGION": EMBEDDED_REGION,
        "AWS_REGION": EMBEDDED_REGION,
    }


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, as AWS knows them: the account's number, and an ARN."""

    account: str
    arn: str


@dataclass(slots=True)
class Aws:
    """Makes clients, one per service.

    Args:
        endpoint_url: of the embedded AWS, whose keys and Region are used whatever the variables
            say; None for what the usual variables say.
        profile: whose credentials; None for what the usual variables say.
        region: None for what the usual variables and files say.
    """

    endpoint_url: str | None = None
    profile: str | None = None
    region: str | None = None
    _clients: dict[str, Any] = field(default_factory=dict, repr=False)
    _callers: list[Caller | None] = field(default_factory=list, repr=False)

    def client(self, service: str) -> Any:
        """The client of a service.

        Raises:
            Failed: no Region or credentials are set.
        """
        if service not in self._clients:
            self._clients[service] = self.fresh(service)
        return self._clients[service]

    def fresh(self, service: str, config: Config = _CLIENT_CONFIG) -> Any:
        """A client of its own, for who wants other time-outs, or no call made twice.

        Raises:
            Failed: no Region or credentials are set.
        """
        try:
            return self._make(service, config)
        except NoRegionError as error:
            raise Failed(_NO_REGION) from error
        except ProfileNotFound as error:
            raise Failed(f"{error}: see aws configure list-profiles.") from error
        except BotoCoreError as error:
            raise Failed(f"AWS cannot be reached: {error}") from error

    @property
    def region_name(self) -> str:
        """The Region in which it works.

        Raises:
            Failed: none is set.
        """
        return str(self.client("cloudformation").meta.region_name)

    def caller(self) -> Caller | None:
        """Who asks; None: that cannot be known. It is asked once.

        Raises:
            Failed: there are no credentials, without which nothing else can be asked either.
        """
        if not self._callers:
            self._callers.append(self._caller())
        return self._callers[0]

    def _caller(self) -> Caller | None:
        try:
            answer = self.fresh("sts", _CALLER_CONFIG).get_caller_identity()
        except (NoCredentialsError, PartialCredentialsError, CredentialRetrievalError) as error:
            raise Failed(_NO_CREDENTIALS.format(error=str(error).rstrip("."))) from error
        except (ClientError, BotoCoreError):
            return None
        return Caller(answer["Account"], answer["Arn"])

    def name_to_others(self, variables: MutableMapping[str, str]) -> None:
        """Change an environment so that what runs with it reaches the same by the usual variables.

        For code that makes clients of its own; what needs no variable leaves them as they are.
        """
        if self.endpoint_url is not None:
            variables.update(embedded_variables(self.endpoint_url))
            return
        if self.profile is not None:
            for name in _KEYS:  # they would stand in front of it
                variables.pop(name, None)
            variables["AWS_PROFILE"] = self.profile
        if self.region is not None:
            variables.update(AWS_DEFAULT_REGION=self.region, AWS_REGION=self.region)

    def _make(self, service: str, config: Config) -> Any:
        if self.endpoint_url is not None:
            return _without_profile().client(  # type: ignore[call-overload]
                service,
                endpoint_url=self.endpoint_url,
                region_name=EMBEDDED_REGION,
                aws_access_key_id=EMBEDDED_CREDENTIALS["AWS_ACCESS_KEY_ID"],
                aws_secret_access_key=EMBEDDED_CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
                config=config,
            )
        make = boto3.client if self.profile is None else _of_profile(self.profile).client
        return make(service, region_name=self.region, config=config)  # type: ignore[call-overload]


@functools.cache
def _without_profile() -> boto3.Session:
    """For the embedded AWS, which a profile that is named and not there must not stop."""
    nothing = {"profile": (None, None, None, None)}
    return boto3.Session(botocore_session=botocore.session.Session(session_vars=nothing))


@functools.cache
def _of_profile(name: str) -> boto3.Session:
    return boto3.Session(profile_name=name)


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
    def service(self) -> str:
        """AWS::StackName, the dimension of its functions' metrics; a nested one's is an ARN."""
        return self.name.rpartition(":stack/")[2].partition("/")[0]

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
    def region_and_account(self) -> tuple[str, str]:
        """Where the stack is, and whose."""
        region, account = self.outputs["AlarmTopicArn"].split(":")[3:5]
        return region, account

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
        """What performs effects, by name or ARN; none where a lock's consumer does, the example."""
        return self.outputs["EffectFunctionArn"]

    @property
    def state_machine(self) -> str:
        """ARN of ProcessMessage, which only a stack that starts executions has."""
        return self.outputs["ProcessMessageArn"]

    @property
    def starter_function(self) -> str:
        """Name of what the queue feeds: StarterFunction, or ConsumerFunction in its place."""
        return self.outputs["StarterFunctionName"]

    @property
    def appointments_function(self) -> str:
        """Name of AppointmentsFunction, the example where executions are started."""
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
