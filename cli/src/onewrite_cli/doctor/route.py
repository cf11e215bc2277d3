"""Where the requests go: the URL, and the proxy before it."""

from __future__ import annotations

import base64
import ipaddress
import socket
import urllib.request
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

from onewrite_cli.exit_status import CouldNotRun

__all__ = ["Route", "route_to"]


@dataclass(frozen=True)
class Route:
    """`address` is the first hop's, resolved once, so that every arm meets the same machine."""

    url: SplitResult
    host: str
    port: int
    proxy: SplitResult | None
    address: tuple[str, int]
    loopback: bool  # the URL's host and every hop that we know

    @property
    def tls(self) -> bool:
        return self.url.scheme == "https"

    @property
    def authority(self) -> str:
        return self.url.netloc.rpartition("@")[2]

    @property
    def target(self) -> str:
        """The request target: absolute form for a plain request to a proxy (RFC 9112, 3.2)."""
        path = (self.url.path or "/") + (f"?{self.url.query}" if self.url.query else "")
        return f"http://{self.authority}{path}" if self.proxy and not self.tls else path

    @property
    def authorization(self) -> str | None:
        return _basic(self.url)

    @property
    def proxy_authorization(self) -> str | None:
        return _basic(self.proxy) if self.proxy else None

    @property
    def first_hop(self) -> str:
        """In words, without credentials."""
        where = f"{self.address[0]}:{self.address[1]}"
        return f"the proxy {self.proxy.hostname}:{self.address[1]} ({where})" if self.proxy else where


def _basic(url: SplitResult) -> str | None:
    """The credentials of `user:password@` (RFC 7617)."""
    if url.username is None:
        return None
    user = f"{unquote(url.username)}:{unquote(url.password or '')}"
    return "Basic " + base64.b64encode(user.encode()).decode()


def route_to(url: str, proxy: str) -> Route:
    """`proxy` is env, none or a URL. Raises CouldNotRun."""
    target = _split(url, ("http", "https"))
    host = target.hostname or ""
    port = _port(target)
    through = _proxy(target, proxy)
    hop_host, hop_port = (through.hostname or "", _port(through)) if through else (host, port)
    address = _resolve(hop_host, hop_port)
    loopback = _is_loopback(address[0]) and (through is None or _is_loopback(_resolved_quietly(host)))
    return Route(target, host, port, through, address, loopback)


def _split(text: str, schemes: tuple[str, ...]) -> SplitResult:
    try:
        url = urlsplit(text)
        url.port  # noqa: B018 (raises ValueError for what is no port)
    except ValueError as error:
        raise CouldNotRun(f"{text}: {error}") from error
    if url.scheme not in schemes or not url.hostname:
        raise CouldNotRun(f"{text} is no {' or '.join(schemes)} URL")
    if any(ord(character) <= 32 or ord(character) == 127 for character in text):
        raise CouldNotRun("the URL holds a space or a control character")
    return url


def _port(url: SplitResult) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


def _proxy(target: SplitResult, choice: str) -> SplitResult | None:
    if choice == "none":
        return None
    if choice != "env":
        return _split(choice, ("http",))
    if urllib.request.proxy_bypass(target.netloc.rpartition("@")[2]):
        return None
    found = urllib.request.getproxies_environment().get(target.scheme)
    return _split(found if "://" in found else f"http://{found}", ("http",)) if found else None


def _resolve(host: str, port: int) -> tuple[str, int]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise CouldNotRun(f"the name {host} could not be resolved: {error}") from error
    # IPv4 first: a name with both is reached either way, and the first address answers in most networks.
    found.sort(key=lambda one: one[0] != socket.AF_INET)
    return str(found[0][4][0]), port


def _resolved_quietly(host: str) -> str:
    try:
        return _resolve(host, 0)[0]
    except CouldNotRun:
        return ""


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False
