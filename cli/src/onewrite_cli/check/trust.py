"""Makes the command trust the tap's certificate, by the variables of the usual runtimes.

The authorities of the system and those of the user's variables stay trusted: the bundle holds all. Only the command's
environment is changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import ssl
import struct
import subprocess
from collections.abc import Iterator
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


JAVA_OPTION = re.compile(r"""-Djavax\.net\.ssl\.(trustStore|trustStorePassword|trustStoreType)=("[^"]*"|'[^']*'|\S+)""")
CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.S)


def _system_authorities() -> str:
    paths = ssl.get_default_verify_paths()
    for name in (paths.openssl_cafile, "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/cert.pem", "/etc/pki/tls/cert.pem"):
        if name and Path(name).is_file():
            return Path(name).read_text(errors="replace")
    return ""


def _of_the_user() -> Iterator[str]:
    """The certificates that the user's own variables name; a few of these may name a folder."""
    for name in filter(None, dict.fromkeys(os.environ.get(variable) for variable in PEM_VARIABLES)):
        for file in (name, *map(str, Path(name).glob("*"))):
            with contextlib.suppress(OSError):
                yield Path(file).read_text(errors="replace")


def _of_java(said: dict[str, str]) -> str:
    """Those of the store that JAVA_TOOL_OPTIONS names, or else of the JDK in JAVA_HOME or PATH, as its keytool lists them."""
    store, home = said.get("trustStore"), os.environ.get("JAVA_HOME")
    keytool = shutil.which("keytool", path=f"{home}/bin" if home else None) or shutil.which("keytool")
    if keytool is None:
        return ""
    command = [keytool, "-list", "-rfc", *(["-keystore", store] if store else ["-cacerts"])]
    if password := said.get("trustStorePassword", "" if store else PASSWORD):
        command += ["-storepass", password]
    without = {name: value for name, value in os.environ.items() if name != "JAVA_TOOL_OPTIONS"}
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=without, check=False).stdout


def trust_environment(ca_file: str, folder: Path) -> dict[str, str]:
    """Write the bundle into `folder` and return the variables that name it: the tool's, the system's, the user's."""
    texts = (Path(ca_file).read_text(), _system_authorities(), *_of_the_user())
    bundle = folder / "authorities.pem"
    bundle.write_text("\n".join(texts))
    return dict.fromkeys(PEM_VARIABLES, str(bundle))


def java_options(bundle: Path, folder: Path) -> list[str]:
    """A trust store of the same authorities and those of Java, as options for a JVM.

    It has the password that JAVA_TOOL_OPTIONS gives. Without one none is needed, and a password or a type would meet the
    store that the user names on the command line of java.
    """
    said = {name: value.strip("\"'") for name, value in JAVA_OPTION.findall(os.environ.get("JAVA_TOOL_OPTIONS", ""))}
    found = dict.fromkeys(CERTIFICATE.findall(bundle.read_text() + _of_java(said)))
    store = folder / "authorities.jks"
    certificates = [ssl.PEM_cert_to_DER_cert(text) for text in found]
    store.write_bytes(_key_store(certificates, said.get("trustStorePassword", PASSWORD)))
    kind = ["-Djavax.net.ssl.trustStoreType=JKS"] if "trustStoreType" in said else []
    return [f"-Djavax.net.ssl.trustStore={store}", *kind]


def _key_store(certificates: list[bytes], password: str) -> bytes:
    """The format JKS of the JDK (sun.security.provider.JavaKeyStore), which needs no library to write."""
    whole = struct.pack(">III", 0xFEEDFEED, 2, len(certificates))
    for number, certificate in enumerate(certificates):
        alias, kind = str(number).encode(), b"X.509"
        whole += struct.pack(">IH", 2, len(alias)) + alias + struct.pack(">QH", 0, len(kind)) + kind
        whole += struct.pack(">I", len(certificate)) + certificate
    return whole + hashlib.sha1(password.encode("utf-16-be") + b"Mighty Aphrodite" + whole).digest()
