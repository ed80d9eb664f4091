"""Attacks on the console by whoever can send a request to this machine's loopback."""

import json
import re
from collections.abc import Iterable
from typing import Any

import pytest

from actonce.console.access import HEADERS, LONGEST_BODY
from actonce.stack.clients import Stack
from tests.support.queues import dead, row
from tests.web_console.asking import HOST, PORT, TOKEN, Client
from tests.web_console.conftest import Open

COOKIE = f"actonce-console-{PORT}"


@pytest.fixture
def client(ledger: Stack, console: Open) -> Client:
    return console(ledger)[0]


def test_without_the_token_nothing_is_shown(client: Client) -> None:
    for cookie in ("", f"{COOKIE}=", f"{COOKIE}=wrong", f"other={TOKEN}", f"{COOKIE}={TOKEN}x"):
        answer = client.get("/", {"cookie": cookie})
        assert (answer.status, "Dead letters" in answer.text) == (401, False), cookie


@pytest.mark.parametrize(
    "query",
    [
        "token=",
        "token=wrong",
        f"token={TOKEN}&token=x",
        f"token={TOKEN}%00",
        "token=%ff",
        "TOKEN=a",
    ],
)
def test_a_wrong_token_lets_nobody_in(client: Client, query: str) -> None:
    answer = client.get(f"/?{query}", {"cookie": ""})
    assert answer.status == 401
    assert "set-cookie" not in answer.headers


def test_the_token_becomes_a_cookie_and_leaves_the_address(client: Client) -> None:
    answer = client.get(f"/message?id=a%2Fb&token={TOKEN}", {"cookie": ""})
    assert answer.status == 303
    assert answer.headers["location"] == "/message?id=a%2Fb"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}={TOKEN};")
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert client.get("/", {"cookie": f"a=b; {COOKIE}={TOKEN}"}).status == 200


@pytest.mark.parametrize("path", ["//evil.example/", "/\\evil.example", "//evil.example/%2e%2e"])
def test_the_way_without_the_token_leads_to_no_other_host(client: Client, path: str) -> None:
    answer = client.get(f"{path}?token={TOKEN}", {"cookie": ""})
    assert answer.status == 303
    assert re.match(r"/[^/\\]", answer.headers["location"]), answer.headers["location"]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        f"evil.example:{PORT}",
        "127.0.0.1",
        f"127.0.0.1:{PORT + 1}",
        f"127.0.0.1.evil.example:{PORT}",
        f"localhost.:{PORT}",
        f"0.0.0.0:{PORT}",
        "",
    ],
)
def test_another_name_for_this_machine_is_refused(client: Client, host: str) -> None:
    # A name of an attacker's that resolves to 127.0.0.1: its page would be of the same origin.
    answer = client.get(f"/?token={TOKEN}", {"host": host})
    assert answer.status == 421
    assert "set-cookie" not in answer.headers


CROSS = [
    {"origin": "http://evil.example"},
    {"origin": f"http://127.0.0.1:{PORT + 1}"},
    {"origin": f"https://{HOST}"},
    {"origin": f"http://localhost:{PORT}"},
    {"origin": "null"},
    {"origin": ""},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
]


@pytest.mark.parametrize("headers", CROSS, ids=json.dumps)
def test_another_sites_form_changes_nothing(
    ledger: Stack, console: Open, headers: dict[str, str]
) -> None:
    dead(ledger, "m-1")
    client, context = console(ledger)
    context.letters.scan()
    context.letters.wait(30)
    asked = {"key": "w", "action": "resolve", "note": "why", "message": "m-1"}
    answer = client.post("/dead-letters/decide", headers, **asked)
    assert answer.status == 403
    assert context.jobs.all() == []
    assert row(ledger, "m-1")["outcome"] == "dead_letter"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_whatever_may_change_something_asks_for_the_origin(client: Client, method: str) -> None:
    answer = client.ask(method, "/dead-letters/decide", {"content-length": "0"}, "", b"")
    assert answer.status == 403
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("length", ["", "-1", "x", str(LONGEST_BODY + 1), "\u0665"])
def test_a_body_without_an_end_is_not_read(client: Client, length: str) -> None:
    headers = {"content-length": length.encode().decode("latin-1")}
    assert client.post("/scan", headers, queue="x").status == 413


def test_a_body_in_chunks_is_not_read_whatever_length_is_said(client: Client) -> None:
    # Of the two a server goes by the chunks.
    headers = {"transfer-encoding": "chunked", "content-length": "7"}
    assert client.post("/scan", headers, queue="x").status == 413


def test_each_answer_says_what_a_page_may_load(client: Client) -> None:
    answers = [
        client.get("/"),
        client.get("/nowhere"),
        client.get("/static/console.js"),
        client.get("/", {"cookie": ""}),
        client.get("/", {"host": "evil.example"}),
    ]
    for answer in answers:
        for name, value in HEADERS.items():
            assert answer.headers[name.lower()] == value
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd"]
)
def test_nothing_but_what_is_shipped_is_served(client: Client, path: str) -> None:
    assert client.get(path).status == 404


def test_no_link_of_a_page_that_is_not_there_leads_to_another_host(client: Client) -> None:
    for path in ("//evil.example/", "/\\evil.example", "///evil.example/x"):
        assert not re.search(r'href="[/\\]{2}', client.get(path).text), path


def test_no_template_has_script_or_style_of_its_own() -> None:
    for name, text in templates():
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", text), name
        for tag in re.findall(r"<script[^>]*>", text):
            assert 'src="/static/' in tag, name
        assert not re.search(r"https?://", text), name
        assert "| safe" not in text, name


def templates() -> Iterable[tuple[str, str]]:
    from actonce.console import templating  # noqa: PLC0415

    found = [(file.name, file.read_text()) for file in templating._FOLDER.iterdir()]
    assert len(found) > 15
    return found


def test_what_reads_only_has_no_way_to_change(ledger: Stack, console: Open) -> None:
    dead(ledger, "m-1")
    client, context = console(ledger, read_only=True)
    context.letters.scan()
    context.letters.wait(30)
    latest = context.letters.latest
    assert latest is not None
    asked: dict[str, Any] = {"key": "w", "action": "resolve", "note": "why", "message": "m-1"}
    asked |= {"snapshot": latest.number, "scope": "all"}
    for path in ("/dead-letters/decide", "/unstarted/decide", "/jobs/1/stop"):
        answer = client.post(path, **asked)
        assert answer.status == 403
        assert "--read-only" in answer.text
    assert row(ledger, "m-1")["outcome"] == "dead_letter"


def test_what_reads_only_refuses_calls_that_change_whoever_makes_them(
    ledger: Stack, console: Open
) -> None:
    from actonce.console.read_only import Forbidden  # noqa: PLC0415

    _, context = console(ledger, read_only=True)
    stack = context.stack
    with pytest.raises(Forbidden, match="SendMessage is not called"):
        stack.sqs.send_message(QueueUrl=stack.requests_queue, MessageBody="x")
    with pytest.raises(Forbidden, match="PutItem"):
        stack.dynamodb.put_item(TableName="rows", Item={"message_id": {"S": "x"}})
    with pytest.raises(Forbidden, match="DeleteMessageBatch"):
        stack.sqs.delete_message_batch(QueueUrl=stack.requests_queue, Entries=[])
