"""Sending batches of messages to SQS."""

import math
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from botocore import exceptions as botocore_exceptions
from botocore.exceptions import ClientError

from actonce_core.transient import error_code, is_transient, is_transient_code

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import BatchResultErrorEntryTypeDef

MAX_BATCH: Final = 10
"""Most messages of a batch (SQS: SendMessageBatch)."""

MAX_BYTES: Final = 1024 * 1024
"""Largest message, and largest sum of a batch's messages, in bytes of UTF-8 (SQS: "Quotas")."""

_NO_ANSWER: Final = (botocore_exceptions.ConnectionError, botocore_exceptions.HTTPClientError)
_ONE_OF_THE_MESSAGES: Final = frozenset(
    {"BatchRequestTooLong", "InvalidMessageContents", "InvalidParameterValue"}
)


def is_refused(failure: "BatchResultErrorEntryTypeDef") -> bool:
    """Whether this entry of a batch would fail again."""
    return failure["SenderFault"] and not is_transient_code(failure["Code"])


class Sendable(Protocol):
    """A message: its text, its size in bytes of UTF-8, what a FIFO queue needs besides."""

    @property
    def body(self) -> str: ...  # noqa: D102 - see the class
    @property
    def size(self) -> int: ...  # noqa: D102
    @property
    def fifo(self) -> Mapping[str, object]: ...  # noqa: D102


M = TypeVar("M", bound=Sendable)


def batches(
    messages: Iterable[M],
    most: int = MAX_BATCH,
    apart: Callable[[M], object] = id,
) -> Iterator[list[M]]:
    """Put messages together, in their order, as SQS takes them: 1 MiB in total.

    Of those for which `apart` says the same there is one in a batch.
    """
    batch: list[M] = []
    size = 0
    for message in messages:
        is_full = len(batch) == most or size + message.size > MAX_BYTES
        if batch and (is_full or apart(message) in map(apart, batch)):
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += message.size
    if batch:
        yield batch


@dataclass(slots=True)
class Answered(Generic[M]):
    """What one attempt came to.

    Attributes:
        accepted: messages that SQS took, each with its SQS id.
        refused: messages that it would refuse again, each with the reason.
        again: messages to be sent again, each with the reason.
        any_answer: SQS answered at all.
    """

    accepted: list[tuple[M, str]] = field(default_factory=list)
    refused: list[tuple[M, str]] = field(default_factory=list)
    again: list[tuple[M, str]] = field(default_factory=list)
    any_answer: bool = True


class BatchSender(Generic[M]):
    """Sends batches; what SQS was too busy for is sent again with back-off and full jitter.

    A message may be in the queue twice if SQS took it and its answer was lost. That is what the
    execution's name is for. Batches may be sent from several threads.

    Args:
        sqs: a client.
        queue_url: where to.
        retry_for: seconds after which what a batch could not send is given up.
        stopping: once it is set, nothing is sent any more.
        before: called before each attempt with the messages' number and the seconds since the
            first; False: there will be no further attempt.

    Attributes:
        answered_at: when SQS answered last, by the monotonic clock.
    """

    def __init__(
        self,
        sqs: "SQSClient",
        queue_url: str,
        *,
        retry_for: float,
        stopping: threading.Event,
        before: Callable[[int, float], bool] = lambda _number, _seconds: True,
    ) -> None:
        self._sqs = sqs
        self._queue_url = queue_url
        self._retry_for = retry_for
        self._stopping = stopping
        self._before = before
        self.answered_at = -math.inf

    def send(self, batch: Sequence[M], report: Callable[[Answered[M]], None]) -> int:
        """Send one batch until nothing of it is to be sent again, or that is given up.

        Args:
            batch: what SQS takes in one request.
            report: told of each attempt; what it gives up comes last, in `again`.

        Returns:
            How many attempts were made, if some messages were given up; 0: none was.

        Raises:
            ClientError: nothing can be sent (no such queue, not allowed).
        """
        began = time.monotonic()
        rest, attempt = list(batch), 0
        while True:
            if not self._before(len(rest), time.monotonic() - began):
                return attempt + 1
            answered = self._try(rest)
            if answered.any_answer:
                self.answered_at = time.monotonic()
            given_up = False
            if answered.again:
                pause = random.uniform(0, min(5.0, 0.2 * 2**attempt))  # noqa: S311 - jitter
                too_late = time.monotonic() + pause > began + self._retry_for
                given_up = too_late or self._stopping.wait(pause)
            attempt += 1
            again = answered.again
            if not given_up:
                answered.again = []
            report(answered)
            if given_up:
                return attempt
            if not again:
                return 0
            rest = [message for message, _ in again]

    def _try(self, messages: Sequence[M]) -> Answered[M]:
        entries: list[Any] = [
            {"Id": str(index), "MessageBody": message.body, **message.fifo}
            for index, message in enumerate(messages)
        ]
        try:
            answer = self._sqs.send_message_batch(QueueUrl=self._queue_url, Entries=entries)
        except _NO_ANSWER as error:
            return Answered(again=[(one, str(error)) for one in messages], any_answer=False)
        except ClientError as error:
            return self._try_less(messages, error)
        left = dict(enumerate(messages))
        answered: Answered[M] = Answered()
        for success in answer.get("Successful", []):
            answered.accepted.append((left.pop(int(success["Id"])), success["MessageId"]))
        for failure in answer.get("Failed", []):
            reason = f"{failure['Code']}: {failure.get('Message', '')}".removesuffix(": ")
            whose = answered.refused if is_refused(failure) else answered.again
            whose.append((left.pop(int(failure["Id"])), reason))
        answered.again += [(one, "SQS did not answer for it.") for one in left.values()]
        return answered

    def _try_less(self, messages: Sequence[M], error: ClientError) -> Answered[M]:
        """After the whole request was refused: one message must not keep its neighbours back."""
        if is_transient(error):
            return Answered(again=[(one, str(error)) for one in messages])
        if error_code(error) not in _ONE_OF_THE_MESSAGES:
            raise error
        if len(messages) == 1:
            return Answered(refused=[(messages[0], str(error))])
        middle = len(messages) // 2
        first, second = self._try(messages[:middle]), self._try(messages[middle:])
        return Answered(
            first.accepted + second.accepted,
            first.refused + second.refused,
            first.again + second.again,
        )


class RateLimiter:
    """Lets messages through evenly, from several threads.

    Invariant: in any span of `s` seconds no more than `rate * s` messages plus one batch.

    Args:
        rate: messages a second; None: as many as there can be.
        sleep: waits so many seconds; true if all is being stopped.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        rate: float | None,
        sleep: Callable[[float], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._between = 1 / rate if rate else 0.0
        self._sleep = sleep
        self._clock = clock
        self._lock = threading.Lock()
        self._free_at = clock()

    def wait(self, messages: int = 1) -> bool:
        """Wait until these messages may go; False if they may not, for all is being stopped."""
        with self._lock:
            now = self._clock()
            turn = max(now, self._free_at)
            self._free_at = turn + messages * self._between
        return not self._sleep(turn - now)
