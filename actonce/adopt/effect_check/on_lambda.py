"""The effect as a function of the embedded AWS; of an account nobody's function is tried out."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from actonce.adopt.effect_check.calls import End, Event, Raw
from actonce.embedded import functions
from actonce.stack.embedded_folder import State

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient


@dataclass(slots=True)
class OnLambda:
    """See `calls.Caller`.

    Args:
        lambda_: a client that repeats nothing.
        state: of the embedded AWS.
        effect: the function that performs, by name or ARN.
        finds: the one that looks up; empty: there is none.
        timeout: of the one that performs, in seconds.
    """

    lambda_: "LambdaClient"
    state: State
    effect: str
    finds: str
    timeout: float
    kills: tuple[float, ...] = (0.3, 0.7)  # after a call nothing of it runs
    _typical: float = 0.0

    @property
    def can_find(self) -> bool:
        """See `calls.Caller`."""
        return bool(self.finds)

    def call(self, event: Event, kill: float | None = None) -> Raw:
        """See `calls.Caller`."""
        if kill is None:
            raw = self._call(event)
            if raw.end is End.ANSWERED and event["operation"] == "perform":
                self._typical = max(self._typical, raw.seconds)
            return raw
        timer = threading.Timer(kill * self._typical, self.renew)
        timer.start()
        try:
            return self._call(event)
        finally:
            timer.join()

    def at_once(self, events: list[Event]) -> list[Raw]:
        """See `calls.Caller`."""
        with ThreadPoolExecutor(len(events)) as threads:
            return list(threads.map(self._call, events))

    def renew(self) -> None:
        """See `calls.Caller`; all functions' processes are killed."""
        functions.kill(self.state)

    def wait(self, seconds: float) -> None:
        """See `calls.Caller`."""
        time.sleep(seconds)

    def _call(self, event: Event) -> Raw:
        function = self.finds if event["operation"] == "find" else self.effect
        began = time.monotonic()
        response = self.lambda_.invoke(FunctionName=function, Payload=json.dumps(event))
        seconds = time.monotonic() - began
        text = response["Payload"].read()
        end = End.FAILED if "FunctionError" in response else End.ANSWERED
        return Raw(end, json.loads(text) if text else None, seconds)
