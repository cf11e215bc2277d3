"""What a survey talks to, started by the bench's topology: HAProxy, nginx, the relay, an origin that counts segments."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

from onewrite_bench.ends import scratch
from onewrite_bench.failures import BenchError
from onewrite_bench.paths import TOPOLOGY
from onewrite_bench.topology import certificate, haproxy
from onewrite_bench.topology.children import Children, installed, script
from onewrite_bench.topology.haproxy import HAProxy
from onewrite_bench.topology.nginx import Nginx

from frontends import HAPROXY, NGINX, Frontend, haproxy_configuration, nginx_configuration

__all__ = ["HERE", "ROOT", "Missing", "Servers", "haproxy_version", "nginx_version"]

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

Missing = BenchError
"""A program that a survey needs is not here; the message says how to get it."""


def haproxy_version() -> str:
    """Its version, and where it is from: this is the HAProxy that was measured, whichever comes first on PATH."""
    return f"{haproxy.version() or 'unknown'} ({_source(haproxy.find())})"


def nginx_version() -> str:
    program = installed("nginx", "nginx-light")
    text = subprocess.run([program, "-v"], capture_output=True, text=True, timeout=10, check=False).stderr
    return f"{text.partition('nginx/')[2].split()[0] if 'nginx/' in text else 'unknown'} ({_source(program)})"


def _source(program: str) -> str:
    """The package that a program is from, where dpkg knows it."""
    dpkg = shutil.which("dpkg")
    if dpkg is not None:
        known = subprocess.run([dpkg, "-S", program], capture_output=True, text=True, timeout=30, check=False)
        if known.returncode == 0:
            return f"package {known.stdout.split(':')[0]}"
    return "of no package"


class Servers:
    """Everything that runs during a survey; ended in reverse order, whatever happens."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def __enter__(self) -> Servers:
        self.folder = self._stack.enter_context(scratch("onewrite-survey-"))
        self.children = self._stack.enter_context(Children(self.folder))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @cached_property
    def certificate(self) -> certificate.Pair:
        """An authority to trust, and a certificate for localhost and 127.0.0.1 with its key."""
        return certificate.make(self.folder)

    def origin(self) -> int:
        return self._port(script(HERE / "origin.py"), "origin")

    def relay(self, upstream: int) -> int:
        return self._port(script(TOPOLOGY / "relay.py", "--upstream-port", str(upstream)), "relay")

    def _port(self, command: list[str], name: str) -> int:
        ports = self.children.start(name, command).ready["ports"]
        assert isinstance(ports, dict)
        return int(ports[name])

    def haproxy(self, origin: int, frontends: tuple[Frontend, ...] = HAPROXY) -> dict[str, int]:
        """The ports of a real HAProxy's frontends, by key."""
        configuration = self.folder / "haproxy.cfg"
        configuration.write_text(haproxy_configuration(frontends))
        env = {"ONEWRITE_ORIGIN": f"127.0.0.1:{origin}"}
        if any(one.tls for one in frontends):
            env["ONEWRITE_CERTIFICATE"] = str(self.certificate.server)
        return HAProxy(self.children, configuration, env).ports

    def nginx(self, origin: int, frontends: tuple[Frontend, ...] = NGINX) -> dict[str, int]:
        """The ports of a real nginx's servers, by key."""

        def written(ports: dict[str, int]) -> str:
            return nginx_configuration(frontends, ports, origin, str(self.folder))

        return Nginx(self.children, self.folder, [one.key for one in frontends], written).ports
