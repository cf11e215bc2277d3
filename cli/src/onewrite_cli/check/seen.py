"""The HTTP traffic of a command, as it arrived at the target."""

from __future__ import annotations

from dataclasses import dataclass, field

from onewrite_lab.tap import Arrival, Exchange
from onewrite_lab.witness.tcpinfo import AVAILABLE as SEGMENTS_COUNTED

from onewrite_cli.check.proxy import OWN_NAME
from onewrite_cli.check.target import Target
from onewrite_cli.check.watched import ends_of
from onewrite_cli.common.controls import PATH
from onewrite_cli.common.origin import is_http2, longest_gap_ns
from onewrite_cli.common.stalls import Message
from onewrite_cli.common.terminal import counted

__all__ = ["Seen", "SeenConnection", "SeenRequest", "seen_at"]

NO_TCP_INFO = "counting segments needs TCP_INFO, which is Linux's"


@dataclass
class SeenConnection:
    """One TCP connection that carried requests."""

    peer: str
    nodelay: bool | None = None  # False: off in one reading or more; None: could not be read
    nodelay_changed: bool = False


@dataclass
class SeenRequest(Message):
    """One request. `records` is None without TLS."""

    connection: SeenConnection
    method: str
    target: str
    head_bytes: int
    body_bytes: int
    records: int | None = None
    first: bool = False  # of its connection
    expects_continue: bool = False
    chunked: bool = False
    user_agent: str = ""

    @property
    def size(self) -> int:
        return self.head_bytes + self.body_bytes


@dataclass
class Seen:
    """All requests and connections, and the controls' longest gaps. `unseen` has, by rule, why it could not be measured."""

    witness: str  # in words, for the report
    connections: list[SeenConnection] = field(default_factory=list)
    requests: list[SeenRequest] = field(default_factory=list)
    split_gaps_ns: list[int] = field(default_factory=list)  # the control with Nagle on, in two writes
    single_gaps_ns: list[int] = field(default_factory=list)  # the control that makes one write
    http2: int = 0  # connections that began with the preface of HTTP/2
    pipelined: int = 0  # requests that came before the one before them was answered
    tunnels: int = 0  # that were not decrypted: what is in them is not counted
    resent_segments: int = 0  # by the host's counters: the excuse for an odd count
    unseen: dict[str, str] = field(default_factory=dict)
    unreachable: list[str] = field(default_factory=list)  # by the proxy: host, port, reason
    notes: list[str] = field(default_factory=list)


def seen_at(target: Target, resent: int, program: str) -> Seen:
    """All requests of the command, and the controls' silences. A client without a User-Agent goes by the name of the program."""
    seen = Seen(_witness(target), resent_segments=resent)
    for origin in target.origins:
        connections: dict[int, SeenConnection] = {}
        before: dict[int, tuple[Exchange, SeenRequest]] = {}  # by connection
        for exchange in list(origin.exchanges):
            arrival = exchange.arrival
            if not exchange.complete:
                continue
            if exchange.request.path == f"/{PATH}":
                _add_control(seen, target, exchange)
            elif is_http2(exchange.request):
                seen.http2 += 1
            else:
                if arrival.index not in connections:
                    host = OWN_NAME if target.proxy else "127.0.0.1"
                    connections[arrival.index] = _connection(target, arrival, f"{host}, client port {arrival.peer_port}")
                    seen.connections.append(connections[arrival.index])
                earlier, its = before.get(arrival.index, (None, None))
                request = _request(target, connections[arrival.index], exchange, earlier)
                request.user_agent = request.user_agent or f"{program} without a User-Agent"
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
    seen.notes = list(dict.fromkeys(seen.notes))
    return seen


def _witness(target: Target) -> str:
    where = "the proxy" if target.proxy is not None else "the server"
    sockets = ", the command's sockets (pidfd_getfd)" if target.sockets.any_read else ""
    return where + (" (TCP_INFO)" if SEGMENTS_COUNTED else "") + sockets


def _connection(target: Target, arrival: Arrival, peer: str) -> SeenConnection:
    readings = target.sockets.nodelay(ends_of(arrival))
    return SeenConnection(peer, all(readings) if readings else None, len(set(readings)) > 1)


def _request(target: Target, connection: SeenConnection, exchange: Exchange, before: Exchange | None) -> SeenRequest:
    request, since_ns = exchange.request, before.answered_ns if before else 0
    gap_ns, held = target.sockets.lost(ends_of(exchange.arrival), since_ns, [t_ns for t_ns, _ in exchange.reads])
    return SeenRequest(
        connection,
        request.method,
        request.target,
        len(request.head),
        len(request.body_wire),
        exchange.records,
        before is None,
        request.expects_continue,
        request.framing == "chunked",
        next(iter(request.values("user-agent")), ""),
        segments=exchange.segments,
        nodelay=connection.nodelay,
        gap_ns=gap_ns,
        held=held,
    )


def _add_control(seen: Seen, target: Target, exchange: Exchange) -> None:
    of_the_split = exchange.arrival.peer_port in target.split_ports
    (seen.split_gaps_ns if of_the_split else seen.single_gaps_ns).append(longest_gap_ns(exchange))


def _add_tunnels(seen: Seen, target: Target) -> None:
    """Add the connections of CONNECT tunnels, which are not decrypted, and what was forwarded."""
    if target.proxy is None:
        return
    seen.unreachable += target.proxy.unreachable
    for service, count in target.proxy.forwarded.items():
        seen.notes.append(f"{count} requests were forwarded to {service}, which has acted on them")
    tunnels = target.proxy.tunnels
    seen.tunnels = len(tunnels)
    seen.connections += [_connection(target, arrival, service) for service, arrival in tunnels]
    if tunnels:
        services = ", ".join(dict.fromkeys(service for service, _ in tunnels))
        seen.notes.append(f"the requests in {counted(len(tunnels), 'TLS connection')} to {services} were passed on undecrypted")
