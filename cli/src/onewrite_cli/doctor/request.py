"""The target, the request and the place where it is cut in two."""

from __future__ import annotations

import dataclasses
import ipaddress
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult

from onewrite_lab.probe import authority

from onewrite_cli import __version__
from onewrite_cli.common.exit_status import CouldNotRun
from onewrite_cli.common.proxies import credentials, port_of, proxy_for, split_url
from onewrite_cli.common.terminal import counted, print_err

__all__ = ["DoctorRequest", "Route", "confirm", "read_body", "route_to", "with_open_address"]

#: A second piece of a full segment is not held by Nagle's algorithm, and would show nothing.
MOST = 1400
#: A second header of these names changes the target or the end of the request.
OWN_HEADERS = ("host", "content-length", "transfer-encoding")
CONNECT_S = 5.0


@dataclass(frozen=True)
class Route:
    """`addresses` are those of the first hop. One is chosen, so that every arm meets the same machine."""

    url: SplitResult
    host: str
    port: int
    proxy: SplitResult | None
    addresses: tuple[str, ...]
    hop_port: int
    loopback: bool  # the URL's host and every hop that is known

    @property
    def tls(self) -> bool:
        return self.url.scheme == "https"

    @property
    def address(self) -> tuple[str, int]:
        return self.addresses[0], self.hop_port

    @property
    def authority(self) -> str:
        return self.url.netloc.rpartition("@")[2]

    @property
    def shown(self) -> str:
        """The URL without credentials and query."""
        return f"{self.url.scheme}://{self.authority}{self.url.path or '/'}"

    @property
    def target(self) -> str:
        """The request target: absolute form for a plain request to a proxy (RFC 9112, 3.2)."""
        path = (self.url.path or "/") + (f"?{self.url.query}" if self.url.query else "")
        return f"http://{self.authority}{path}" if self.proxy and not self.tls else path

    @property
    def first_hop(self) -> str:
        """In words, without credentials."""
        where = authority(*self.address)
        if self.proxy is None:
            return where
        named = authority(self.proxy.hostname or "", self.hop_port)
        return f"the proxy {named}" + ("" if named == where else f" ({where})")


def route_to(url: str, proxy: str) -> Route:
    """`proxy` is env, none or a URL. Raises CouldNotRun."""
    target = split_url(url, ("http", "https"))
    host, port = target.hostname or "", port_of(target)
    through = None
    if proxy != "none":
        through = proxy_for(target.scheme, host, port) if proxy == "env" else split_url(proxy, ("http",))
    hop_host, hop_port = (through.hostname or "", port_of(through)) if through else (host, port)
    addresses = _resolve(hop_host)
    try:
        everyone = (*addresses, *(_resolve(host) if through else ()))
    except CouldNotRun:  # a name that the proxy resolves
        everyone = ("",)
    return Route(target, host, port, through, addresses, hop_port, all(map(_is_loopback, everyone)))


def with_open_address(route: Route, timeout_s: float) -> Route:
    """With the address that takes a connection. Raises CouldNotRun when none does."""
    refused = []
    for address in route.addresses:
        try:
            socket.create_connection((address, route.hop_port), timeout=min(timeout_s, CONNECT_S)).close()
            return dataclasses.replace(route, addresses=(address,))
        except OSError as error:
            refused.append(f"no connection to {authority(address, route.hop_port)}: {error.strerror or error}")
    raise CouldNotRun("; ".join(refused))


def _resolve(host: str) -> tuple[str, ...]:
    """The addresses of a host, IPv4 first: most networks reach these."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise CouldNotRun(f"the name {host} could not be resolved: {error}") from error
    found.sort(key=lambda one: one[0] != socket.AF_INET)
    return tuple(dict.fromkeys(str(one[4][0]) for one in found))


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class DoctorRequest:
    """`first` and `second` are the two writes of the split arms; together they are the whole."""

    method: str
    first: bytes
    second: bytes
    body_bytes: int

    @classmethod
    def to(cls, route: Route, body: bytes | None, headers: list[str]) -> DoctorRequest:
        """A POST is cut between head and body, a GET in its head. Raises CouldNotRun."""
        method = "GET" if body is None else "POST"
        lines = [f"{method} {route.target} HTTP/1.1", f"Host: {route.authority}"]
        rest = [f"User-Agent: onewrite-doctor/{__version__}", "Accept: */*", *_checked(headers)]
        if not route.tls and (said := credentials(route.proxy)):
            rest.append(f"Proxy-Authorization: {said}")
        if (said := credentials(route.url)) and not any(header.lower().startswith("authorization:") for header in headers):
            rest.append(f"Authorization: {said}")
        if body is None:
            first = ("\r\n".join(lines) + "\r\n").encode()
            return cls(method, first, ("\r\n".join(rest) + "\r\n\r\n").encode(), 0)
        if not any(header.lower().startswith("content-type:") for header in headers):
            rest.append("Content-Type: application/octet-stream")
        rest.append(f"Content-Length: {len(body)}")
        return cls(method, ("\r\n".join([*lines, *rest]) + "\r\n\r\n").encode(), body, len(body))

    @property
    def too_large(self) -> bool:
        return len(self.second) > MOST


def _checked(headers: list[str]) -> list[str]:
    for header in headers:
        name, colon, value = header.partition(":")
        if not colon or not name.strip() or any(ord(character) < 32 for character in header):
            raise CouldNotRun("--header: write 'Name: value'")
        if name.strip().lower() in OWN_HEADERS:
            raise CouldNotRun(f"--header {name}: the doctor writes it itself")
        try:
            value.encode("latin-1")
        except UnicodeEncodeError as error:
            raise CouldNotRun(f"--header {name}: {error}") from error
    return headers


def read_body(post: str | None, post_bytes: int | None) -> bytes | None:
    """The body to POST, or None for GET. Raises CouldNotRun."""
    if post_bytes is not None:
        return b"x" * post_bytes
    if post is None:
        return None
    try:
        return sys.stdin.buffer.read() if post == "-" else Path(post).read_bytes()
    except OSError as error:
        raise CouldNotRun(f"--post {post}: {error.strerror}") from error


def confirm(route: Route, request: DoctorRequest, count: int, *, yes: bool, connections: int = 4) -> None:
    """Print what will be sent; raises CouldNotRun unless the user agrees, or the address is this machine's."""
    body = f" with a body of {request.body_bytes} bytes" if request.body_bytes else ""
    through = f" through {route.first_hop}" if route.proxy else ""
    what = f"{counted(count, f'{request.method} request')}{body} to {route.shown}{through}"
    print_err(f"will send {what}, one at a time on {counted(connections, 'connection')}")
    if yes or route.loopback:
        return
    if not sys.stdin.isatty():
        raise CouldNotRun("nothing was sent: the address is not this machine's, and standard input is no terminal; say --yes")
    print_err("Is this server yours to test? Send them? [y/N] ", end="")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CouldNotRun("nothing was sent")
