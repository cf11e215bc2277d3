"""Reads the kernel's view of another process's sockets, with no help from that process.

The file descriptors of the process (and of its children) are walked in /proc, each socket is duplicated into
this process with pidfd_getfd(2) and asked with getsockopt. A duplicate shares the socket, not its file position
or flags, and is closed at once, so the process under test does not notice. Needs Linux 5.6 and the right to
ptrace the process, which a parent has over its children in the default configuration.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import socket
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from onewrite_lab.witness import tcpinfo

__all__ = ["AVAILABLE", "Owners", "SocketReading", "WitnessError", "connections", "process_tree"]

# Options that a user may name (PROTOCOL.md, open) and that read back as they were set.
READ_BACK = {
    "SO_KEEPALIVE": (socket.SOL_SOCKET, socket.SO_KEEPALIVE),
    "SO_REUSEADDR": (socket.SOL_SOCKET, socket.SO_REUSEADDR),
    "TCP_NODELAY": (socket.IPPROTO_TCP, socket.TCP_NODELAY),
    "TCP_KEEPIDLE": (socket.IPPROTO_TCP, getattr(socket, "TCP_KEEPIDLE", 4)),
    "TCP_KEEPINTVL": (socket.IPPROTO_TCP, getattr(socket, "TCP_KEEPINTVL", 5)),
    "TCP_KEEPCNT": (socket.IPPROTO_TCP, getattr(socket, "TCP_KEEPCNT", 6)),
    "TCP_USER_TIMEOUT": (socket.IPPROTO_TCP, getattr(socket, "TCP_USER_TIMEOUT", 18)),
}

AVAILABLE = sys.platform == "linux" and hasattr(os, "pidfd_open")

_SYS_PIDFD_GETFD = 438  # the same number on every architecture that has it


class WitnessError(RuntimeError):
    """The kernel refused to list sockets; the message says which call refused and what may help."""


@dataclass(frozen=True)
class SocketReading:
    """One TCP connection of the watched process."""

    local_port: int
    peer_port: int
    nodelay: bool
    data_segs_out: int
    data_segs_in: int
    bytes_sent: int
    total_retrans: int
    pid: int = 0  # the process that holds it; one of them, where several do
    peer: str = ""  # its address
    not_sent: int = 0
    last_data_sent_ms: int = 0
    mss: int = 0
    unacked: int = 0
    rwnd_limited_us: int = 0
    options: dict[str, int] = field(default_factory=dict)  # those of READ_BACK, if wanted


def connections(pid: int, peer_port: int, *, options: bool = False) -> list[SocketReading]:
    """Return the TCP connections of `pid` and its children whose peer's port is `peer_port`.

    `peer_port` 0 means any peer. With `options` the socket options of READ_BACK are read too. Sockets that close
    while we look are left out. Raises WitnessError when the kernel forbids the look, and ProcessLookupError when
    the process is gone.
    """
    if not AVAILABLE:
        raise WitnessError("the socket witness needs Linux and Python 3.9 or newer")
    found: dict[int, SocketReading] = {}
    for process in process_tree(pid):
        try:
            found.update(_of_process(process, peer_port, options))
        except ProcessLookupError:
            if process == pid:
                raise
    return [found[inode] for inode in sorted(found)]


def process_tree(pid: int) -> list[int]:
    """Return `pid` and its descendants."""
    tree = [pid]
    for process in tree:
        try:
            tasks = list(Path(f"/proc/{process}/task").iterdir())
        except (FileNotFoundError, ProcessLookupError):
            continue
        for task in tasks:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended meanwhile
                tree.extend(int(child) for child in (task / "children").read_text().split())
    return tree


def _has_ended(pid: int) -> bool:
    """True if the process is gone, or a zombie: its /proc/PID/fd belongs to root (proc(5), /proc/pid)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state in ("Z", "X")


def _socket_descriptors(pid: int) -> dict[int, int]:
    """Its sockets: the descriptor of each inode. Raises WitnessError, ProcessLookupError."""
    found: dict[int, int] = {}
    try:
        names = os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208 (names only, no Path objects: there may be thousands)
    except FileNotFoundError:
        raise ProcessLookupError(pid) from None
    except PermissionError as error:
        if _has_ended(pid):
            raise ProcessLookupError(pid) from None
        raise WitnessError(f"/proc/{pid}/fd: {error.strerror}; run as the user of the process, or as root") from error
    if not names and _has_ended(pid):
        raise ProcessLookupError(pid)
    for name in names:
        try:
            link = os.readlink(f"/proc/{pid}/fd/{name}")  # noqa: PTH115
        except OSError:
            continue
        if link.startswith("socket:["):
            found[int(link[8:-1])] = int(name)
    return found


def _pidfd(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except OSError as error:
        raise _refused("pidfd_open", error.errno or 0) from error


def _of_process(pid: int, peer_port: int, options: bool) -> dict[int, SocketReading]:
    descriptors = _socket_descriptors(pid)
    pidfd = _pidfd(pid)
    try:
        read = {inode: _read(pid, pidfd, number, peer_port, options) for inode, number in descriptors.items()}
    finally:
        os.close(pidfd)
    return {inode: reading for inode, reading in read.items() if reading is not None}


class Owners:
    """Which process of a tree holds a socket, and its TCP_NODELAY. One walk of the descriptors serves all who wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places: dict[int, tuple[int, int]] = {}  # by inode: process, descriptor

    def nodelay(self, roots: Sequence[int], inode: int) -> tuple[int, bool] | None:
        """The process and the option; None where no process of the trees holds the socket. Raises WitnessError."""
        for known in (True, False):
            with self._lock:
                if not known or inode not in self._places:
                    self._walk(roots)
                    known = False
                place = self._places.get(inode)
            if place is not None and (found := self._read(inode, *place)):
                return found
            if not known:
                return None
        return None

    def _walk(self, roots: Sequence[int]) -> None:
        self._places = {}
        for pid in dict.fromkeys(pid for root in roots for pid in process_tree(root)):
            with contextlib.suppress(ProcessLookupError):
                self._places |= {inode: (pid, number) for inode, number in _socket_descriptors(pid).items()}

    @staticmethod
    def _read(inode: int, pid: int, descriptor: int) -> tuple[int, bool] | None:
        try:
            pidfd = _pidfd(pid)
        except ProcessLookupError:
            return None
        try:
            copy = _getfd(pidfd, descriptor)
        finally:
            os.close(pidfd)
        if copy is None:
            return None
        if os.fstat(copy).st_ino != inode:  # the descriptor names another file by now
            os.close(copy)
            return None
        with socket.socket(fileno=copy) as sock:
            return pid, tcpinfo.nodelay(sock)


def _read(pid: int, pidfd: int, descriptor: int, peer_port: int, options: bool) -> SocketReading | None:
    copy = _getfd(pidfd, descriptor)
    if copy is None:
        return None
    try:
        sock = socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        return None
    with sock:
        if sock.family not in (socket.AF_INET, socket.AF_INET6) or sock.type != socket.SOCK_STREAM:
            return None
        try:
            address, peer = sock.getpeername()[:2]
            local = sock.getsockname()[1]
            if peer_port not in (0, peer):
                return None
            info = tcpinfo.read(sock)
            if info is None:
                return None
            return SocketReading(
                local_port=local,
                peer_port=peer,
                nodelay=tcpinfo.nodelay(sock),
                data_segs_out=info.data_segs_out,
                data_segs_in=info.data_segs_in,
                bytes_sent=info.bytes_sent,
                total_retrans=info.total_retrans,
                pid=pid,
                peer=address,
                not_sent=info.not_sent,
                last_data_sent_ms=info.last_data_sent_ms,
                mss=info.mss,
                unacked=info.unacked,
                rwnd_limited_us=info.rwnd_limited_us,
                options={name: sock.getsockopt(*option) for name, option in READ_BACK.items()} if options else {},
            )
        except OSError:  # not connected, or closed meanwhile
            return None


_libc = ctypes.CDLL(None, use_errno=True) if AVAILABLE else None


def _getfd(pidfd: int, descriptor: int) -> int | None:
    assert _libc is not None
    copy = _libc.syscall(_SYS_PIDFD_GETFD, pidfd, descriptor, 0)
    if copy >= 0:
        return int(copy)
    code = ctypes.get_errno()
    if code in (9, 3):  # EBADF, ESRCH: closed while we looked
        return None
    raise _refused("pidfd_getfd", code)


def _refused(call: str, code: int) -> WitnessError:
    hint = "needs the right to ptrace: kernel.yama.ptrace_scope 0 or 1, or root"
    if code == errno.ENOSYS:
        hint = "needs Linux 5.6, and a sandbox that allows the call"
    return WitnessError(f"{call}: {os.strerror(code)}; {hint}")
