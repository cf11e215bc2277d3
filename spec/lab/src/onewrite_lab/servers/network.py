"""Where servers and clients of a topology are: on loopback, or each in its own network namespace."""

from __future__ import annotations

import ctypes
import os
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from onewrite_lab.servers.children import LabError

__all__ = ["LOOPBACK", "Network"]

_CLONE_NEWNET = 0x40000000
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Network:
    """`address` is where servers listen; `servers` and `clients` go before their command lines."""

    address: str = "127.0.0.1"
    servers: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    server_namespace: str | None = None

    def bind(self) -> socket.socket:
        """A bound socket on a port of the kernel's choice, where the servers are."""

        def make() -> socket.socket:
            listener = socket.socket()
            listener.bind((self.address, 0))
            return listener

        return self._there(make)

    def knock(self, port: int) -> None:
        """Connect to a server from its own side. Raises OSError when it does not listen."""
        self._there(lambda: socket.create_connection((self.address, port), timeout=1).close())

    def answers(self, port: int, timeout_s: float) -> bool:
        """Whether a server answers a plain request at all: then it has started."""

        def ask() -> bool:
            with socket.create_connection((self.address, port), timeout=timeout_s) as sock:
                sock.sendall(b"GET / HTTP/1.0\r\n\r\n")
                return bool(sock.recv(1))

        try:
            return self._there(ask)
        except OSError:
            return False

    def _there(self, work: Callable[[], _Result]) -> _Result:
        """Run `work` in the servers' namespace: in a thread that enters it and then ends."""
        if self.server_namespace is None:
            return work()
        results: list[_Result] = []
        errors: list[BaseException] = []

        def enter() -> None:
            try:
                descriptor = os.open(self.server_namespace or "", os.O_RDONLY)
                try:
                    if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET) != 0:
                        raise LabError(f"setns: {os.strerror(ctypes.get_errno())}")
                finally:
                    os.close(descriptor)
                results.append(work())
            except (OSError, LabError) as error:
                errors.append(error)

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        if errors:
            raise errors[0]
        return results[0]


LOOPBACK = Network()
