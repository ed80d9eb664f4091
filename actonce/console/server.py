"""Serves the console on this machine's loopback interface until somebody ends it."""

import os
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from actonce.console.access import TOKEN
from actonce.terminal.errors import Failed

LOOPBACK: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8717
MOST_CONNECTIONS: Final = 64
"""Whoever comes then is refused; a browser opens six at most, and idle ones end after 5 s."""

_LAST_SECONDS: Final = 2.0
_INTERRUPTED: Final = 130


def listening(port: int | None) -> socket.socket:
    """A socket on the loopback.

    Args:
        port: None: the usual one or, if that is taken, any that is free.

    Raises:
        Failed: it is taken.
    """
    for wanted in (DEFAULT_PORT, 0) if port is None else (port,):
        try:
            return socket.create_server((LOOPBACK, wanted))
        except OSError as error:
            refused = error
    raise Failed(
        f"Port {port} cannot be listened on ({refused.strerror}): say another with --port."
    )


def serve(
    make: Callable[[str, int], ASGIApp], port: int | None, ready: Callable[[str], None]
) -> None:
    """Serve until Ctrl-C or SIGTERM; after that the process ends within seconds.

    Args:
        make: makes the application, given its token and its port.
        port: see `listening`.
        ready: called with the address, token included, for the socket listens; it returns at once.

    Raises:
        Failed: see `listening`.
    """
    token = secrets.token_urlsafe(32)
    with listening(port) as listener:
        number: int = listener.getsockname()[1]
        config = config_of(make(token, number))
        address = f"http://{LOOPBACK}:{number}/?{TOKEN}={token}"
        ready(address)
        try:
            uvicorn.Server(config).run(sockets=[listener])
        except KeyboardInterrupt:
            # Python would wait for minutes for threads that AWS does not answer.
            end = threading.Timer(_LAST_SECONDS, os._exit, [_INTERRUPTED])
            end.daemon = True
            end.start()
            raise


def config_of(app: ASGIApp) -> uvicorn.Config:
    """How the server serves an application."""
    return uvicorn.Config(
        app,
        http="h11",
        limit_concurrency=MOST_CONNECTIONS,
        log_level="critical",  # an access log would keep the token, and ids of messages
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=2,
    )


def open_in_browser(address: str, folder: Path) -> None:
    """Open the address in the person's browser.

    Through a file that only they can read: everybody on the machine can read a command's arguments,
    and the token with them.

    Args:
        address: with its token, which has nothing in it that HTML would have to escape.
        folder: that only they can read; the file stays there.
    """
    file = folder / "console.html"
    file.write_text(
        f'<meta charset="utf-8"><meta http-equiv="refresh" content="0; url={address}">'
        f'<a href="{address}">The console</a>'
    )
    file.chmod(0o600)
    # In a thread: a browser in the terminal returns only when the person leaves it.
    opens = [file.as_uri()]
    threading.Thread(target=webbrowser.open, args=opens, name="browser", daemon=True).start()
