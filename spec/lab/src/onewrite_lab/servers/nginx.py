"""Starts a real nginx on sockets whose ports the kernel chose: it finds those that it inherits by their addresses."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from onewrite_lab.servers.children import Children, LabError, guarded, installed
from onewrite_lab.servers.network import LOOPBACK

__all__ = ["Nginx"]


class Nginx:
    """One running nginx. `ports` maps each server's name to its port on 127.0.0.1."""

    def __init__(
        self, children: Children, directory: Path, names: Iterable[str], written: Callable[[dict[str, int]], str]
    ) -> None:
        """`written` makes the configuration from the ports; `directory` takes nginx's own files."""
        sockets = {name: socket.create_server(("127.0.0.1", 0), backlog=64) for name in names}
        self.ports = {name: listener.getsockname()[1] for name, listener in sockets.items()}
        configuration = directory / "nginx.conf"
        configuration.write_text(written(self.ports))
        descriptors = [listener.fileno() for listener in sockets.values()]
        program = installed("nginx", "nginx-light")
        command = [program, "-p", str(directory), "-e", str(directory / "early.log"), "-c", str(configuration)]
        try:
            child = children.start(
                "nginx",
                guarded(*command),
                {"NGINX": "".join(f"{descriptor};" for descriptor in descriptors)},
                descriptors,
                wait=False,
            )
        finally:
            for listener in sockets.values():
                listener.close()
        # The sockets listen already: only an answer shows that nginx has them.
        deadline = time.monotonic() + 15
        for name, port in self.ports.items():
            while not LOOPBACK.answers(port, 0.5):
                if child.ended():
                    raise LabError(f"nginx did not start{child.last_words()}")
                if time.monotonic() > deadline:
                    raise LabError(f"nginx does not answer at {name}{child.last_words()}")
