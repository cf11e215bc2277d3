"""All that a command can be pointed at in one check, and what arrived there."""

from __future__ import annotations

from pathlib import Path

from onewrite_lab.certificates import shared as certificates

from onewrite_cli.check.proxy import OWN_NAME, Proxy
from onewrite_cli.check.watched import WatchedOrigin
from onewrite_cli.common.controls import run_controls
from onewrite_cli.common.exit_status import CouldNotRun
from onewrite_cli.common.origin import Origin, is_http2
from onewrite_cli.common.sockets import Sockets

__all__ = ["Target"]


class Target:
    """A plain origin, and with `tls` or `proxy` a secure one and a proxy. Raises CouldNotRun."""

    def __init__(self, folder: Path, *, tls: bool, secure: bool, proxy: bool) -> None:
        self.sockets = Sockets()
        self.split_ports: set[int] = set()  # of the controls
        self.single_ports: set[int] = set()
        self.ca_file: str | None = None
        self.proxy: Proxy | None = None
        self.https_url = ""
        self.origins: list[Origin] = []
        if tls or secure or proxy:
            try:
                self.ca_file = certificates(folder / "tls").ca_file
            except RuntimeError as error:
                raise CouldNotRun(str(error)) from error
            secured = WatchedOrigin("https", self.sockets)
            self.https_url = f"https://{OWN_NAME}/" if proxy else secured.url
            self.proxy = Proxy(secured, self.sockets) if proxy else None
            self.origins.append(secured)
        plain = self.proxy or WatchedOrigin("http", self.sockets)
        self.origins.append(plain)
        http_url = f"http://{OWN_NAME}/" if proxy else plain.url
        self.url = self.https_url if tls else http_url
        self._control_url = http_url if proxy else self.url

    @property
    def requests(self) -> int:
        """The number of the command's requests so far."""
        return sum(
            exchange.complete and not self.is_own(exchange.arrival.peer_port) and not is_http2(exchange.request)
            for origin in self.origins
            for exchange in origin.exchanges
        )

    def is_own(self, client_port: int) -> bool:
        """True for the port of the tool's own client."""
        return client_port in self.split_ports | self.single_ports

    def control(self, *, body: int, times: int) -> None:
        """Let the tool's own clients make their requests. Raises CouldNotRun."""
        proxy = self.proxy.base if self.proxy else None
        split, single = run_controls(self._control_url, body=body, times=times, ca_file=self.ca_file, proxy=proxy)
        self.split_ports.add(split)
        self.single_ports.add(single)

    def settle(self) -> None:
        for origin in self.origins:
            origin.settle()

    def close(self) -> None:
        for origin in self.origins:
            origin.close()
