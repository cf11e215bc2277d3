"""Makes the command trust the tap's certificate, by the variables of the usual runtimes.

The system's own authorities stay trusted: the bundle holds both. Only the command's environment is changed.
"""

from __future__ import annotations

import contextlib
import re
import ssl
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509

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


def _certificates(bundle: bytes) -> list[x509.Certificate]:
    """Those of a bundle that can be read: old system authorities break today's rules, and may be left out."""
    from cryptography import x509

    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for text in re.findall(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\s", bundle, re.S):
            with contextlib.suppress(ValueError):
                found.append(x509.load_pem_x509_certificate(text))
    return found


def java_options(bundle: Path, folder: Path) -> list[str]:
    """A trust store of the same authorities, as options for a JVM."""
    # Not at the start of commands that need no trust store: cryptography takes 50 ms.
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

    entries = [
        pkcs12.PKCS12Certificate(certificate, certificate.fingerprint(SHA256()).hex().encode())
        for certificate in _certificates(bundle.read_bytes())
    ]
    store = folder / "authorities.p12"
    store.write_bytes(pkcs12.serialize_java_truststore(entries, BestAvailableEncryption(PASSWORD.encode())))
    return [
        f"-Djavax.net.ssl.trustStore={store}",
        "-Djavax.net.ssl.trustStoreType=PKCS12",
        f"-Djavax.net.ssl.trustStorePassword={PASSWORD}",
    ]
