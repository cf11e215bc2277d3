"""The second witness: the system calls of an unchanged command, wherever it connects to."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from onewrite_cli.check.seen import Seen, SeenConnection, SeenRequest
from onewrite_cli.check.strace_log import Call, read_log
from onewrite_cli.check.tls_records import ClientRecords

__all__ = ["seen_in", "strace_prefix", "why_no_strace"]

WRITES = ("write", "writev", "sendto", "sendmsg", "sendmmsg", "sendfile", "pwritev2")
READS = ("read", "readv", "recvfrom", "recvmsg", "recvmmsg")
FAMILY = ("clone", "clone3", "fork", "vfork")
TRACED = (*WRITES, *READS, *FAMILY, "socket", "connect", "setsockopt")
CAPTURED = 4096
REQUEST_LINE = re.compile(rb"([A-Z][A-Z-]{2,15}) (\S{1,2000}) HTTP/1\.[01]\r\n")
NO_TIME = "system calls do not show when the kernel sends, and strace slows every one of them"
NO_COPY = "strace captures the beginning of each write only"


def why_no_strace() -> str | None:
    """Why strace cannot be used here, or None."""
    if sys.platform != "linux":
        return "strace exists on Linux only"
    if shutil.which("strace") is None:
        return "strace is not installed: apt-get install strace"
    try:
        tried = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"strace does not run: {error}"
    return None if tried.returncode == 0 else f"strace may not trace here: {tried.stderr.strip().splitlines()[-1]}"


def strace_prefix(log: Path) -> list[str]:
    """What goes before the command's own arguments."""
    calls = ",".join(TRACED)
    return ["strace", "-f", "-qq", "-yy", "-xx", "-ttt", "-s", str(CAPTURED), "-e", f"trace={calls}", "-o", str(log)]


@dataclass
class _Socket:
    """A descriptor of one process: what was set on it before it was connected."""

    nodelay: bool = False
    connected: bool = False


@dataclass
class _Stream:
    """What one connection wrote."""

    seen: SeenConnection
    records: ClientRecords = field(default_factory=ClientRecords)
    kind: str = ""  # http, tls, or other
    request: SeenRequest | None = None


def seen_in(logs: list[Path]) -> Seen:
    """What the logs of the command's runs show."""
    seen = Seen("strace (system calls)", "writes", runs=len(logs))
    seen.unseen["OW105"] = NO_TIME
    seen.unseen["OW106"] = NO_COPY
    for run, log in enumerate(logs):
        with log.open(errors="replace") as lines:
            _Reader(seen, run).read(read_log(iter(lines)))
    seen.connections = [connection for connection in seen.connections if connection.requests]
    return seen


class _Reader:
    """Follows the sockets of one run."""

    def __init__(self, seen: Seen, run: int) -> None:
        self._seen, self._run = seen, run
        self._process: dict[int, int] = {}  # thread -> process
        self._sockets: dict[tuple[int, int], _Socket] = {}
        self._streams: dict[str, _Stream] = {}

    def read(self, calls: Iterable[Call]) -> None:
        for call in calls:
            key = (self._process.get(call.pid, call.pid), call.descriptor)
            if call.name in FAMILY:
                self._clone(call)
            elif call.name == "socket":
                if call.result >= 0 and "SOCK_STREAM" in call.arguments:
                    self._sockets[key] = _Socket()
            elif call.name == "connect":
                if key in self._sockets and "AF_INET" in call.arguments:
                    self._sockets[key].connected = True
            elif call.name == "setsockopt":
                self._option(call, key)
            elif call.result > 0 and call.connection is not None:
                self._bytes(call, key)

    def _clone(self, call: Call) -> None:
        if call.result <= 0:
            return
        process = self._process.get(call.pid, call.pid)
        if "CLONE_THREAD" in call.arguments:
            self._process[call.result] = process
        else:  # a child begins with copies of the descriptors
            for (owner, descriptor), socket in list(self._sockets.items()):
                if owner == process:
                    self._sockets[call.result, descriptor] = socket

    def _option(self, call: Call, key: tuple[int, int]) -> None:
        match = re.search(r"TCP_NODELAY, \[(\d+)\]", call.arguments)
        if match is None or call.result != 0:
            return
        on = match.group(1) != "0"
        if key in self._sockets:
            self._sockets[key].nodelay = on
        if call.connection in self._streams:
            self._streams[call.connection].seen.nodelay = on

    def _bytes(self, call: Call, key: tuple[int, int]) -> None:
        assert call.connection is not None
        socket = self._sockets.get(key)
        if socket is None or not socket.connected:
            return  # a connection that the command accepted, or got from its parent
        if call.connection not in self._streams:
            if call.name not in WRITES:
                return
            client, _, server = call.connection.partition("->")
            peer = f"{server}, descriptor {call.descriptor}, from {client}"
            connection = SeenConnection(self._run, len(self._seen.connections), peer, nodelay=socket.nodelay)
            self._seen.connections.append(connection)
            self._streams[call.connection] = _Stream(connection)
        stream = self._streams[call.connection]
        if call.name in WRITES:
            self._written(stream, call)
        else:
            self._answered(stream, call)

    def _answered(self, stream: _Stream, call: Call) -> None:
        request = stream.request
        if request is None:
            return
        if request.answered_ns is None and not request.expects_continue:
            request.answered_ns = call.t_ns
        if stream.kind == "tls":
            stream.request = None

    def _written(self, stream: _Stream, call: Call) -> None:
        data = call.data()
        if not stream.kind:
            plain = REQUEST_LINE.match(data) is not None
            tls = len(data) > 2 and data[0] == 22 and data[1] == 3
            stream.kind = "http" if plain else "tls" if tls else "other"
            stream.seen.tls = tls
            stream.seen.fault = "not HTTP/1.1" if stream.kind == "other" else None
        if stream.kind == "http":
            self._plain(stream, call, data)
        elif stream.kind == "tls":
            self._encrypted(stream, call, data)

    def _plain(self, stream: _Stream, call: Call, data: bytes) -> None:
        line = REQUEST_LINE.match(data)
        if line is None:
            if stream.request is not None:
                self._more(stream.request, call, 0)
            return
        method, target = line.group(1).decode(), line.group(2).decode("latin-1")
        end = data.find(b"\r\n\r\n")
        head = end + 4 if end >= 0 else min(call.result, len(data))
        request = self._begin(stream, call, method, target)
        request.head_bytes, request.body_bytes = head, max(0, call.result - head)
        request.expects_continue = b"expect: 100-continue" in data[:head].lower()
        request.chunked = b"transfer-encoding: chunked" in data[:head].lower()

    def _encrypted(self, stream: _Stream, call: Call, data: bytes) -> None:
        new = stream.records.feed(data)
        missing = call.result - len(data)
        if missing > 0:
            stream.records.skip(missing)
        stream.seen.http2_offered = stream.records.http2_offered
        if not stream.records.application or not (new or stream.request):
            return
        if stream.request is None:
            request = self._begin(stream, call, "", stream.seen.peer.partition(",")[0])
            request.records, request.body_bytes = new, call.result
        else:
            self._more(stream.request, call, new)

    def _begin(self, stream: _Stream, call: Call, method: str, target: str) -> SeenRequest:
        request = SeenRequest(stream.seen, stream.seen.requests, method, target, 0, 0, 1, None, None, call.t_ns, call.t_ns, None)
        stream.seen.requests += 1
        stream.request = request
        self._seen.requests.append(request)
        return request

    @staticmethod
    def _more(request: SeenRequest, call: Call, records: int) -> None:
        request.pieces = (request.pieces or 0) + 1
        request.body_bytes += call.result
        request.last_ns = call.t_ns
        if request.records is not None:
            request.records += records
