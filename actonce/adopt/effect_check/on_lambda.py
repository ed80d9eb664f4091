"""Calls the effect's function on the embedded AWS, never one of an account."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from actonce.adopt.effect_check.calls import AFTER, CallResult, Event
from actonce.embedded import faults, functions
from actonce.embedded.injected.fault_injection import SLOW
from actonce.stack.embedded_folder import State

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient


@dataclass(slots=True)
class OnLambda:
    """See `calls.Caller`.

    Args:
        lambda_: a client without retries.
        state: of the embedded AWS.
        faults: its folder of faults, by which a process in Python dies before it answers.
        effect: the function that performs, by name or ARN.
        finds: the function that looks up; empty if there is none.
    """

    lambda_: "LambdaClient"
    state: State
    faults: Path
    effect: str
    finds: str
    _typical: float = 0.0

    @property
    def can_find(self) -> bool:
        """See `calls.Caller`."""
        return bool(self.finds)

    def call(self, event: Event, kill: float | None = None, slow: float = 0.0) -> CallResult:
        """See `calls.Caller`."""
        if kill == AFTER or slow:
            fault = f"before:{SLOW}{slow}" if slow else "after:killed"
            planned = {event["message"]["message_id"]: {"perform": [fault]}}
            with faults.around_functions(self.faults, planned):
                return self._call(event)
        if kill is None:
            raw = self._call(event)
            if event["operation"] == "perform" and not raw.failed:
                self._typical = min(self._typical or raw.seconds, raw.seconds)  # no cold start
            return raw
        timer = threading.Timer(kill * self._typical, self.renew)
        timer.start()
        try:
            return self._call(event)
        finally:
            timer.join()

    def at_once(self, events: list[Event]) -> list[CallResult]:
        """See `calls.Caller`."""
        with ThreadPoolExecutor(len(events)) as threads:
            return list(threads.map(self._call, events))

    def renew(self) -> None:
        """See `calls.Caller`; all functions' processes are killed."""
        functions.kill(self.state)

    def wait(self, seconds: float) -> None:
        """See `calls.Caller`."""
        time.sleep(seconds)

    def _call(self, event: Event) -> CallResult:
        function = self.finds if event["operation"] == "find" else self.effect
        began = time.monotonic()
        response = self.lambda_.invoke(FunctionName=function, Payload=json.dumps(event))
        seconds = time.monotonic() - began
        text = response["Payload"].read()
        return CallResult(json.loads(text) if text else None, "FunctionError" in response, seconds)
