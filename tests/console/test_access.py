"""Attacks on the console by whoever can send a request to this machine's loopback."""

import contextlib
import re
import socket
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from actonce.console import templating
from actonce.console.access import HEADERS, LONGEST_BODY
from actonce.console.server import MOST_CONNECTIONS
from actonce.stack.clients import Stack
from tests.console.client import COOKIE, HANGS_UP, HOST, PORT, TOKEN, Server
from tests.console.conftest import Open
from tests.embedded.waiting import DEADLINE, wait_until
from tests.support.waiting import dead, decision_on

STRANGER = {"cookie": ""}

ANSWERS: list[tuple[int, str, str, dict[str, str]]] = [
    # Without the token nothing is shown.
    (200, "GET", "/", {"cookie": f"a=b; {COOKIE}={TOKEN}"}),
    # Cookies know no ports: what other servers of this machine set is in the way of nothing.
    (200, "GET", "/", {"cookie": f'prefs={{"a": [1, 2]}}; {COOKIE}={TOKEN}; b="x;y'}),
    (200, "GET", "/", {"cookie": f"{COOKIE}=another's; {COOKIE}={TOKEN}; {COOKIE}=older"}),
    (401, "GET", "/", STRANGER),
    (401, "GET", "/", {"cookie": f"{COOKIE}=wrong"}),
    (401, "GET", "/", {"cookie": f"other={TOKEN}"}),
    # A wrong one lets nobody in.
    (401, "GET", "/?token=wrong", STRANGER),
    (401, "GET", f"/?token={TOKEN}&token=x", STRANGER),
    (401, "GET", f"/?token={TOKEN}%00", STRANGER),
    (401, "GET", "/?token=%ff", STRANGER),
    # A name of an attacker's that resolves to 127.0.0.1: its page would be of the same origin.
    (200, "GET", "/", {"host": f"localhost:{PORT}"}),
    (421, "GET", f"/?token={TOKEN}", {"host": ""}),
    (421, "GET", f"/?token={TOKEN}", {"host": "127.0.0.1"}),
    (421, "GET", f"/?token={TOKEN}", {"host": f"127.0.0.1.evil.example:{PORT}"}),
    (421, "GET", f"/?token={TOKEN}", {"host": f"evil.example:{PORT}"}),
    # A link may be followed, from wherever; what a page of another server loads is not shown to it.
    (200, "GET", "/", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}),
    (200, "GET", "/", {"sec-fetch-site": "none", "sec-fetch-mode": "navigate"}),
    (200, "GET", "/jobs", {"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}),
    (403, "GET", "/jobs", {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"}),
    (403, "GET", f"/?token={TOKEN}", {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"}),
    # Another site's form changes nothing.
    (403, "POST", "/scan", {"origin": ""}),
    (403, "POST", "/scan", {"origin": "null"}),
    (403, "POST", "/scan", {"origin": "http://evil.example"}),
    (403, "POST", "/scan", {"origin": f"http://127.0.0.1:{PORT + 1}"}),
    (403, "POST", "/scan", {"origin": f"https://{HOST}"}),
    (403, "POST", "/scan", {"sec-fetch-site": "cross-site"}),
    (403, "POST", "/scan", {"origin": f"http://{HOST}\nhttp://evil.example"}),
    (403, "POST", "/scan", {"sec-fetch-site": "same-origin\ncross-site"}),
    *((403, method, "/scan", {"origin": ""}) for method in ("PUT", "DELETE", "OPTIONS", "TRACE")),
    # A body without an end is not read; of length and chunks a server goes by the chunks.
    *(
        (413, "POST", "/scan", {"content-length": length})
        for length in ("", "-1", "x", str(LONGEST_BODY + 1), "\u0665".encode().decode("latin-1"))
    ),
    (413, "POST", "/scan", {"transfer-encoding": "chunked", "content-length": "7"}),
    (303, "POST", "/scan", {}),
    # Nothing but what is shipped is served.
    (200, "GET", "/static/console.js", {}),
    (404, "GET", "/static/../app.py", {}),
    (404, "GET", "/static/%2e%2e/app.py", {}),
    # What is none is told.
    *(
        (404, "GET", path, {})
        for path in ("/nowhere", "/jobs/0", "/jobs/x", f"/jobs/{'9' * 5000}", "/unstarted/entry")
    ),
]


def test_who_may_ask_for_what(machine: Stack, console: Open) -> None:
    client = console(machine)
    for status, method, path, headers in ANSWERS:
        usual = {"origin": f"http://{HOST}", "content-length": "0"} if method == "POST" else {}
        answer = client.ask(method, path, usual | headers, "", b"")
        request = (method, path, headers)
        assert answer.status == status, request
        assert "set-cookie" not in answer.headers, request
        assert not [name for name in answer.headers if name.startswith("access-control")], request
        # Each says what a page may load, and that nobody may frame it.
        answer_headers = {name: answer.headers.get(name.lower()) for name in HEADERS}
        assert answer_headers == HEADERS, request
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


def test_who_hangs_up_is_no_fault(machine: Stack, console: Open) -> None:
    headers = {"origin": f"http://{HOST}", "content-length": "100"}
    console(machine, reads=False).ask("POST", "/scan", headers, "", HANGS_UP)


def test_the_token_becomes_a_cookie_and_leaves_the_address(machine: Stack, console: Open) -> None:
    answer = console(machine, reads=False).get(f"/message?id=a%2Fb&token={TOKEN}", STRANGER)
    assert (answer.status, answer.headers["location"]) == (303, "/message?id=a%2Fb")
    cookie, *attributes = answer.headers["set-cookie"].split("; ")
    assert cookie == f"{COOKIE}={TOKEN}"
    assert {"HttpOnly", "SameSite=lax"} <= set(attributes)


@pytest.mark.parametrize("path", ["//evil.example/", "/\\evil.example", "///evil.example/%2e%2e"])
def test_no_way_leads_to_another_host(machine: Stack, console: Open, path: str) -> None:
    client = console(machine, reads=False)
    without_token = client.get(f"{path}?token={TOKEN}", STRANGER).headers["location"]
    for link in (without_token, *client.get(path).links):
        assert not re.match(r"[/\\]{2}|\w+:", link), link


def test_another_sites_form_decides_nothing_and_neither_does_what_reads_only(
    machine: Stack, console: Open
) -> None:
    dead(machine, "m-1")
    for read_only, headers in ((False, {"origin": "http://evil.example"}), (True, {})):
        client = console(machine, read_only=read_only)
        request = client.get("/dead-letters/decide", scope="all", action="resolve")
        form: dict[str, Any] = request.fields | {"note": "why"}
        assert form["key"]
        for path in ("/dead-letters/decide", "/unstarted/decide", "/jobs/1/stop"):
            answer = client.post(path, headers, **form)
            assert (answer.status, "--read-only" in answer.text) == (403, read_only)
        assert client.context.jobs.all() == []
    assert decision_on(machine, "m-1") is None


def test_no_template_has_script_or_style_of_its_own() -> None:
    templates = {file.name: file.read_text() for file in templating._FOLDER.iterdir()}
    assert len(templates) > 15
    for name, text in templates.items():
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:|https?://|\| safe", text), (
            name
        )
        for tag in re.findall(r"<script[^>]*>", text):
            assert 'src="/static/' in tag, name


def test_only_so_many_connections_are_served_and_the_page_is_back_once_they_end() -> None:
    server = Server(lambda _: PlainTextResponse("here"))

    def status() -> int:
        with socket.create_connection(server.address, DEADLINE) as asking:
            asking.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            return int(asking.recv(12).split()[1])

    try:
        with contextlib.ExitStack() as idle:
            for _ in range(MOST_CONNECTIONS):
                idle.enter_context(socket.create_connection(server.address, DEADLINE))
            wait_until(lambda: status() == 503)
        wait_until(lambda: status() == 200)
    finally:
        server.end()
