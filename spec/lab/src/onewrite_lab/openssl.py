"""Certificates made by the `openssl` program, for machines without the package trustme."""

from __future__ import annotations

import ipaddress
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

__all__ = ["issue"]

CONFIGURATION = """\
[req]
prompt = no
distinguished_name = name
[name]
CN = onewrite check
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


def issue(folder: Path, names: Sequence[str]) -> tuple[str, str]:
    """Make an authority and one server's certificate; return the paths of ca.pem and of server.pem, which has its key.

    Raises RuntimeError where there is no `openssl`.
    """
    program = shutil.which("openssl")
    if program is None:
        raise RuntimeError("certificates need the openssl program, or the Python package trustme")
    (folder / "openssl.cnf").write_text(CONFIGURATION.format(names=", ".join(map(_alternative, names))))
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-config", "openssl.cnf"]
    life = ["-days", "30"]
    signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-set_serial", "2"]
    signed += ["-extfile", "openssl.cnf", "-extensions", "server"]
    for arguments in (
        ["req", "-x509", *new, "-extensions", "authority", *life, "-keyout", "ca.key", "-out", "ca.pem"],
        ["req", "-new", *new, "-subj", "/CN=onewrite check server", "-keyout", "server.key", "-out", "server.csr"],
        ["x509", "-req", "-in", "server.csr", *signed, *life, "-out", "server.crt"],
    ):
        done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"openssl {arguments[0]}: {' '.join(done.stderr.split())[-200:]}")
    server = folder / "server.pem"
    server.write_text((folder / "server.key").read_text() + (folder / "server.crt").read_text())
    return str(folder / "ca.pem"), str(server)


def _alternative(name: str) -> str:
    try:
        return f"IP:{ipaddress.ip_address(name)}"
    except ValueError:
        return f"DNS:{name}"
