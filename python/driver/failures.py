"""Maps a library's error to the error kinds of the contract, from its class and causes."""

from __future__ import annotations

import http.client
import socket
import ssl

import urllib3.exceptions as u


def _chain(error: BaseException) -> list[BaseException]:
    """*error* and what it wraps, outermost first."""
    found: list[BaseException] = []
    queue: list[BaseException | None] = [error]
    while queue:
        current = queue.pop(0)
        if current is None or any(current is known for known in found):
            continue
        found.append(current)
        queue += [
            value for value in (getattr(current, "reason", None), *current.args) if isinstance(value, BaseException)
        ]
        queue.append(current.__cause__)
        if not current.__suppress_context__:
            queue.append(current.__context__)
    return found


#: Functions of http.client, urllib3 and ssl by what they are busy with; the innermost one known decides.
_BUSY_WITH = {
    "getaddrinfo": "dns", "create_connection": "connect", "_new_conn": "connect", "_tunnel": "connect",
    "ssl_wrap_socket": "tls", "do_handshake": "tls", "_ssl_wrap_socket_and_match_hostname": "tls",
    "putrequest": "send", "putheader": "send", "endheaders": "send", "send": "send", "sendall": "send",
    "begin": "wait", "_read_status": "wait", "getresponse": "wait",
    "_raw_read": "receive", "read_chunked": "receive", "_fp_read": "receive", "_error_catcher": "receive",
    "stream": "receive", "read": "receive", "_get_conn": "queue",
}  # fmt: skip


def phase_of(error: BaseException) -> str | None:
    """The phase in which *error* was raised, from its traceback."""
    found = None
    for one in _chain(error):
        trace = one.__traceback__
        while trace is not None:
            name = trace.tb_frame.f_code.co_name
            module = trace.tb_frame.f_globals.get("__name__", "")
            if name in _BUSY_WITH and module.split(".")[0] in ("urllib3", "http", "ssl", "onewrite"):
                phase = _BUSY_WITH[name]
                order = ("queue", "dns", "connect", "tls", "send", "wait", "receive")
                if found is None or order.index(phase) > order.index(found):
                    found = phase
            trace = trace.tb_next
    return found


def classify(error: BaseException) -> tuple[str, str | None]:
    """Return (kind, phase)."""
    chain = _chain(error)

    def any_of(*classes: type[BaseException]) -> bool:
        return any(isinstance(one, classes) for one in chain)

    for one in chain:
        if type(one).__module__.partition(".")[0] in ("httpx", "httpcore", "h11"):
            if type(one).__name__ in ("LocalProtocolError", "UnsupportedProtocol", "InvalidURL"):
                return "other", None
            if type(one).__name__ == "ProxyError":
                return "connect", "connect"
            if str(one).startswith(("Server disconnected", "peer closed connection")):
                return "closed", None
    if any_of(u.EmptyPoolError, u.ClosedPoolError):
        return "pool", "queue"
    if any_of(socket.gaierror) or any(type(one).__name__ == "NameResolutionError" for one in chain):
        return "dns", "dns"
    if any_of(u.NewConnectionError, ConnectionRefusedError):
        return "connect", "connect"
    if any_of(u.ConnectTimeoutError):
        return "timeout", "connect"
    if any_of(ssl.SSLError, u.SSLError):
        return "tls", "tls"
    if any_of(u.ReadTimeoutError, TimeoutError):
        return "timeout", phase_of(error) or "wait"
    if any_of(ConnectionResetError) and not any_of(http.client.RemoteDisconnected):
        return "reset", phase_of(error)
    if any_of(http.client.RemoteDisconnected, http.client.IncompleteRead, u.IncompleteRead, BrokenPipeError):
        return "closed", phase_of(error)
    if any_of(u.ProxyError):
        return "connect", "connect"
    if any_of(http.client.HTTPException, u.ProtocolError):
        return "protocol", phase_of(error)
    if any_of(ValueError) and not any_of(OSError):
        return "other", None
    names = {"ReadError": "reset", "WriteError": "reset", "RemoteProtocolError": "protocol", "PoolTimeout": "pool"}
    return next((names[type(one).__name__] for one in chain if type(one).__name__ in names), "other"), phase_of(error)
