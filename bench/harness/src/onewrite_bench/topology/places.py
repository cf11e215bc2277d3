"""Brings a scenario's topology up: origin, HAProxy, forward proxy, relay, each a process of its own on 127.0.0.1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onewrite_lab.certificates import Certificates
from onewrite_lab.servers import relay
from onewrite_lab.servers.children import Child, Children, script
from onewrite_lab.servers.haproxy import HAProxy
from onewrite_lab.servers.network import LOOPBACK, Network

from onewrite_bench.failures import BenchError
from onewrite_bench.paths import TOPOLOGY
from onewrite_bench.scenario import Target

__all__ = ["Places"]


def _ports(child: Child) -> dict[str, int]:
    ports = child.ready.get("ports")
    if not isinstance(ports, dict):
        raise BenchError(f"{child.name} did not say where it listens")
    return {str(name): int(port) for name, port in ports.items()}


class Places:
    """The running topology. Places are called `origin/plain`, `haproxy/mode-tcp`, `relay/proxy`."""

    def __init__(
        self, children: Children, topology: dict[str, Any], directory: Path, network: Network = LOOPBACK
    ) -> None:
        self._ports: dict[str, int] = {}
        self._network = network
        host = network.address
        servers = network.servers
        self.certificate_authority: str | None = None
        arguments: list[str] = ["--host", host]
        env: dict[str, str] = {}
        if topology.get("tls"):
            certificates = Certificates(directory)
            self.certificate_authority = certificates.ca_file
            env["ONEWRITE_CERTIFICATE"] = certificates.server_file()
            arguments += ["--certificate", env["ONEWRITE_CERTIFICATE"]]
        self._add("origin", _ports(children.start("origin", [*servers, *script(TOPOLOGY / "origin.py", *arguments)])))
        for name in ("plain", "nagle"):
            env["ONEWRITE_ORIGIN" + ("" if name == "plain" else "_NAGLE")] = f"{host}:{self.port(f'origin/{name}')}"
        if topology.get("relay") or topology.get("forward_proxy"):
            command = script(Path(relay.__file__), "--upstream-port", str(self.port("origin/plain")))
            self._add("relay", _ports(children.start("relay", command)))
        if topology.get("haproxy"):
            configuration = TOPOLOGY / "configurations" / str(topology["haproxy"])  # an absolute path stays itself
            self._add("haproxy", HAProxy(children, configuration, env, network).ports)

    def _add(self, owner: str, ports: dict[str, int]) -> None:
        self._ports.update({f"{owner}/{name}": port for name, port in ports.items()})

    def port(self, place: str) -> int:
        if place.startswith("target/"):
            return int(place.removeprefix("target/"))
        try:
            return self._ports[place]
        except KeyError:
            raise BenchError(f"the topology has no {place}; it has {', '.join(sorted(self._ports))}") from None

    def url(self, target: Target) -> str:
        if target.url is not None:
            return target.url
        host = "localhost" if target.scheme == "https" else self._network.address
        return f"{target.scheme}://{host}:{self.port(target.at)}{target.path}"

    @property
    def client_command(self) -> tuple[str, ...]:
        """What goes before a client's command line, so that it runs where clients are."""
        return self._network.clients

    @property
    def proxy_url(self) -> str:
        return f"http://127.0.0.1:{self.port('relay/proxy')}"
