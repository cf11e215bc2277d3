"""The keyword arguments of own managers and pools, as type checkers see them: a misspelled one is an error."""

from __future__ import annotations

import ssl
import typing

import urllib3
from typing_extensions import TypedDict  # imported by type checkers only, as this module is

from .._installations import OnTiming
from .._timing.events import TimingListener


class Options(TypedDict, total=False):
    """What onewrite adds."""

    on_timing: OnTiming | None
    listener: TimingListener | None
    nodelay_disabled: bool
    coalesce_disabled: bool
    hooks_disabled: bool
    coalesce_max: int
    quickack: bool


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
