"""The proxy that the environment names for a URL: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY."""

from __future__ import annotations

import base64
from urllib.parse import SplitResult, unquote, urlsplit

from onewrite_lab.probe import authority

from onewrite_cli.common.exit_status import CouldNotRun

__all__ = ["credentials", "port_of", "proxy_for", "split_url", "without_credentials"]


def port_of(url: SplitResult) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


def without_credentials(text: str) -> str:
    """A URL, or what should be one, for an error: without user, password and query, wherever they end."""
    scheme, sign, rest = text.partition("?")[0].rpartition("://")
    return scheme + sign + rest.rpartition("@")[2]


def split_url(text: str, schemes: tuple[str, ...]) -> SplitResult:
    """Raises CouldNotRun, with no credentials in the message."""
    shown = without_credentials(text)
    try:
        url = urlsplit(text)
        if url.port == 0:  # else the scheme's own port would stand in for it
            raise ValueError
    except ValueError:
        raise CouldNotRun(f"{shown} has no valid host and port") from None
    if url.scheme not in schemes or not url.hostname:
        raise CouldNotRun(f"{shown} is no {' or '.join(schemes)} URL")
    if any(ord(character) <= 32 or ord(character) == 127 for character in text):
        raise CouldNotRun("the URL holds a space or a control character")
    return url


def proxy_for(scheme: str, host: str, port: int) -> SplitResult | None:
    """None where the environment names none for this host. Raises CouldNotRun for one that speaks no plain HTTP."""
    from urllib.request import getproxies_environment, proxy_bypass

    proxies = getproxies_environment()
    found = proxies.get(scheme) or proxies.get("all")
    if not found or any(proxy_bypass(one, proxies) for one in (host, authority(host, port))):
        return None
    return split_url(found if "://" in found else f"http://{found}", ("http",))


def credentials(url: SplitResult | None) -> str | None:
    """The value of an authorization field for `user:password@` (RFC 7617)."""
    if url is None or url.username is None:
        return None
    user = f"{unquote(url.username)}:{unquote(url.password or '')}"
    return "Basic " + base64.b64encode(user.encode()).decode()
