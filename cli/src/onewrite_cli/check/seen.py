"""The HTTP traffic of a command, as it arrived at the target."""

from __future__ import annotations

from dataclasses import dataclass, field

from onewrite_lab.tap import Arrival, Exchange
from onewrite_lab.witness.tcpinfo import AVAILABLE as SEGMENTS_COUNTED

from onewrite_cli.check.target import Target
from onewrite_cli.check.watched import ends_of
from onewrite_cli.common.origin import is_http2
from onewrite_cli.common.stalls import Controls, Message
from onewrite_cli.common.terminal import counted

__all__ = ["Seen", "SeenConnection", "SeenRequest", "seen_at"]

NO_TCP_INFO = "counting segments needs TCP_INFO, which is Linux's"


@dataclass
class SeenConnection:
    """One TCP connection that carried requests."""

    peer: str
    nodelay: bool | None = None  # None: could not be read
    own_proxy: bool = False  # it came to the tool's proxy, where the user's environment names none


@dataclass
class SeenRequest(Message):
    """One request. `records` is None without TLS. `path` has no query, which may hold a signature or a token."""

    connection: SeenConnection
    method: str
    path: str
    head_bytes: int
    body_bytes: int
    records: int | None = None
    first: bool = False  # of its connection
    expects_continue: bool = False
    chunked: bool = False

    @property
    def size(self) -> int:
        return self.head_bytes + self.body_bytes

    @property
    def has_body(self) -> bool:
        return self.body_bytes > 0


@dataclass
class Seen:
    """All requests and connections, and the controls. `unseen` has, by rule, why it could not be measured."""

    witness: str  # in words, for the report
    controls: Controls
    connections: list[SeenConnection] = field(default_factory=list)
    requests: list[SeenRequest] = field(default_factory=list)
    http2: int = 0  # connections that began with the preface of HTTP/2
    pipelined: int = 0  # requests that came before the one before them was answered
    tunnels: int = 0  # that were not decrypted: what is in them is not counted
    resent_segments: int = 0  # by the host's counters: the excuse for an odd count
    unseen: dict[str, str] = field(default_factory=dict)
    unreachable: list[str] = field(default_factory=list)  # by the proxy: host, port, reason
    notes: list[str] = field(default_factory=list)


def seen_at(target: Target, controls: Controls, resent: int) -> Seen:
    """All requests of the command."""
    seen = Seen(_witness(target), controls, resent_segments=resent)
    for origin in target.origins:
        connections: dict[int, SeenConnection] = {}
        before: dict[int, tuple[Exchange, SeenRequest]] = {}  # by connection
        for exchange in list(origin.exchanges):
            arrival = exchange.arrival
            if not exchange.complete:
                continue
            if is_http2(exchange.request):
                seen.http2 += 1
                continue
            if arrival.index not in connections:
                connections[arrival.index] = _connection(target, arrival, f"client port {arrival.peer_port}")
                seen.connections.append(connections[arrival.index])
            earlier, its = before.get(arrival.index, (None, None))
            request = _request(target, connections[arrival.index], exchange, earlier)
            if earlier and its and earlier.extra:  # this one came before that was answered
                its.segments = request.segments = None
                seen.pipelined += 1
            seen.requests.append(request)
            before[arrival.index] = exchange, request
        failures = [*(arrival.failure for arrival in origin.arrivals if arrival.failure), *origin.faults]
        seen.notes += [f"a connection failed: {failure}" for failure in failures]
    _add_tunnels(seen, target)
    if seen.pipelined:
        seen.notes.append(f"{counted(seen.pipelined, 'request')} came before the answer to the last: pipelines are not counted")
    if not SEGMENTS_COUNTED:
        seen.unseen["OW101"] = NO_TCP_INFO
    if target.sockets.fault and not target.sockets.any_read:
        seen.unseen["OW102"] = target.sockets.fault
    if target.sockets.unseen:
        seen.notes.append(target.sockets.unseen)
    seen.notes = list(dict.fromkeys(seen.notes))
    return seen


def _witness(target: Target) -> str:
    where = "the proxy" if target.proxy is not None else "the server"
    sockets = ", the client's sockets (pidfd_getfd)" if target.sockets.any_read else ""
    return where + (" (TCP_INFO)" if SEGMENTS_COUNTED else "") + sockets


def _connection(target: Target, arrival: Arrival, peer: str) -> SeenConnection:
    proxy = target.proxy
    own = proxy is not None and arrival.index in proxy.direct and arrival in proxy.arrivals
    return SeenConnection(peer, target.sockets.nodelay(ends_of(arrival)), own)


def _request(target: Target, connection: SeenConnection, exchange: Exchange, before: Exchange | None) -> SeenRequest:
    request, since_ns = exchange.request, before.answered_ns if before else 0
    gap_ns, held = target.sockets.lost(ends_of(exchange.arrival), since_ns, [t_ns for t_ns, _ in exchange.reads])
    return SeenRequest(
        connection,
        request.method,
        request.path.partition("?")[0],
        len(request.head),
        request.wire_bytes,
        exchange.records,
        before is None,
        request.expects_continue,
        request.framing == "chunked",
        segments=exchange.segments,
        nodelay=connection.nodelay,
        gap_ns=gap_ns,
        held=held,
    )


def _add_tunnels(seen: Seen, target: Target) -> None:
    """Add the connections of CONNECT tunnels, which are not decrypted, and what was forwarded."""
    if target.proxy is None:
        return
    seen.unreachable += target.proxy.unreachable
    for service, count in target.proxy.forwarded.items():
        seen.notes.append(f"{counted(count, 'request')} went on to {service}, which has acted on them")
    tunnels = target.proxy.tunnels
    seen.tunnels = len(tunnels)
    seen.connections += [_connection(target, arrival, service) for service, arrival in tunnels]
    if tunnels:
        services = ", ".join(dict.fromkeys(service for service, _ in tunnels))
        seen.notes.append(f"the requests in {counted(len(tunnels), 'TLS connection')} to {services} were passed on undecrypted")
