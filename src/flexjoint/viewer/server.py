"""A viser server for this machine alone.

It listens on 127.0.0.1, answers only pages that it served itself (another site open in the same browser could connect
to a local port), opens no tunnel to the outside, and prints nothing.
"""

from __future__ import annotations

import contextlib
import io
import threading
from collections.abc import Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..errors import InputError

if TYPE_CHECKING:
    import viser

HOST = "127.0.0.1"
FIRST_PORT = 8080
NAMES = (HOST, "localhost")
_starting = threading.Lock()


def require_viser() -> Any:
    """The package viser; raises InputError with what to type if it is not installed."""
    try:
        import viser
    except ImportError:
        raise InputError("the viewer needs viser, which is not installed: pip install 'flexjoint[view]'") from None
    return viser


def start_server(host: str = HOST, port: int | None = None) -> viser.ViserServer:
    """A running server.

    Args:
        host: 127.0.0.1 or localhost; others are refused.
        port: From 1 to 65535, 0 for any free one; by default the first free one from 8080 on.

    Raises:
        InputError: viser is not installed, the host is another machine's, or the port is in use.
    """
    viser = require_viser()
    if host not in NAMES:
        raise InputError(f"view: host is {str(host)[:80]!r}; the viewer listens on {HOST} alone, use an SSH tunnel")
    if port is not None and not (isinstance(port, int) and 0 <= port <= 65535):
        raise InputError(f"view: port is {str(port)[:80]}; it must be a number from 0 to 65535")
    with _starting, silent(), guarded() as started:
        server = viser.ViserServer(HOST, FIRST_PORT if port is None else port, verbose=False)
    if not started:
        stop_server(server)
        raise InputError(f"view: viser {viser.__version__} cannot be kept local; pip install 'viser>=1.1,<2'")
    server.request_share_url = lambda *_, **__: None  # a page could ask for a public address
    if port and server.get_port() != port:
        stop_server(server)
        raise InputError(f"view: port {port} is in use; give another one, or leave out port=")
    server.gui.configure_theme(show_logo=False, show_share_button=False, control_width="medium")
    return server


def stop_server(server: viser.ViserServer) -> None:
    """End a server and its threads."""
    with silent():
        server.stop()


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Discards what viser prints when it starts and stops."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


@contextlib.contextmanager
def guarded() -> Iterator[list[str]]:
    """Meanwhile, new websocket servers refuse requests of other hosts and other sites; yields the hosts they bind."""
    import websockets.asyncio.server as asynchronous

    serve, started = asynchronous.serve, []

    def checking(handler: Any, host: Any, *arguments: Any, process_request: Any = None, **options: Any) -> Any:
        def process(connection: Any, request: Any) -> Any:
            if not ours(request.headers):
                return connection.respond(HTTPStatus.FORBIDDEN, "This viewer answers its own page alone.\n")
            return process_request(connection, request) if process_request is not None else None

        started.append(str(host))
        return serve(handler, host, *arguments, process_request=process, **options)

    asynchronous.serve = checking  # type: ignore[assignment,misc]
    try:
        yield started
    finally:
        asynchronous.serve = serve  # type: ignore[misc]


def ours(headers: Any) -> bool:
    """Whether a request names this machine, and comes from a page of this server or from no page at all."""
    hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
    if len(hosts) != 1 or len(origins) > 1 or hosts[0].rpartition(":")[0] not in NAMES:
        return False
    try:
        return not origins or urlsplit(origins[0]).netloc == hosts[0]
    except ValueError:
        return False
