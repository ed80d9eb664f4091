"""Rival: `python-dynamodb-lock`, used as its documentation has it: acquire, act, release.

It starts two threads per client. Here they are tasks of the same process, and its sleeps, clocks,
locks and ids are the world's.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer
from python_dynamodb_lock import (  # type: ignore[import-untyped]
    python_dynamodb_lock as library,
)

from lab.conformance.clocks import replaced
from lab.conformance.queues import Record
from lab.conformance.stage import Handler, Stage, Way
from lab.conformance.world import World

_to_wire = TypeSerializer().serialize
_from_wire = TypeDeserializer().deserialize


def _build(stage: Stage) -> Handler:
    client = library.DynamoDBLockClient(
        SimpleNamespace(Table=lambda name: _Table(stage.dynamodb, name)),
        table_name="locks",
        owner_name=stage.world.process.name,
        app_callback_executor=SimpleNamespace(submit=lambda call, *given: call(*given)),
    )

    def handle(record: Record) -> None:
        body = json.loads(record["body"])
        lock = client.acquire_lock(body["message_id"], app_callback=lambda *_: None)
        try:
            stage.effect.perform({"message_id": body["message_id"], "body": record["body"]})
        finally:
            lock.release(best_effort=False)

    return handle


class _Table:
    """What boto3's `Table` resource is to a client: the same requests, with plain values."""

    def __init__(self, client: Any, name: str) -> None:
        self._client = client
        self._name = name

    def __getattr__(self, operation: str) -> Callable[..., dict[str, Any]]:
        call = getattr(self._client, operation)

        def converted(**request: Any) -> dict[str, Any]:
            for part in ("Key", "Item", "ExpressionAttributeValues"):
                if part in request:
                    request[part] = {name: _to_wire(v) for name, v in request[part].items()}
            answer: dict[str, Any] = call(TableName=self._name, **request)
            if "Item" in answer:
                answer = {"Item": {name: _from_wire(v) for name, v in answer["Item"].items()}}
            return answer

        return converted


class _Lock:
    """A re-entrant lock between the tasks of one process."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._holder: int | None = None
        self._depth = 0

    def __enter__(self) -> None:
        me = self._world.task_number
        while self._holder not in (None, me):
            self._world.wait(lambda: self._holder is None)
        self._holder = me
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._holder = None


class _Thread:
    def __init__(self, world: World, target: Callable[[], None]) -> None:
        self._world = world
        self._target = target
        self.daemon = False

    def start(self) -> None:
        self._world.start_task(self._target)


@contextmanager
def _installed(world: World) -> Iterator[None]:
    def thread(*, name: str, target: Callable[[], None]) -> _Thread:  # noqa: ARG001 - its form
        return _Thread(world, target)

    def new_uuid() -> Any:
        return _Id(world.new_id())

    names = {
        "threading": SimpleNamespace(Thread=thread, RLock=lambda: _Lock(world)),
        "time": SimpleNamespace(
            sleep=world.sleep, monotonic=world.monotonic, time=lambda: world.wall().timestamp()
        ),
        "uuid": SimpleNamespace(uuid4=new_uuid),
    }
    with replaced({(library, name): value for name, value in names.items()}):
        yield


class _Id(str):
    __slots__ = ()

    @property
    def hex(self) -> str:
        return str(self)


LOCK_CLIENT = Way(
    "python-dynamodb-lock",
    "python-dynamodb-lock",
    _build,
    installed=_installed,
    # Its three threads wake every five seconds all together; their orders multiply the schedules
    # by thousands, and none of them is needed to see what it does.
    threads_in_order=True,
)
