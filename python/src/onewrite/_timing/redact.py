"""URLs without credentials (SEC-17)."""

from __future__ import annotations

import re

#: Where the authority of a URL begins: behind the scheme and its slashes, or at once; a path has none.
_BEFORE_AUTHORITY = re.compile(r"\s*(?:https?:[/\\]*|(?:[a-z][a-z0-9+.\-]*:)?//|(?![/\\?#\s]))", re.IGNORECASE).match
_AUTHORITY = re.compile(r"[^/\\?#]*").match
_WITHOUT_PORT = re.compile(r"(?:\[[^\]]*\]|[^:]*)(?::[0-9]*)?").fullmatch
_SIGNATURE = re.compile(r"(?<=[?&])(AWSAccessKeyId|Signature|sig|X-Goog-Signature)=[^&#]*")

#: Finds what makes it worth to read a URL more closely.
may_have_credentials = re.compile("@|Signature=|sig=|AWSAccessKeyId=").search


def redacted(url: str) -> str:
    """Return *url* without user, password and signatures, also where it is not valid."""
    if "@" in url:
        before = _BEFORE_AUTHORITY(url)
        if before is not None:
            start = before.end()
            authority = _AUTHORITY(url, start)
            assert authority is not None, "it may be empty"
            if "@" in authority[0]:
                url = url[:start] + url[start + authority[0].rindex("@") + 1 :]
            elif not _WITHOUT_PORT(authority[0]):  # a password with a "/", "?" or "#" that is not escaped
                url = url[:start] + url.rpartition("@")[2]
    mark = url.find("?")
    fragment = url.find("#")
    if mark < 0 or 0 <= fragment < mark:
        return url
    end = len(url) if fragment < 0 else fragment
    return url[:mark] + _SIGNATURE.sub(r"\1=REDACTED", url[mark:end]) + url[end:]
