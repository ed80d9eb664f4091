"""Who may ask the console: the person who started it, from a browser on this machine.

Whoever can open a page in that browser, or has another account on the machine, can send requests to
a loopback port. So:

* **Host** must be this server's own address: another name that resolves to 127.0.0.1 (DNS
  rebinding) is refused before anything else is looked at.
* **The token** comes once, in the address that is opened, and becomes a cookie that no script can
  read and no other site's form sends; the browser is then redirected to the address without it. A
  link that a colleague sent may be followed: a GET changes nothing (`SameSite=Lax`).
* **Origin** of whatever is not GET or HEAD must be this server's own, and `Sec-Fetch-Site`, where a
  browser sends it, same-origin. A person may navigate to a page from anywhere, but a page of
  another server of this machine, to which the browser sends the cookie too, may not load one.

No answer has CORS headers. `HEADERS` say what a page may load, and that nobody may frame it.
"""

import hmac
from collections.abc import Sequence
from typing import Final
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN: Final = "token"  # noqa: S105 - the name of a parameter
LONGEST_BODY: Final = 1024 * 1024
"""Bytes of a request's body; a page of ticked boxes sends some thousands."""

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not no-referrer, with which a form of this page is sent with "Origin: null".
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Every answer has them."""

_SAFE: Final = frozenset({"GET", "HEAD"})


class Access:
    """Lets through what comes from the page of the person who started this server.

    Args:
        app: what answers.
        token: the secret.
        port: on which the server listens.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._hosts = [[f"{name}:{port}"] for name in ("127.0.0.1", "localhost")]
        # Cookies know no ports: two consoles would take each other's.
        self._cookie = f"actonce-console-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have it answered."""
        if scope["type"] != "http":  # the server's start and end; it speaks no WebSocket
            await self._app(scope, receive, send)
            return
        answer = self._refused(scope)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.lower().encode(), text.encode()) for name, text in HEADERS.items()]
                message["headers"] = [*message["headers"], *own]
            await send(message)

        await (answer or self._app)(scope, receive, with_headers)

    def _refused(self, scope: Scope) -> Response | None:
        """The refusal, or the redirect that sets the cookie; None: the application may answer."""
        headers = Headers(scope=scope)
        if headers.getlist("host") not in self._hosts:
            return PlainTextResponse(
                "This is not the address of this console: open the one that it printed.\n", 421
            )
        is_own = headers.getlist("sec-fetch-site") in ([], ["same-origin"])
        if scope["method"] in _SAFE:
            is_own = is_own or headers.get("sec-fetch-mode") == "navigate"
        else:
            is_own = is_own and headers.getlist("origin") == [f"http://{headers['host']}"]
        if not is_own:
            return PlainTextResponse("Only a page of this console may ask for this.\n", 403)
        if scope["method"] not in _SAFE:
            length = headers.get("content-length", "")
            is_known = length.isascii() and length.isdigit() and "transfer-encoding" not in headers
            if not is_known or int(length) > LONGEST_BODY:
                return PlainTextResponse("Too much was sent, or no one knows how much.\n", 413)
        if self._is_known(headers.getlist("cookie")):
            return None
        return self._let_in(scope)

    def _let_in(self, scope: Scope) -> Response:
        """Set the cookie for whoever brings the token, and redirect to the address without it."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == TOKEN]
        if scope["method"] != "GET" or len(tokens) != 1 or not self._is_token(tokens[0]):
            return PlainTextResponse(
                "This console shows itself to who started it only: open the address that it "
                "printed, with its token.\n",
                401,
            )
        rest = urlencode([(name, value) for name, value in query if name != TOKEN])
        # //other.example would name another host.
        path = "/" + scope["path"].lstrip("/\\") if scope["path"].isascii() else "/"
        answer = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
        answer.set_cookie(self._cookie, self._token, httponly=True, samesite="lax", path="/")
        return answer

    def _is_known(self, cookies: Sequence[str]) -> bool:
        """Whether any cookie has the token: other servers here may set one of the same name."""
        pairs = [pair.strip().partition("=") for text in cookies for pair in text.split(";")]
        return any(name == self._cookie and self._is_token(value) for name, _, value in pairs)

    def _is_token(self, text: str) -> bool:
        # As bytes: compare_digest takes no text but ASCII.
        return hmac.compare_digest(text.encode("utf-8", "replace"), self._token.encode())
