"""All that a command can be pointed at in one check."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from onewrite_cli.check.watched import OWN_NAME, WatchedOrigin
from onewrite_cli.common.exit_status import CouldNotRun
from onewrite_cli.common.origin import Origin, is_http2
from onewrite_cli.common.sockets import Sockets

if TYPE_CHECKING:
    from onewrite_cli.check.proxy import Proxy

__all__ = ["Target"]


class Target:
    """A plain origin, and with `secure` or `proxy` a secure one and a proxy. `tls` says which of them `url` is.

    Raises CouldNotRun.
    """

    def __init__(self, folder: Path, *, tls: bool = False, secure: bool = False, proxy: bool = False, port: int = 0) -> None:
        self.sockets = Sockets()
        self.ca_file: str | None = None
        self.proxy: Proxy | None = None
        self.https_url = ""
        self.origins: list[Origin] = []
        try:
            if tls or secure or proxy:
                from onewrite_lab.certificates import shared as certificates

                self.ca_file = certificates(folder / "tls").ca_file
                secured = WatchedOrigin("https", self.sockets, port if tls else 0)
                self.https_url = f"https://{OWN_NAME}/" if proxy else secured.url
                self.origins.append(secured)
            if proxy:
                from onewrite_cli.check.proxy import Proxy

                self.proxy = Proxy(secured, self.sockets)
            plain = self.proxy or WatchedOrigin("http", self.sockets, 0 if tls else port)
        except (OSError, RuntimeError) as error:
            raise CouldNotRun(f"port {port}: {error}" if isinstance(error, OSError) else str(error)) from error
        self.origins.append(plain)
        self.url = self.https_url if tls else f"http://{OWN_NAME}/" if proxy else plain.url

    @property
    def requests(self) -> int:
        """The number of requests so far."""
        whole = (one for origin in self.origins for one in origin.exchanges if one.complete)
        return sum(not is_http2(one.request) for one in whole)

    def settle(self) -> None:
        for origin in self.origins:
            origin.settle()

    def close(self) -> None:
        for origin in self.origins:
            origin.close()
        self.sockets.close()
