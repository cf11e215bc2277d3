"""All that a command can be pointed at in one check, and what arrived there."""

from __future__ import annotations

from pathlib import Path

from onewrite_lab.certificates import shared as certificates
from onewrite_lab.client import CONTROL

from onewrite_cli.check.client_sockets import ClientSockets
from onewrite_cli.check.proxy import OWN_NAME, Proxy
from onewrite_cli.common.controls import run_controls
from onewrite_cli.common.exit_status import CouldNotRun
from onewrite_cli.common.origin import Origin, is_http2

__all__ = ["Target"]


class Target:
    """A plain origin, and with `tls` or `proxy` a secure one and a proxy. Raises CouldNotRun."""

    def __init__(self, folder: Path, *, tls: bool, secure: bool, proxy: bool) -> None:
        self.tls = tls
        self.sockets = ClientSockets()
        self.split_ports: set[int] = set()
        self.single_ports: set[int] = set()
        self.fresh_ports: set[int] = set()
        needs_secure = tls or secure or proxy
        self.plain = Origin("http", self.sockets.look)
        self.secure = Origin("https", self.sockets.look) if needs_secure else None
        self.ca_file: str | None = None
        if needs_secure:
            try:
                self.ca_file = certificates(folder / "tls").ca_file
            except RuntimeError as error:
                raise CouldNotRun(str(error)) from error
        self.proxy: Proxy | None = None
        if proxy:
            assert self.secure is not None
            self.proxy = Proxy(self.plain, self.secure, self.sockets)

    @property
    def http_url(self) -> str:
        return f"http://{OWN_NAME}/" if self.proxy else self.plain.url

    @property
    def https_url(self) -> str | None:
        if self.secure is None:
            return None
        return f"https://{OWN_NAME}/" if self.proxy else self.secure.url

    @property
    def url(self) -> str:
        return (self.https_url if self.tls else None) or self.http_url

    def origins(self) -> list[Origin]:
        return [self.plain, *([self.secure] if self.secure else [])]

    @property
    def requests(self) -> int:
        """The number of the command's requests so far."""
        opened = sum(
            exchange.complete and not self.is_own(exchange.arrival.peer_port) and not is_http2(exchange.request)
            for origin in self.origins()
            for exchange in origin.exchanges
        )
        return opened + sum(len(tunnel.turns) for _, _, tunnel in (self.proxy.tunnels if self.proxy else ()))

    def is_own(self, client_port: int) -> bool:
        """True for the port of the tool's own client."""
        return client_port in self.split_ports | self.single_ports | self.fresh_ports

    def control(self, *, body: int, times: int) -> None:
        """Let the tool's own clients make their requests. Raises CouldNotRun."""
        url, proxy = self._control_url()
        (split, _), (single, _) = run_controls(url, body=body, times=times, ca_file=self.ca_file, proxy=proxy)
        self.split_ports.add(split)
        self.single_ports.add(single)

    def fresh_control(self, *, body: int) -> None:
        """One split request on a new connection. Raises CouldNotRun."""
        url, proxy = self._control_url()
        ((port, _),) = run_controls(url, body=body, times=1, ca_file=self.ca_file, proxy=proxy, kinds=(CONTROL,))
        self.fresh_ports.add(port)

    def _control_url(self) -> tuple[str, str | None]:
        if self.proxy is not None:
            return f"http://{OWN_NAME}/", self.proxy.url
        return (self.secure.url if self.tls and self.secure else self.plain.url), None

    def settle(self) -> None:
        for origin in self.origins():
            origin.settle()

    def close(self) -> None:
        if self.proxy is not None:
            self.proxy.close()
        for origin in self.origins():
            origin.close()
