"""Every field of every address of the console, with each value that is odd and possible."""

from collections.abc import Iterator
from typing import Any, ClassVar
from urllib.parse import urlencode

import pytest
from starlette.datastructures import QueryParams

from actonce.console import app as module
from actonce.console.context import SERVICES
from actonce.console.responses import ViewRequest
from actonce.stack.clients import Stack
from tests.console.client import HOST, Answer, Client
from tests.console.conftest import Open
from tests.console.stacks import rejected, unstart
from tests.support.odd_values import ODD, refuse_as_aws
from tests.support.stacks import with_executions

SERVER_ERROR = 500
RAW = ("ValidationException", "ParamValidation", "Traceback", "Invalid Arn")


class Fields(QueryParams):
    """The fields of a request, which note which of them a view looks at."""

    looked_at: ClassVar[set[str]] = set()

    def get(self, name: Any, *default: Any) -> Any:
        self.looked_at.add(name)
        return super().get(name, *default)

    def getlist(self, name: Any) -> list[str]:
        self.looked_at.add(name)
        return super().getlist(name)

    def __contains__(self, name: object) -> bool:
        self.looked_at.add(str(name))
        return super().__contains__(name)


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The fields that views have looked at."""
    noted: set[str] = set()
    monkeypatch.setattr(Fields, "looked_at", noted)
    monkeypatch.setattr(
        module, "ViewRequest", lambda fields, is_htmx: ViewRequest(Fields(fields), is_htmx)
    )
    return noted


def addresses() -> Iterator[tuple[str, str]]:
    """Method and path of every view."""
    yield from (("GET", path) for path in module._SHOWS)
    yield from (("POST", path) for path in [*module._CHANGES, "/scan"])


def ask(client: Client, method: str, path: str, fields: dict[str, Any]) -> Answer:
    """As a browser does, but with fields that none would send."""
    path = path.replace("{number}", "1")
    told = urlencode(fields, doseq=True, encoding="utf-8", errors="surrogatepass")
    if method == "GET":
        return client.ask("GET", path, {}, told, b"")
    more = {"origin": f"http://{HOST}", "content-length": str(len(told))}
    return client.ask("POST", path, more, "", told.encode())


@pytest.mark.parametrize("kind", ["lease", "machine"])
def test_no_field_of_any_address_is_more_than_refused(
    request: pytest.FixtureRequest, kind: str, console: Open, looked_at: set[str]
) -> None:
    stack: Stack = request.getfixturevalue(kind)
    if kind == "lease":
        rejected(stack)
    else:
        stack = with_executions(stack, "m-1")
    entry = unstart(stack, "{")
    client = console(stack)
    refuse_as_aws(client.context.stack, *SERVICES)
    usual = {"id": "m-1", "action": "discard", "entry": entry, "scope": "all", "note": "why"}
    seen: set[str] = set()
    for method, path in addresses():
        looked_at.clear()
        ask(client, method, path, usual)
        fields = set(looked_at)
        seen |= fields
        for name in sorted(fields - {"number"}):
            for value in (*ODD, "\x00", "\udc80", ["m-1", "m-2"]):
                answer = ask(client, method, path, usual | {name: value})
                where = (method, path, name, value)
                assert answer.status < SERVER_ERROR, (where, answer.problems)
                assert not any(raw in answer.text for raw in RAW), (where, answer.problems)
                assert answer.status not in (404, 410, 422) or len(answer.problems) == 1, where
    assert {"id", "day", "status", "cursor", "page", "entry", "reason", "key"} <= seen


def test_no_path_is_more_than_refused(lease: Stack, console: Open) -> None:
    client = console(lease)
    for value in (*ODD, "\x00", "1/now", "0", "1" * 16):
        for path in (f"/jobs/{value}", f"/jobs/{value}/now", f"/static/{value}", f"/{value}"):
            answer = client.ask("GET", path.replace("?", ""), {}, "", b"")
            assert answer.status < SERVER_ERROR, path
