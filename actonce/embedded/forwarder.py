"""Lets containers reach what listens on this machine's loopback, for as long as one command runs.

The embedded AWS listens on 127.0.0.1 only, because it runs any code that it is given. A container
has a loopback of its own, and SAM puts it on the engine's default bridge even with
`--docker-network host`. So this forwards connections to the bridge's gateway to the loopback port.
"""

import contextlib
import socket
import threading
from collections.abc import Iterator

from actonce.terminal.errors import Failed

LISTEN_BACKLOG = 32
_CHUNK_BYTES = 64 * 1024


@contextlib.contextmanager
def reachable_from_containers(port: int, gateway: str) -> Iterator[str]:
    """Make a loopback port reachable from containers until the block ends.

    Args:
        port: of 127.0.0.1.
        gateway: address of this machine on the containers' network.

    Yields:
        `host:port` as a container reaches it.

    Raises:
        Failed: the gateway is not this machine's, because the engine runs in a virtual machine.
    """
    try:
        # Port 0: a free one.
        listener = socket.create_server((gateway, 0), backlog=LISTEN_BACKLOG)
    except OSError as error:
        raise Failed(
            f"Containers cannot reach this machine by {gateway} ({error.strerror}): sam-local "
            "needs an engine that runs on this machine itself, as on Linux."
        ) from error
    with listener:
        threading.Thread(target=_serve, args=(listener, port), daemon=True).start()
        try:
            yield f"{gateway}:{listener.getsockname()[1]}"
        finally:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts


def _serve(listener: socket.socket, port: int) -> None:
    while True:
        try:
            near, _ = listener.accept()
        except OSError:  # closed: the block has ended
            return
        try:
            far = socket.create_connection(("127.0.0.1", port))
        except OSError:
            near.close()
            continue
        for source, target in ((near, far), (far, near)):
            threading.Thread(target=_copy, args=(source, target), daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Copy until the source ends, and end the target's input; the other direction goes on."""
    with contextlib.suppress(OSError):
        while chunk := source.recv(_CHUNK_BYTES):
            target.sendall(chunk)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
