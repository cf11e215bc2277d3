"""Starts and ends what is measured: HAProxy, nginx, the relay, the origin. All on ports the kernel chose."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType

from frontends import HAPROXY, NGINX, Frontend, haproxy_configuration, nginx_configuration

__all__ = ["HERE", "ROOT", "Missing", "Peers", "find", "trust", "version"]

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


class Missing(Exception):
    """A program that this needs is not here; the message says how to get it."""


def find(program: str, package: str | None = None) -> str:
    found = shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin:/usr/local/sbin")
    if found is None:
        raise Missing(f"{program} is not installed: sudo apt-get install {package or program}")
    return found


def version(program: str) -> str:
    """`2.6.12-1+deb12u4`, `1.22.1`: as the program itself tells it."""
    done = subprocess.run([find(program), "-v"], capture_output=True, text=True, timeout=10, check=False)
    match = re.search(r"(?:version |nginx/)([\w.+~-]+)", done.stdout + done.stderr)
    return match.group(1) if match else "unknown"


def trust(certificate: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificate))


class Peers:
    """Everything that runs during a measurement; ended in reverse order, by process id."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="onewrite-proxies-")
        self.folder = Path(self._folder.name)
        self._running: list[subprocess.Popen[bytes]] = []
        self._certificate: Path | None = None

    def __enter__(self) -> Peers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for process in reversed(self._running):
            process.terminate()
        for process in reversed(self._running):
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(5)
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    with contextlib.suppress(OSError):
                        pipe.close()
        self._folder.cleanup()

    @property
    def certificate(self) -> Path:
        """A PEM with key and self-signed certificate for localhost and 127.0.0.1, good for a day."""
        if self._certificate is None:
            key, cert = self.folder / "key.pem", self.folder / "cert.pem"
            subprocess.run(
                [find("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                 "-days", "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                 "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True, timeout=30)
            self._certificate = self.folder / "localhost.pem"
            self._certificate.write_text(key.read_text() + cert.read_text())
        return self._certificate

    def python(self, script: Path, *arguments: str) -> dict[str, object]:
        """Starts a Python helper that prints one JSON line when ready and ends with its standard input."""
        # A session of its own: Ctrl-C goes to us alone, and we end the helpers in order.
        process = subprocess.Popen([sys.executable, str(script), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   start_new_session=True)
        self._running.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise Missing(f"{script.name} ended before it was ready")
        answer: dict[str, object] = json.loads(line)
        answer["pid"] = process.pid
        return answer

    def origin(self, *, tls: bool = False) -> int:
        arguments = ["--tls-cert", str(self.certificate)] if tls else []
        port = self.python(HERE / "origin.py", *arguments)["port"]
        assert isinstance(port, int)
        return port

    def relay(self, upstream: int) -> int:
        ports = self.python(ROOT / "bench" / "topology" / "relay.py", "--upstream-port", str(upstream))["ports"]
        assert isinstance(ports, dict)
        return int(ports["relay"])

    def haproxy(self, origin: int, frontends: tuple[Frontend, ...] = HAPROXY) -> dict[str, int]:
        """The ports of a real HAProxy's frontends, by key."""
        sockets = {one.key: _bound() for one in frontends}
        certificate = str(self.certificate) if any(one.tls for one in frontends) else ""
        fds = {key: sock.fileno() for key, sock in sockets.items()}
        configuration = self.folder / "haproxy.cfg"
        configuration.write_text(haproxy_configuration(frontends, fds, origin, certificate))
        return self._start([find("haproxy"), "-db", "-f", str(configuration)], sockets, {})

    def nginx(self, origin: int, frontends: tuple[Frontend, ...] = NGINX) -> dict[str, int]:
        """The ports of a real nginx's servers, by key."""
        sockets = {one.key: _bound() for one in frontends}
        for sock in sockets.values():
            sock.listen(64)
        ports = {key: sock.getsockname()[1] for key, sock in sockets.items()}
        configuration = self.folder / "nginx.conf"
        configuration.write_text(nginx_configuration(frontends, ports, origin, str(self.folder)))
        inherit = {"NGINX": "".join(f"{sock.fileno()};" for sock in sockets.values())}
        command = [find("nginx", "nginx-light"), "-p", str(self.folder), "-e", str(self.folder / "early.log"),
                   "-c", str(configuration)]
        return self._start(command, sockets, inherit)

    def _start(self, command: list[str], sockets: dict[str, socket.socket], env: dict[str, str]) -> dict[str, int]:
        log = self.folder / (Path(command[0]).name + ".log")
        ports = {key: sock.getsockname()[1] for key, sock in sockets.items()}
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, str(ROOT / "bench" / "topology" / "until_eof.py"), *command],
                stdin=subprocess.PIPE, stdout=output, stderr=output, env={**os.environ, **env},
                pass_fds=[sock.fileno() for sock in sockets.values()], start_new_session=True)
        self._running.append(process)
        for sock in sockets.values():
            sock.close()
        deadline = time.monotonic() + 15
        while True:
            if process.poll() is not None:
                raise Missing(f"{command[0]} ended at once: {log.read_text()[-600:]}")
            # A probe that only connects is not a request; the last frontend listens when all do.
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", max(ports.values())), timeout=1):
                if all(_open(port) for port in ports.values()):
                    return ports
            if time.monotonic() > deadline:
                raise Missing(f"{command[0]} did not listen within 15 s: {log.read_text()[-600:]}")
            time.sleep(0.05)


def _bound() -> socket.socket:
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    return sock


def _open(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
