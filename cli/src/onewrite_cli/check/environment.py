"""The arguments and the environment of a command: placeholders, the proxy, and trust in the tool's certificate.

The authorities of the system and those of the user's variables stay trusted. Only the command's environment is changed.
"""

from __future__ import annotations

import contextlib
import os
import ssl
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from onewrite_cli.check.target import Target

__all__ = ["PEM_VARIABLES", "RunSettings", "trust_environment"]

PROXY_VARIABLES = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
#: OpenSSL, Go, Ruby, httpx · requests · curl · Node · AWS SDKs · git · Deno · gRPC
PEM_VARIABLES = (
    "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "AWS_CA_BUNDLE",
    "GIT_SSL_CAINFO", "DENO_CERT", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
)  # fmt: skip
SYSTEM = ("/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/cert.pem", "/etc/pki/tls/cert.pem")


class RunSettings:
    """The arguments and the environment of the command's runs. The caller removes `folder`."""

    def __init__(self, target: Target, folder: Path, *, requests: int, body: int) -> None:
        body_file = folder / "body"
        body_file.write_bytes(b"x" * body)
        self._values = {
            "{url}": target.url,
            "{https_url}": target.https_url,
            "{body}": "x" * body,
            "{body_file}": str(body_file),
            "{requests}": str(requests),
        }
        self.environment = dict(os.environ) | {
            "ONEWRITE_CHECK_URL": target.url,
            "ONEWRITE_CHECK_REQUESTS": str(requests),
            "ONEWRITE_CHECK_BODY_FILE": str(body_file),
        }
        if target.ca_file is not None:
            trusted = trust_environment(target.ca_file, folder)
            bundle = trusted["SSL_CERT_FILE"]
            self.environment |= trusted
            self.environment |= {"ONEWRITE_CHECK_HTTPS_URL": target.https_url, "ONEWRITE_CHECK_CA_FILE": bundle}
        if target.proxy is not None:
            self._go_through(target.proxy.base)
        else:  # a proxy of the user's cannot reach the tool
            direct = os.environ.get("no_proxy") or os.environ.get("NO_PROXY", "")
            if direct.strip() != "*":  # within a list an asterisk means nothing
                self.environment |= dict.fromkeys(("no_proxy", "NO_PROXY"), f"{direct},127.0.0.1".strip(","))

    def _go_through(self, proxy: str) -> None:
        """Make the tool the proxy of most programs, also of a JVM and of Node 24 and newer."""
        self.environment |= dict.fromkeys(PROXY_VARIABLES, proxy) | {"NODE_USE_ENV_PROXY": "1"}
        for name in ("no_proxy", "NO_PROXY"):
            self.environment.pop(name, None)
        where, java = urlsplit(proxy), [os.environ.get("JAVA_TOOL_OPTIONS", "")]
        for scheme in ("http", "https"):
            java += [f"-D{scheme}.proxyHost={where.hostname}", f"-D{scheme}.proxyPort={where.port}"]
        self.environment["JAVA_TOOL_OPTIONS"] = " ".join(java).strip()

    def arguments(self, command: list[str]) -> list[str]:
        """The command with its placeholders filled in."""
        filled = []
        for argument in command:
            for placeholder, value in self._values.items():
                argument = argument.replace(placeholder, value)
            filled.append(argument)
        return filled


def _of_the_user() -> Iterator[str]:
    """The certificates that the system, and the user's own variables name; a few of these may name a folder."""
    system = next((name for name in (ssl.get_default_verify_paths().openssl_cafile, *SYSTEM) if Path(name).is_file()), None)
    for name in filter(None, dict.fromkeys((system, *(os.environ.get(variable) for variable in PEM_VARIABLES)))):
        for file in (name, *map(str, Path(name).glob("*"))):
            with contextlib.suppress(OSError):
                yield Path(file).read_text(errors="replace")


def trust_environment(ca_file: str, folder: Path) -> dict[str, str]:
    """Write the bundle into `folder` and return the variables that name it: the tool's, the system's, the user's."""
    bundle = folder / "authorities.pem"
    bundle.write_text("\n".join((Path(ca_file).read_text(), *_of_the_user())))
    return dict.fromkeys(PEM_VARIABLES, str(bundle))
