"""The keyword arguments of own classes, as type checkers see them: a misspelled one is an error."""

from __future__ import annotations

import ssl
import typing

import urllib3
from typing_extensions import TypedDict  # imported by type checkers only, as this module is

from ._settings import OnTiming
from ._timing.events import TimingListener


class OnTimingAndOptions(TypedDict, total=False):
    """What onewrite adds, but for the listener."""

    on_timing: OnTiming | None
    nodelay_disabled: bool | None
    coalesce_disabled: bool | None
    hooks_disabled: bool | None
    observe: bool | None
    coalesce_max: int | None
    quickack: bool | None


class Options(OnTimingAndOptions, total=False):
    """What onewrite adds."""

    listener: TimingListener | None


SocketOptions = typing.Iterable[tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]]
Limits = typing.TypeVar("Limits")
Proxy = typing.TypeVar("Proxy")
Backend = typing.TypeVar("Backend")


class TransportKeywords(Options, typing.Generic[Limits, Proxy], total=False):
    """These, and what the transports of httpx and httpx2 take; each has its own classes of limits and proxies."""

    cert: str | tuple[str, str] | tuple[str, str, str] | None
    trust_env: bool
    http1: bool
    http2: bool
    limits: Limits
    proxy: Proxy
    uds: str | None
    local_address: str | None
    retries: int
    socket_options: SocketOptions | None


class CoreKeywords(Options, typing.Generic[Proxy, Backend], total=False):
    """These, and what the pools of httpcore and httpcore2 take."""

    proxy: Proxy | None
    max_connections: int | None
    max_keepalive_connections: int | None
    keepalive_expiry: float | None
    http1: bool
    http2: bool
    retries: int
    local_address: str | None
    uds: str | None
    network_backend: Backend | None
    socket_options: SocketOptions | None


class Keywords(Options, total=False):
    """These, and what every pool of urllib3 takes."""

    timeout: urllib3.Timeout | float | None
    maxsize: int
    block: bool
    retries: urllib3.Retry | bool | int | None
    source_address: tuple[str, int] | None
    blocksize: int
    socket_options: typing.Sequence[tuple[int, int, int | bytes]] | None
    key_file: str | None
    key_password: str | None
    cert_file: str | None
    cert_reqs: int | str | None
    ca_certs: str | None
    ca_cert_dir: str | None
    ca_cert_data: str | bytes | None
    ssl_version: int | str | None
    ssl_minimum_version: ssl.TLSVersion | None
    ssl_maximum_version: ssl.TLSVersion | None
    ssl_context: ssl.SSLContext | None
    assert_hostname: str | typing.Literal[False] | None
    assert_fingerprint: str | None
    server_hostname: str | None


class PoolKeywords(Keywords, total=False):
    """These, and what a manager takes once for all pools."""

    headers: typing.Mapping[str, str] | None
