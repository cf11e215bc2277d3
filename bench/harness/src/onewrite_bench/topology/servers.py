"""Starts a scenario's topology: origin, HAProxy, nginx, forward proxy, relays, each a process on 127.0.0.1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onewrite_lab.certificates import Certificates
from onewrite_lab.servers import relay
from onewrite_lab.servers.children import Child, Children, installed, script
from onewrite_lab.servers.haproxy import HAProxy
from onewrite_lab.servers.network import LOOPBACK, Network
from onewrite_lab.servers.nginx import Nginx

from onewrite_bench.failures import BenchError
from onewrite_bench.paths import TOPOLOGY
from onewrite_bench.scenario import Target
from onewrite_bench.topology import tunnels

__all__ = ["Servers"]


def _ports(child: Child) -> dict[str, int]:
    ports = child.ready.get("ports")
    if not isinstance(ports, dict):
        raise BenchError(f"{child.name} printed no ports")
    return {str(name): int(port) for name, port in ports.items()}


class Servers:
    """The running topology. An address has a name such as `origin/plain`, `haproxy/mode-tcp`, `relay/proxy`."""

    def __init__(
        self, children: Children, topology: dict[str, Any], directory: Path, network: Network = LOOPBACK
    ) -> None:
        self._ports: dict[str, int] = {}
        self._network = network
        host = network.address
        installed("openssl")  # which makes the certificates
        certificates = Certificates(directory)
        self.certificate_authority = str(certificates.ca_file)
        env = {"ONEWRITE_CERTIFICATE": certificates.server_file()}
        arguments = ["--host", host, "--certificate", env["ONEWRITE_CERTIFICATE"]]
        origin = [*network.servers, *script(TOPOLOGY / "origin.py", *arguments)]
        self._add("origin", _ports(children.start("origin", origin)))
        for name in ("plain", "nagle"):
            env["ONEWRITE_ORIGIN" + ("" if name == "plain" else "_NAGLE")] = f"{host}:{self.port(f'origin/{name}')}"
        if topology.get("relay") or topology.get("forward_proxy"):
            command = script(Path(relay.__file__), "--upstream-port", str(self.port("origin/plain")))
            self._add("relay", _ports(children.start("relay", command)))
        if topology.get("haproxy"):
            self._add("haproxy", HAProxy(children, TOPOLOGY / "haproxy.cfg", env, network).ports)
        if topology.get("nginx"):
            self._add("nginx", _nginx(children, directory, env["ONEWRITE_ORIGIN"]))
        for tunnel in topology.get("tunnels", ()):
            started = tunnels.start(tunnel, children, directory, self.port("origin/plain"))
            self._add("tunnel", {tunnel: started})

    def _add(self, owner: str, ports: dict[str, int]) -> None:
        self._ports.update({f"{owner}/{name}": port for name, port in ports.items()})

    def port(self, name: str) -> int:
        try:
            return self._ports[name]
        except KeyError:
            raise BenchError(f"the topology has no {name}; it has {', '.join(sorted(self._ports))}") from None

    def url(self, target: Target) -> str:
        host = "localhost" if target.scheme == "https" else self._network.address
        return f"{target.scheme}://{host}:{self.port(target.at)}{target.path}"

    @property
    def client_command(self) -> tuple[str, ...]:
        """A prefix for a client's command line that runs it in the clients' network namespace."""
        return self._network.clients

    @property
    def proxy_url(self) -> str:
        return f"http://127.0.0.1:{self.port('relay/proxy')}"


def _nginx(children: Children, directory: Path, origin: str) -> dict[str, int]:
    """nginx with the servers that its configuration names as `@PORT_NAME@`."""
    folder = directory / "nginx"
    folder.mkdir()
    text = (TOPOLOGY / "nginx.conf").read_text().replace("@FOLDER@", str(folder)).replace("@ORIGIN@", origin)
    names = [line.split("@PORT_")[1].split("@")[0] for line in text.splitlines() if "@PORT_" in line]

    def written(ports: dict[str, int]) -> str:
        filled = text
        for name, port in ports.items():
            filled = filled.replace(f"@PORT_{name}@", f"127.0.0.1:{port}")
        return filled

    ports = Nginx(children, folder, names, written).ports
    return {name.lower().replace("_", "-"): port for name, port in ports.items()}
