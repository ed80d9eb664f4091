"""boto3-shaped clients: each call is a step, at which the service may fail as AWS's do."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from lab.conformance import dynamodb
from lab.conformance.process import Hazard, Unsupported
from lab.conformance.world import World

_READS = frozenset({"get_item", "query"})


class Client:
    """A client of one service.

    Hazards: throttled; the answer lost; the answer lost and the call repeated by the SDK, which is
    what botocore does by itself. A read that is lost or repeated is no other than one throttled.

    Attributes:
        calls: each one that the service did or refused: its name, and its request.
    """

    exceptions = SimpleNamespace(
        ConditionalCheckFailedException=dynamodb.ConditionalCheckFailedException,
        TransactionCanceledException=dynamodb.TransactionCanceledException,
    )

    def __init__(self, world: World, service: Any) -> None:
        self._world = world
        self._service = service
        self.calls: list[tuple[str, Mapping[str, Any]]] = []

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        if operation == "meta" or operation.startswith("__"):
            raise AttributeError(operation)  # Powertools registers its name where it can
        api_name = "".join(word.capitalize() for word in operation.split("_"))
        act = getattr(self._service, operation, None)
        if act is None:
            raise Unsupported(api_name)

        def call(**request: Any) -> Any:
            def now() -> Any:
                self.calls.append((api_name, request))
                return act(**request)

            def throttled() -> Any:
                raise ClientError(
                    {"Error": {"Code": "ThrottlingException", "Message": "Rate exceeded"}}, api_name
                )

            def lost() -> Any:
                _quietly(now)
                raise ReadTimeoutError(endpoint_url="https://aws")

            def repeated() -> Any:
                _quietly(now)
                return now()

            otherwise = {Hazard.THROTTLED: throttled}
            if operation not in _READS:
                otherwise |= {Hazard.ANSWER_LOST: lost, Hazard.REPEATED: repeated}
            return self._world.step(
                lambda: f"{api_name} {_described(request)}", now, otherwise=otherwise, shown=shown
            )

        return call


def _quietly(act: Callable[[], Any]) -> None:
    with suppress(ClientError):  # the caller never hears of it
        act()


def _described(request: Mapping[str, Any]) -> str:
    """A request in one line: where, which, and on what condition."""
    if "TransactItems" in request:
        inner = [action for item in request["TransactItems"] for action in item.values()]
        return " and ".join(map(_described, inner))
    if "QueueUrl" in request:
        return str(request["QueueUrl"])
    if "name" in request:
        return str(request["name"])
    if "Updates" in request:
        return ", ".join(f"{one['Action']} {one.get('Name')}" for one in request["Updates"])
    if "DurableExecutionName" in request:
        return str(request["DurableExecutionName"])
    text = f"{request.get('TableName')} {row(request.get('Key') or request.get('Item') or {})}"
    if update := request.get("UpdateExpression"):
        text += f" {_filled(update, request)}"
    if condition := request.get("ConditionExpression"):
        text += f" IF {_filled(condition, request)}"
    return text


def _filled(expression: str, request: Mapping[str, Any]) -> str:
    """An expression with what its placeholders stand for."""
    meant = dict(request.get("ExpressionAttributeNames") or {})
    for token, value in (request.get("ExpressionAttributeValues") or {}).items():
        meant[token] = _short(next(iter(value.values())))
    for token in sorted(meant, key=len, reverse=True):
        expression = expression.replace(token, meant[token])
    return expression


def row(item: Mapping[str, Mapping[str, Any]]) -> str:
    """An item as a person reads it."""
    told = [f"{name}={_short(next(iter(value.values())))}" for name, value in item.items()]
    return f"{{{', '.join(told)}}}"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:12]}…"


def shown(answer: Any) -> str:
    """An answer, or an error, in one line."""
    if isinstance(answer, ClientError):
        found: Any = answer.response.get("Item")
        code = answer.response["Error"]["Code"]
        return f"{code} {row(found)}" if found else code
    if isinstance(answer, ReadTimeoutError):
        return "no answer"
    if isinstance(answer, Exception):
        return f"{type(answer).__name__}: {answer}"
    if isinstance(answer, Mapping):
        if "Item" in answer:
            return row(answer["Item"])
        if "Items" in answer:
            return f"{len(answer['Items'])} found"
    return "done"
