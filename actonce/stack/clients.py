"""Clients of AWS or of the embedded AWS, and the ActOnce stack that a command works on.

A team nests ActOnce in its own template (docs/adopting.md), and knows its own stack's name, not the
name that CloudFormation gives the nested one. `PARENT/LogicalId` names one of several.
"""

import functools
import re
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
    ProfileNotFound,
)

from actonce.terminal.errors import Failed, UsageError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_logs import CloudWatchLogsClient
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_stepfunctions import SFNClient

EMBEDDED_REGION = "us-east-1"
EMBEDDED_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
_CLIENT_CONFIG: Final[Mapping[str, Any]] = {
    "connect_timeout": 5,
    "read_timeout": 60,
    "max_pool_connections": 32,
    "retries": {"mode": "standard", "total_max_attempts": 5},
}

# Not worth a long wait: STS cannot be reached from every network.
_CALLER_CONFIG: Final[Mapping[str, Any]] = {
    "connect_timeout": 2,
    "read_timeout": 3,
    "retries": {"total_max_attempts": 1},
}

_IF_EMBEDDED = (
    "If you mean this folder's embedded AWS: it is not up, and actonce up brings it up. If AWS, "
)
_NO_REGION = (
    f"{_IF_EMBEDDED}no Region is set: say --region, set AWS_REGION, or write region into "
    "samconfig.toml."
)
_NO_CREDENTIALS = (
    f"{_IF_EMBEDDED}no credentials were found ({{error}}): say --profile, or set the usual "
    "variables."
)
OF_THE_AUDIT = ("RecordsBucketName", "AuditBucketName", "AuditStateMachineArn")
"""Outputs of the stack that ActOnce is nested in, if it keeps records and audits the days."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,127}")
_ARN = re.compile(r"arn:[a-z0-9-]+:cloudformation:[^:\s]+:[0-9]{12}:stack/[^/\s]+/[^/\s]+")
_DEEPEST = 5  # levels of stacks within stacks that are looked into
_NESTED = ("AWS::CloudFormation::Stack",)


def embedded_variables(endpoint_url: str) -> dict[str, str]:
    """The usual variables, for the embedded AWS at that address."""
    return EMBEDDED_CREDENTIALS | {
        "AWS_ENDPOINT_URL": endpoint_url,
        "AWS_DEFAULT_REGION": EMBEDDED_REGION,
        "AWS_REGION": EMBEDDED_REGION,
    }


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose credentials are used: the account's number, and an ARN."""

    account: str
    arn: str


@dataclass
class Aws:
    """Makes clients, one per service, whichever thread asks first.

    Args:
        endpoint_url: of the embedded AWS, which is used with its own keys and Region; None for what
            the usual variables say.
        profile: of the credentials; None for what the usual variables say.
        region: None for what the usual variables and files say.
    """

    endpoint_url: str | None = None
    profile: str | None = None
    region: str | None = None
    _clients: dict[str, Any] = field(default_factory=dict, repr=False)
    # boto3 shares clients between threads, but makes each in one thread at a time.
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def client(self, service: str) -> Any:
        """The client of a service.

        Raises:
            UsageError: no Region is set.
            Failed: no such profile, or AWS cannot be reached.
        """
        with self._lock:
            if service not in self._clients:
                self._clients[service] = self.fresh(service)
            return self._clients[service]

    def fresh(self, service: str, config: Mapping[str, Any] = _CLIENT_CONFIG) -> Any:
        """A new client, for other time-outs or without retries.

        Args:
            service: boto3's name of it.
            config: arguments of botocore's `Config`.

        Raises:
            UsageError: no Region is set.
            Failed: no such profile, or AWS cannot be reached.
        """
        import boto3  # noqa: PLC0415 - most of a command's time, and no --help needs it
        from botocore.config import Config  # noqa: PLC0415 - likewise

        try:
            make: Any = boto3.client
            more = {"region_name": self.region}
            if self.endpoint_url is not None:
                make = _session(None).client
                more = {"endpoint_url": self.endpoint_url, "region_name": EMBEDDED_REGION}
                more |= {name.lower(): value for name, value in EMBEDDED_CREDENTIALS.items()}
            elif self.profile is not None:
                make = _session(self.profile).client
            return make(service, config=Config(**config), **more)
        except NoRegionError as error:
            raise UsageError(_NO_REGION) from error
        except ProfileNotFound as error:
            raise Failed(f"{error}: see aws configure list-profiles.") from error
        except BotoCoreError as error:
            raise Failed(f"AWS cannot be reached: {error}") from error

    @property
    def region_name(self) -> str:
        """The Region in which it works.

        Raises:
            UsageError: none is set.
        """
        return str(self.client("cloudformation").meta.region_name)

    @functools.cached_property
    def caller(self) -> Caller | None:
        """Whose credentials are used; None if AWS does not say. Asks AWS once.

        Raises:
            Failed: there are no credentials.
        """
        try:
            answer = self.fresh("sts", _CALLER_CONFIG).get_caller_identity()
        except (NoCredentialsError, PartialCredentialsError, CredentialRetrievalError) as error:
            raise Failed(_NO_CREDENTIALS.format(error=str(error).rstrip("."))) from error
        except (ClientError, BotoCoreError):
            return None
        return Caller(answer["Account"], answer["Arn"])

    def now(self) -> datetime:
        """The time by AWS's clock, to the second.

        Raises:
            Failed: AWS's answer has no time.
            ClientError: AWS refuses.
        """
        answer = self.client("sts").get_caller_identity()
        date = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
        if date is None:
            raise Failed("AWS does not say what time it is: something in between took it away.")
        return parsedate_to_datetime(date)


@functools.cache
def _session(profile: str | None) -> Any:
    """With that profile's credentials; None: with no profile's, also if AWS_PROFILE is missing."""
    import boto3  # noqa: PLC0415 - as above
    import botocore.session  # noqa: PLC0415 - likewise

    if profile is not None:
        return boto3.Session(profile_name=profile)
    nothing = {"profile": (None, None, None, None)}
    return boto3.Session(botocore_session=botocore.session.Session(session_vars=nothing))


T = TypeVar("T")


class _Read(Generic[T]):
    """An attribute that is read off the stack; a KeyError if it needs an output that is missing."""

    def __init__(self, read: Callable[["Stack"], T]) -> None:
        self._read = read

    def __get__(self, stack: "Stack", _: type) -> T:
        return self._read(stack)


@dataclass(frozen=True, slots=True)
class Stack:
    """A deployed stack: its name, its outputs, and clients for its services.

    Attributes:
        name: for CloudFormation: its name, or its ARN if it is nested.
        outputs: by name; also those of `OF_THE_AUDIT` that the stack around it has.
        path: see `called`.
        options: what a command line needs to work on this stack; see `endpoint.options`.
        where: the line that tells the person where a command works; see `endpoint.line`.
        id: CloudFormation's, which no other stack of that name ever has; empty: it was not asked.
    """

    aws: Aws
    name: str
    outputs: dict[str, str]
    path: str = ""
    options: str = ""
    where: str = ""
    id: str = ""

    dynamodb: "ClassVar[_Read[DynamoDBClient]]" = _Read(lambda stack: stack.aws.client("dynamodb"))
    lambda_: "ClassVar[_Read[LambdaClient]]" = _Read(lambda stack: stack.aws.client("lambda"))
    logs: "ClassVar[_Read[CloudWatchLogsClient]]" = _Read(lambda stack: stack.aws.client("logs"))
    sqs: "ClassVar[_Read[SQSClient]]" = _Read(lambda stack: stack.aws.client("sqs"))
    stepfunctions: "ClassVar[_Read[SFNClient]]" = _Read(
        lambda stack: stack.aws.client("stepfunctions")
    )

    requests_queue = _Read(lambda stack: stack.outputs["RequestsQueueUrl"])
    unstarted_queue = _Read(lambda stack: stack.outputs["UnstartedQueueUrl"])
    dead_letter_queue = _Read(lambda stack: stack.outputs["DeadLetterQueueUrl"])
    fingerprints_table = _Read(lambda stack: stack.outputs["FingerprintsTableName"])
    effects_table = _Read(lambda stack: stack.outputs["EffectsTableName"])
    """The table that the effects are in; missing if the stack does not know one."""
    effects_attributes = _Read(lambda stack: stack.outputs.get("EffectsAttributes"))
    """Of that table, see `Attributes.of_output`."""
    effect_function = _Read(lambda stack: stack.outputs["EffectFunctionArn"])
    """What performs effects, by name or ARN."""
    find_function = _Read(lambda stack: stack.outputs.get("FindFunctionArn"))
    """What looks up effects, by name or ARN; None if a person has to."""
    state_machine = _Read(lambda stack: stack.outputs["ProcessMessageArn"])
    starter_function = _Read(lambda stack: stack.outputs["StarterFunctionName"])
    """The function that the queue feeds."""
    starter_log_group = _Read(lambda stack: stack.outputs["StarterLogGroupName"])
    start_executions = _Read(lambda stack: stack.outputs.get("StartExecutions"))
    """`always`, `on-trouble`, or None: the stack does not say, and starts one of each message."""
    version = _Read(lambda stack: stack.outputs.get("ActOnceVersion"))
    """Of the release that it was deployed from; None for a release before this output."""

    @classmethod
    def find(cls, aws: Aws, name: str) -> "Stack":
        """The ActOnce stack of that name, or the only one nested in the stack of that name.

        Raises:
            UsageError: no stack can have this name; or several are nested in it, which are named.
            Failed: there is none, or AWS refuses.
        """
        found = cls.find_all(aws, name)
        if len(found) > 1:
            paths = ", ".join(sorted(one.path for one in found))
            raise UsageError(
                f"The stack {name!r} has {len(found)} ActOnce stacks in it: say which with "
                f"--stack-name, one of {paths}."
            )
        return found[0]

    @classmethod
    def find_all(cls, aws: Aws, name: str) -> "list[Stack]":
        """The ActOnce stack of that name, or all that are nested in it; one at least.

        Raises:
            UsageError: no stack can have this name.
            Failed: there is none, or AWS refuses.
        """
        root, *inside = [name] if name.startswith("arn:") else name.split("/")
        if not (_NAME.fullmatch(root) or _ARN.fullmatch(root)):
            raise UsageError(
                f"--stack-name {name!r}: a stack's name has letters, digits and hyphens, a letter "
                "first, 128 at most; a nested one is PARENT/LogicalId."
            )
        above: dict[str, str] = {}
        try:
            for logical_id in inside:
                above = outputs_of(aws, root)
                root = resources_of(aws, root, _NESTED).get(logical_id, "")
                if not root:
                    raise Failed(f"There is no stack {name!r} here: {logical_id!r} is not nested.")
            found = list(_within(aws, root, name, above))
        except ClientError as error:
            if error.response["Error"]["Code"] == "ValidationError":
                raise Failed(
                    f"There is no stack named {name!r} here. Deploy it (sam deploy, or actonce "
                    "up), or name another with --stack-name, or another place with --aws or "
                    "--embedded."
                ) from error
            raise Failed(f"CloudFormation: {error}") from error
        except BotoCoreError as error:
            raise Failed(f"AWS cannot be reached: {error}") from error
        if not found:
            raise Failed(f"The stack {name!r} is not an ActOnce stack, or is not deployed whole.")
        return found

    @property
    def display_name(self) -> str:
        """As a person names it: `shop`, or `shop/Once` if it is nested."""
        return self.path or self.name

    @property
    def service(self) -> str:
        """AWS::StackName, the dimension of its functions' metrics; a nested one's is an ARN."""
        return self.name.rpartition(":stack/")[2].partition("/")[0]

    @property
    def region_and_account(self) -> tuple[str, str]:
        """The Region that the stack is in, and its account."""
        region, account = self.outputs["AlarmTopicArn"].split(":")[3:5]
        return region, account

    @property
    def is_fifo(self) -> bool:
        """Whether RequestsQueue, and UnstartedQueue with it, is a FIFO queue."""
        return self.requests_queue.endswith(".fifo")

    def is_replaced(self) -> bool:
        """Ask AWS whether the stack that was found is gone, or another has its name."""
        try:
            now = described(self.aws, self.name)
        except ClientError as error:
            if error.response["Error"]["Code"] == "ValidationError":
                return True
            raise
        return bool(now["StackId"] != self.id or now["StackStatus"].startswith("DELETE"))

    def created_at(self) -> datetime:
        """Ask AWS when the stack was created (UTC)."""
        made: datetime = described(self.aws, self.name)["CreationTime"]
        return made.astimezone(UTC)

    def execution_arn(self, name: str) -> str:
        """ARN of ProcessMessage's execution of that name."""
        return f"{self.state_machine.replace(':stateMachine:', ':execution:')}:{name}"


def described(aws: Aws, name: str) -> dict[str, Any]:
    """What CloudFormation says of a stack, by its name or ARN."""
    answer: dict[str, Any] = aws.client("cloudformation").describe_stacks(StackName=name)
    (stack,) = answer["Stacks"]
    return dict(stack)


def outputs_of(aws: Aws, name: str) -> dict[str, str]:
    """A stack's outputs, by name."""
    return _outputs(described(aws, name))


def _outputs(described: Mapping[str, Any]) -> dict[str, str]:
    return {one["OutputKey"]: one["OutputValue"] for one in described.get("Outputs", [])}


def _within(
    aws: Aws,
    name: str,
    path: str,
    above: Mapping[str, str],
    depth: int = 0,
) -> Iterator[Stack]:
    """The ActOnce stacks in a stack; `above` has the outputs of the stack around it."""
    found = described(aws, name)
    outputs = _outputs(found)
    if "ProcessMessageArn" in outputs:
        of_the_audit = {one: above[one] for one in OF_THE_AUDIT if one in above}
        yield Stack(aws, name, of_the_audit | outputs, path, id=found["StackId"])
    elif "LedgerTableName" in outputs:
        raise Failed(
            f"The stack {path!r} has a lease of an earlier release, which this one does not know: "
            "decide its dead letters with the release that it was deployed from."
        )
    elif depth < _DEEPEST:
        for logical_id, nested in sorted(resources_of(aws, name, _NESTED).items()):
            yield from _within(aws, nested, f"{path}/{logical_id}", outputs, depth + 1)


def resources_of(aws: Aws, name: str, types: Collection[str]) -> dict[str, str]:
    """A stack's own resources of these types: physical ids by logical ids."""
    pages = aws.client("cloudformation").get_paginator("list_stack_resources")
    return {
        one["LogicalResourceId"]: one["PhysicalResourceId"]
        for page in pages.paginate(StackName=name)
        for one in page["StackResourceSummaries"]
        # A resource that is not created yet has no physical id.
        if one["ResourceType"] in types
        and one.get("PhysicalResourceId")
        and one["ResourceStatus"] != "DELETE_COMPLETE"
    }
