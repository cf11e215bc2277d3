"""Makes the command trust the tap's certificate, by the variables of the usual runtimes.

The system's own authorities stay trusted: the bundle holds both. Only the command's environment is changed.
"""

from __future__ import annotations

import hashlib
import re
import ssl
import struct
from pathlib import Path

__all__ = ["PEM_VARIABLES", "java_options", "trust_environment"]

#: OpenSSL, Go, Ruby, httpx · requests · curl · Node · AWS SDKs · git · Deno · gRPC
PEM_VARIABLES = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "AWS_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "DENO_CERT",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
)
PASSWORD = "changeit"


def _system_authorities() -> str:
    paths = ssl.get_default_verify_paths()
    for name in (paths.cafile, paths.openssl_cafile, "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/cert.pem"):
        if name and Path(name).is_file():
            return Path(name).read_text(errors="replace")
    return ""


def trust_environment(ca_file: str, folder: Path) -> dict[str, str]:
    """Write the bundle into `folder` and return the variables that name it."""
    own = Path(ca_file).read_text()
    bundle = folder / "authorities.pem"
    bundle.write_text(own + _system_authorities())
    return dict.fromkeys(PEM_VARIABLES, str(bundle))


def java_options(bundle: Path, folder: Path) -> list[str]:
    """A trust store of the same authorities, as options for a JVM."""
    pattern = "-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----"
    certificates = [ssl.PEM_cert_to_DER_cert(text) for text in re.findall(pattern, bundle.read_text(), re.S)]
    store = folder / "authorities.jks"
    store.write_bytes(_key_store(certificates))
    return [
        f"-Djavax.net.ssl.trustStore={store}",
        "-Djavax.net.ssl.trustStoreType=JKS",
        f"-Djavax.net.ssl.trustStorePassword={PASSWORD}",
    ]


def _key_store(certificates: list[bytes]) -> bytes:
    """The format JKS of the JDK (sun.security.provider.JavaKeyStore), which needs no library to write."""
    whole = struct.pack(">III", 0xFEEDFEED, 2, len(certificates))
    for number, certificate in enumerate(certificates):
        alias, kind = str(number).encode(), b"X.509"
        whole += struct.pack(">IH", 2, len(alias)) + alias + struct.pack(">QH", 0, len(kind)) + kind
        whole += struct.pack(">I", len(certificate)) + certificate
    return whole + hashlib.sha1(PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + whole).digest()
