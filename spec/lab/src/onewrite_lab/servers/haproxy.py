"""Starts a real HAProxy on sockets whose ports the kernel chose.

A configuration names its listening sockets `fd@${FD_NAME}`. The bench binds one socket per name on port 0 and hands
it over, so no port is ever taken, guessed or raced for.
"""

from __future__ import annotations

import re
import socket
import subprocess
import time
from pathlib import Path

from onewrite_lab.servers.children import Child, Children, LabError, guarded, installed
from onewrite_lab.servers.network import LOOPBACK, Network

__all__ = ["HAProxy", "complaint", "find", "frontend_names", "version"]

_FD = re.compile(r"fd@\$\{FD_([A-Z0-9_]+)\}")


def find() -> str:
    """The path of haproxy. Raises LabError with the way to get it."""
    return installed("haproxy", "haproxy (macOS: brew install haproxy)")


def version() -> str | None:
    """HAProxy's version number, or None when it is not installed."""
    try:
        text = subprocess.run([find(), "-v"], capture_output=True, text=True, timeout=10, check=False).stdout
    except (LabError, OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r"version (\S+)", text)
    return match.group(1) if match else None


def complaint(output: str) -> str | None:
    """The first alert of HAProxy, one about a line of the configuration before others."""
    alerts = [match.group(1).strip() for match in re.finditer(r"\[ALERT\][^:]*: (.*)", output)]
    alerts = [re.sub(r"^config : ", "", alert) for alert in alerts]
    telling = [alert for alert in alerts if "rror(s) found" not in alert and "Fatal errors found" not in alert]
    # A keyword that was mistyped helps more than what follows from its absence.
    named = [alert for alert in telling if "did you mean" in alert]
    placed = [alert for alert in telling if "parsing [" in alert]
    return next(iter([*named, *placed, *telling, *alerts]), None)


def frontend_names(configuration: str) -> list[str]:
    """The sockets that a configuration names, in its order: FD_HTTP_BUFFER_REQUEST is `http-buffer-request`."""
    names = (match.group(1).lower().replace("_", "-") for match in _FD.finditer(configuration))
    return list(dict.fromkeys(names))


class HAProxy:
    """One running HAProxy. `ports` maps each frontend's name to its port on 127.0.0.1."""

    def __init__(
        self, children: Children, configuration: Path, env: dict[str, str], network: Network = LOOPBACK
    ) -> None:
        program = find()
        try:
            text = configuration.read_text()
        except OSError as error:
            raise LabError(f"the HAProxy configuration {configuration} cannot be read: {error.strerror}") from error
        names = frontend_names(text)
        if not names:
            raise LabError(f'{configuration} has no listening socket for the bench: write bind "fd@${{FD_NAME}}"')
        sockets: dict[str, socket.socket] = {}
        self.ports: dict[str, int] = {}
        environment = dict(env)
        try:
            for name in names:
                listener = network.bind()
                sockets[name] = listener
                self.ports[name] = listener.getsockname()[1]
                environment["FD_" + name.upper().replace("-", "_")] = str(listener.fileno())
            command = [*network.servers, *guarded(program, "-db", "-f", str(configuration))]
            self._child = children.start(
                "haproxy", command, environment, [listener.fileno() for listener in sockets.values()], wait=False
            )
            self._await_listening(self._child, network)
        finally:
            for listener in sockets.values():
                listener.close()

    def _await_listening(self, child: Child, network: Network, timeout_s: float = 15) -> None:
        deadline = time.monotonic() + timeout_s
        for name, port in self.ports.items():
            while True:
                if child.ended():
                    raise LabError(f"haproxy did not start{_why(child)}")
                try:
                    network.knock(port)
                    break
                except OSError as error:
                    if time.monotonic() > deadline:
                        raise LabError(f"haproxy does not listen for frontend {name}{child.last_words()}") from error
                    time.sleep(0.02)
        # The kernel takes connections for the first sockets while HAProxy may still fail to bind a later one, and end.
        alive = any(network.answers(port, 1) for port in self.ports.values())
        if not alive and child.ends_within(1):
            raise LabError(f"haproxy did not start{_why(child)}")


def _why(child: Child) -> str:
    said = complaint(child.log.read_text(errors="replace"))
    return f": {said}" if said else child.last_words()
