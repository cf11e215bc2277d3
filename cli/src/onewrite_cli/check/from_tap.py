"""Turns what arrived at a target into what was seen."""

from __future__ import annotations

from onewrite_lab.tap import Arrival, Exchange
from onewrite_lab.witness.tcpinfo import AVAILABLE as SEGMENTS_COUNTED

from onewrite_cli.check.controls import PATH
from onewrite_cli.check.origin import is_http2, longest_gap_ns
from onewrite_cli.check.proxy import OWN_NAME
from onewrite_cli.check.seen import Seen, SeenConnection, SeenRequest, StallControl
from onewrite_cli.check.target import Target

__all__ = ["seen_at"]

NO_TCP_INFO = "counting segments needs TCP_INFO, which is Linux's"


class _Runs:
    """Which run a connection belongs to: the moments at which runs began, in order."""

    def __init__(self, starts_ns: list[int]) -> None:
        self._starts = starts_ns

    def at(self, t_ns: int) -> int:
        return max(0, sum(start <= t_ns for start in self._starts) - 1)


def seen_at(target: Target, starts_ns: list[int], resent: int) -> Seen:
    """All requests of the command, and the controls' silences. `starts_ns`: when each run began (CLOCK_MONOTONIC)."""
    seen = Seen(_witness(target), runs=len(starts_ns), control=StallControl(), resent_segments=resent)
    runs = _Runs(starts_ns)
    for origin in target.origins():
        connections: dict[int, SeenConnection] = {}
        for exchange in list(origin.tap.exchanges):
            if not exchange.complete:
                continue
            if exchange.request.path.startswith(PATH):
                _add_control(seen, target, exchange)
                continue
            arrival = exchange.arrival
            if is_http2(exchange.request):
                seen.http2 += 1
                continue
            if arrival.index not in connections:
                connections[arrival.index] = _connection(target, arrival, runs.at(exchange.first_ns), len(seen.connections))
                connections[arrival.index].accepted_ns = origin.accepted_ns[arrival.index]
                seen.connections.append(connections[arrival.index])
            connection = connections[arrival.index]
            connection.requests += 1
            seen.requests.append(_request(connection, exchange))
        seen.notes += [f"a connection failed: {arrival.failure}" for arrival in origin.tap.arrivals if arrival.failure]
    _add_tunnels(seen, target, runs)
    seen.requests.sort(key=lambda request: request.first_ns)
    if not SEGMENTS_COUNTED:
        seen.unseen["OW101"] = NO_TCP_INFO
    if target.sockets.fault and not target.sockets.nodelay:
        seen.unseen["OW102"] = target.sockets.fault
    seen.notes = list(dict.fromkeys(seen.notes))
    return seen


def _witness(target: Target) -> str:
    where = "the server that counted (TCP_INFO)" if SEGMENTS_COUNTED else "the server that read"
    if target.proxy is not None:
        where = where.replace("the server", "the proxy and the server behind it")
    sockets = ", the command's sockets (pidfd_getfd)" if target.sockets.nodelay else ""
    return where + sockets


def _connection(target: Target, arrival: Arrival, run: int, index: int) -> SeenConnection:
    nodelay = target.sockets.of(arrival.peer_port, arrival.local_port)
    changed = target.sockets.changed(arrival.peer_port, arrival.local_port)
    peer = f"{OWN_NAME if target.proxy else '127.0.0.1'}, client port {arrival.peer_port}"
    return SeenConnection(run, index, peer, arrival.tls_version is not None, nodelay, changed, fault=arrival.failure)


def _request(connection: SeenConnection, exchange: Exchange) -> SeenRequest:
    request = exchange.request
    return SeenRequest(
        connection,
        exchange.nth_on_connection,
        request.method,
        request.target,
        len(request.head),
        len(request.body_wire),
        exchange.segments,
        exchange.records,
        longest_gap_ns(exchange),
        exchange.first_ns,
        exchange.answer_ns or None,
        request.expects_continue,
        request.framing == "chunked",
        next(iter(request.values("user-agent")), ""),
    )


def _add_control(seen: Seen, target: Target, exchange: Exchange) -> None:
    assert seen.control is not None
    if exchange.arrival.peer_port in target.split_ports:
        seen.control.split_gaps_ns.append(longest_gap_ns(exchange))
    elif exchange.arrival.peer_port in target.single_ports:
        seen.control.single_gaps_ns.append(longest_gap_ns(exchange))
    elif exchange.arrival.peer_port in target.fresh_ports:
        seen.control.fresh_gaps_ns.append(longest_gap_ns(exchange))


def _add_tunnels(seen: Seen, target: Target, runs: _Runs) -> None:
    """What went through CONNECT unopened, and what was forwarded."""
    if target.proxy is None:
        return
    seen.unreachable += target.proxy.unreachable
    for service, count in target.proxy.forwarded.items():
        seen.notes.append(f"{count} requests were forwarded to {service}, which has acted on them")
    for authority, arrival, tunnel in target.proxy.tunnels:
        if tunnel.fault:
            seen.unreachable.append(tunnel.fault)
        if not tunnel.turns:
            if tunnel.records.tls13 and not tunnel.fault:
                seen.notes.append(
                    f"a tunnel to {authority} made one request or none: the first of a TLS 1.3 connection is not counted"
                )
            continue
        nodelay = target.sockets.of(arrival.peer_port, arrival.local_port)
        connection = SeenConnection(
            runs.at(tunnel.turns[0].first_ns),
            len(seen.connections),
            authority,
            tls=True,
            nodelay=nodelay,
            accepted_ns=tunnel.accepted_ns,
            requests=len(tunnel.turns),
            http2_offered=tunnel.records.http2_offered,
        )
        seen.connections.append(connection)
        for nth, turn in enumerate(tunnel.turns, start=1 if tunnel.records.tls13 else 0):
            request = SeenRequest(
                connection, nth, "", authority, 0, turn.bytes, turn.segments, turn.records, turn.gap_ns,
                turn.first_ns, turn.answer_ns,
            )  # fmt: skip
            seen.requests.append(request)
