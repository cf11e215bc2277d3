"""Certificates for the tap, made by the openssl program: an authority, and servers that are right, wrong or foreign."""

from __future__ import annotations

import atexit
import functools
import ipaddress
import shutil
import ssl
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

__all__ = ["Certificates", "shared"]

# The last is no loopback name: Go, Ruby and Java send those past any proxy. `test` is reserved (RFC 6761, 6.2).
NAMES = ("localhost", "127.0.0.1", "::1", "check.onewrite.test")
LIFE = ("-days", "30")

CONFIGURATION = """\
[req]
prompt = no
distinguished_name = name
[name]
CN = onewrite {name}
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = {names}
"""


class Certificates:
    """A fresh authority, in `folder` or a temporary one. `ca_file` is the PEM that a client must trust.

    Raises RuntimeError where there is no `openssl`.
    """

    def __init__(self, folder: Path | None = None) -> None:
        if folder is None:
            temporary = tempfile.TemporaryDirectory(prefix="onewrite-lab-")
            atexit.register(temporary.cleanup)
            folder = Path(temporary.name)
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._lock = threading.Lock()
        self.ca_file = self._authority("ca")

    def server_file(self, certificate: str = "good") -> str:
        """The PEM of a server's certificate and key: `good`, for the `wrong_name`, or of an `untrusted` authority."""
        with self._lock:
            file = self._folder / f"{certificate}.pem"
            if not file.exists():
                authority = self._authority("foreign") if certificate == "untrusted" else self.ca_file
                names = ("elsewhere.example",) if certificate == "wrong_name" else NAMES
                file.write_text(self._issued(certificate, Path(authority).stem, names))
            return str(file)

    @functools.lru_cache(maxsize=16)  # noqa: B019 (one instance lives as long as the process)
    def context(self, certificate: str = "good", tls_max: str | None = None) -> ssl.SSLContext:
        """A server context with one of the certificates."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if tls_max == "1.2":
            context.maximum_version = ssl.TLSVersion.TLSv1_2
        elif tls_max == "1.3":
            context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_cert_chain(self.server_file(certificate))
        context.set_alpn_protocols(["http/1.1"])
        return context

    def _authority(self, name: str) -> str:
        made = ["-extensions", "authority", *LIFE, "-keyout", f"{name}.key", "-out", f"{name}.pem"]
        self._openssl("req", "-x509", *self._new(name, NAMES), *made)
        return str(self._folder / f"{name}.pem")

    def _issued(self, name: str, authority: str, names: Sequence[str]) -> str:
        self._openssl("req", "-new", *self._new(name, names), "-keyout", f"{name}.key", "-out", f"{name}.csr")
        signed = ["-CA", f"{authority}.pem", "-CAkey", f"{authority}.key", "-set_serial", "2", *LIFE]
        extensions = ["-extfile", f"{name}.cnf", "-extensions", "server"]
        self._openssl("x509", "-req", "-in", f"{name}.csr", *signed, *extensions, "-out", f"{name}.crt")
        return (self._folder / f"{name}.key").read_text() + (self._folder / f"{name}.crt").read_text()

    def _new(self, name: str, names: Sequence[str]) -> list[str]:
        """The arguments for a new key and the request of a certificate."""
        settings = CONFIGURATION.format(name=name, names=", ".join(map(_alternative, names)))
        (self._folder / f"{name}.cnf").write_text(settings)
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-config", f"{name}.cnf"]

    def _openssl(self, *arguments: str) -> None:
        program = shutil.which("openssl")
        if program is None:
            raise RuntimeError("certificates need the openssl program")
        done = subprocess.run([program, *arguments], cwd=self._folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"openssl {arguments[0]}: {' '.join(done.stderr.split())[-200:]}")


def _alternative(name: str) -> str:
    try:
        return f"IP:{ipaddress.ip_address(name)}"
    except ValueError:
        return f"DNS:{name}"


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
