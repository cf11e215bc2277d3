"""Removes credentials and the signatures of signed URLs from a URL (SEC-17)."""

from __future__ import annotations

import re

from onewrite_conformance.reference.mutants import broken

__all__ = ["redact"]

SCHEME = re.compile(r"\s*(?:[^/\\?#@]*:[/\\]+|https?:|[/\\]{2,})?", re.IGNORECASE)
AUTHORITY = re.compile(r"[^/\\?#]*")
PORT = re.compile(r"(?:\[[^]]*\]|[^:]*)(?::[0-9]*)?\Z")
SIGNATURE = re.compile(r"([?&](?:AWSAccessKeyId|Signature|sig|X-Goog-Signature)=)[^&#]*")


def redact(url: str) -> str:
    """Drop user and password, and replace the values of the query keys that OpenTelemetry lists.

    A password may hold a character that ends the authority: then what stands in the port's place is no number.
    """
    if broken("credentials_shown"):
        return url
    scheme = SCHEME.match(url)
    start = scheme.end() if scheme else 0
    authority = AUTHORITY.match(url, start)
    end = authority.end() if authority else start
    if (at := url.rfind("@", start, end)) < 0 and not PORT.match(url[start:end]):
        at = url.rfind("@", end)
    if at >= 0:
        url = url[:start] + url[at + 1 :]
    path, mark, fragment = url.partition("#")
    return SIGNATURE.sub(r"\1REDACTED", path) + mark + fragment
