"""Certificates for the tap: one authority, and servers that are right, wrong, foreign or too old."""

from __future__ import annotations

import datetime
import functools
import ssl
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from onewrite_lab import openssl

if TYPE_CHECKING:
    import trustme

__all__ = ["Certificates", "shared"]

# The last is no loopback name: Go, Ruby and Java send those past any proxy. `test` is reserved (RFC 6761, 6.2).
NAMES = ("localhost", "127.0.0.1", "::1", "check.onewrite.test")


class Certificates:
    """A fresh authority, in `folder` or a temporary one. `ca_file` is the PEM that a client must trust.

    Without trustme the openssl program makes it, and good certificates only.
    """

    def __init__(self, folder: Path | None = None) -> None:
        if folder is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="onewrite-lab-")
            folder = Path(self._temporary.name)
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._server_file: str | None = None
        try:
            import trustme  # not at the start of commands that speak no TLS: it takes 50 ms
        except ImportError:
            self.ca_file, self._server_file = openssl.issue(folder, NAMES)
            return
        self._authority = trustme.CA()
        self._foreign = trustme.CA()
        self.ca_file = str(folder / "ca.pem")
        self._authority.cert_pem.write_to_path(self.ca_file)

    def server_file(self) -> str:
        """The PEM of a good server's certificate and key, for programs that read a file."""
        if self._server_file is not None:
            return self._server_file
        path = self._folder / "server.pem"
        self._leaf("good").private_key_and_cert_chain_pem.write_to_path(str(path))
        return str(path)

    @functools.lru_cache(maxsize=16)  # noqa: B019 (one instance lives as long as the process)
    def context(self, certificate: str = "good", tls_max: str | None = None) -> ssl.SSLContext:
        """A server context with a `good`, `wrong_name`, `untrusted` or `expired` certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if tls_max == "1.2":
            context.maximum_version = ssl.TLSVersion.TLSv1_2
        elif tls_max == "1.3":
            context.minimum_version = ssl.TLSVersion.TLSv1_3
        if self._server_file is not None:
            context.load_cert_chain(self._server_file)
        else:
            self._leaf(certificate).configure_cert(context)
        context.set_alpn_protocols(["http/1.1"])
        return context

    def _leaf(self, certificate: str) -> trustme.LeafCert:
        if certificate == "wrong_name":
            return self._authority.issue_cert("elsewhere.example")
        if certificate == "untrusted":
            return self._foreign.issue_cert(*NAMES)
        if certificate == "expired":
            past = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
            return self._authority.issue_cert(*NAMES, not_before=past, not_after=past + datetime.timedelta(days=1))
        return self._authority.issue_cert(*NAMES)


_lock = threading.Lock()
_shared: list[Certificates] = []


def shared(folder: Path | None = None) -> Certificates:
    """One authority per process, made by the first call and in its folder: making keys costs tens of milliseconds.

    Several threads may call it at once.
    """
    with _lock:
        if not _shared:
            _shared.append(Certificates(folder))
        return _shared[0]
