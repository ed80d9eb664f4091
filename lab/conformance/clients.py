"""Clients with boto3's interface: each call is a step, which may fail as AWS's calls do."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from lab.conformance.process import Hazard, Unsupported
from lab.conformance.world import World

_READS = frozenset({"get_item", "query"})


class Client:
    """A client of one service.

    Hazards: throttled; the answer lost; the answer lost and the call repeated, as botocore does by
    itself. For a read the latter two are the same as throttling.

    Attributes:
        calls: name and request of each call that reached the service.
    """

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
                lambda: f"{api_name} {_described(request)}",
                now,
                otherwise=otherwise,
                format_answer=format_answer,
            )

        return call


def _quietly(act: Callable[[], Any]) -> None:
    with suppress(ClientError):  # the answer is lost
        act()


def _described(request: Mapping[str, Any]) -> str:
    """A request in one line: where, what, and on what condition."""
    if "TransactItems" in request:
        inner = [action for item in request["TransactItems"] for action in item.values()]
        return " and ".join(map(_described, inner))
    if "Updates" in request:
        return ", ".join(f"{one['Action']} {one.get('Name')}" for one in request["Updates"])
    for name in ("QueueUrl", "name"):
        if name in request:
            return str(request[name])
    text = f"{request.get('TableName')} {row(request.get('Key') or request.get('Item') or {})}"
    if update := request.get("UpdateExpression"):
        text += f" {_filled(update, request)}"
    if condition := request.get("ConditionExpression"):
        text += f" IF {_filled(condition, request)}"
    return text


def _filled(expression: str, request: Mapping[str, Any]) -> str:
    """An expression, its placeholders filled in."""
    meant = dict(request.get("ExpressionAttributeNames") or {})
    for token, value in (request.get("ExpressionAttributeValues") or {}).items():
        meant[token] = _short(next(iter(value.values())))
    for token in sorted(meant, key=len, reverse=True):
        expression = expression.replace(token, meant[token])
    return expression


def row(item: Mapping[str, Mapping[str, Any]]) -> str:
    """An item, for people."""
    fields = [f"{name}={_short(next(iter(value.values())))}" for name, value in item.items()]
    return f"{{{', '.join(fields)}}}"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:12]}…"


def format_answer(answer: Any) -> str:
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
