"""A TCP relay that leaves Nagle on, as a sidecar, a pooler or a tunnel may.

Whatever it reads it writes on, so two writes of the client that arrive as two segments become two writes here, and
the kernel holds the second until the first is acknowledged. TCP_NODELAY at the client cannot prevent that.

On loopback two writes that follow each other within microseconds are there before this process wakes, and are read as
one: a client must leave a moment between them, as a network would.
Prints one JSON line with its port when it is ready, and ends when its standard input ends.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import selectors
import socket
import sys
import threading

BUFFER = 262144


class Relay:
    def __init__(self, upstream_port: int) -> None:
        self._upstream_port = upstream_port
        self._selector = selectors.DefaultSelector()
        self._peers: dict[socket.socket, socket.socket] = {}
        self._pending: dict[socket.socket, bytearray] = {}
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self.port: int = self._listener.getsockname()[1]

    def run(self) -> None:
        while True:
            for key, events in self._selector.select(None):
                sock = key.fileobj
                assert isinstance(sock, socket.socket)
                if sock is self._listener:
                    self._accept()
                elif sock in self._peers and events & selectors.EVENT_WRITE:
                    self._write(sock)
                elif sock in self._peers:
                    self._read(sock)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        try:
            upstream = socket.create_connection(("127.0.0.1", self._upstream_port), timeout=10)
        except OSError:
            client.close()
            return
        for sock, peer in ((client, upstream), (upstream, client)):
            sock.setblocking(False)
            self._peers[sock] = peer
            self._pending[sock] = bytearray()
            self._selector.register(sock, selectors.EVENT_READ)

    def _read(self, sock: socket.socket) -> None:
        peer = self._peers[sock]
        if self._pending[peer]:  # what was read before goes first
            return
        try:
            data = sock.recv(BUFFER)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._close(sock)
            return
        self._pending[peer] += data
        self._write(peer)

    def _write(self, sock: socket.socket) -> None:
        pending = self._pending[sock]
        try:
            del pending[: sock.send(pending)]
        except BlockingIOError:
            pass
        except OSError:
            self._close(sock)
            return
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if pending else 0)
        self._selector.modify(sock, wanted)

    def _close(self, sock: socket.socket) -> None:
        for end in (sock, self._peers[sock]):
            with contextlib.suppress(KeyError):
                self._selector.unregister(end)
            self._peers.pop(end, None)
            self._pending.pop(end, None)
            end.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="A TCP relay with Nagle on.")
    parser.add_argument("--upstream-port", type=int, required=True)
    options = parser.parse_args()
    relay = Relay(options.upstream_port)
    threading.Thread(target=relay.run, daemon=True).start()
    print(json.dumps({"ready": True, "pid": os.getpid(), "ports": {"relay": relay.port}}), flush=True)
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
