"""The arguments and the environment of a command: placeholders, trust and the proxy."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

from onewrite_cli.check.target import Target
from onewrite_cli.check.trust import java_options, trust_environment

__all__ = ["PROXY_VARIABLES", "Given", "mentions"]

PROXY_VARIABLES = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")


def mentions(command: list[str], *placeholders: str) -> bool:
    return any(placeholder in argument for argument in command for placeholder in placeholders)


class Given:
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
        environment = dict(os.environ)
        environment |= {
            "ONEWRITE_CHECK_URL": target.url,
            "ONEWRITE_CHECK_REQUESTS": str(requests),
            "ONEWRITE_CHECK_BODY_FILE": str(body_file),
        }
        java: list[str] = []
        if target.ca_file is not None:
            trusted = trust_environment(target.ca_file, folder)
            environment |= trusted
            bundle = trusted["SSL_CERT_FILE"]
            environment |= {"ONEWRITE_CHECK_HTTPS_URL": target.https_url, "ONEWRITE_CHECK_CA_FILE": bundle}
            java += java_options(Path(bundle), folder)
        if target.proxy is not None:
            environment |= dict.fromkeys(PROXY_VARIABLES, target.proxy.base)
            environment["NODE_USE_ENV_PROXY"] = "1"  # Node 24 and newer
            for name in ("no_proxy", "NO_PROXY"):
                environment.pop(name, None)
            where = urlsplit(target.proxy.base)
            for scheme in ("http", "https"):
                java += [f"-D{scheme}.proxyHost={where.hostname}", f"-D{scheme}.proxyPort={where.port}"]
        if java:
            environment["JAVA_TOOL_OPTIONS"] = " ".join([os.environ.get("JAVA_TOOL_OPTIONS", ""), *java]).strip()
        self.environment = environment

    def arguments(self, command: list[str]) -> list[str]:
        """The command with its placeholders filled in."""
        filled = []
        for argument in command:
            for placeholder, value in self._values.items():
                argument = argument.replace(placeholder, value)
            filled.append(argument)
        return filled
