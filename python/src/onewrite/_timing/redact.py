"""URLs without credentials (SEC-17)."""

from __future__ import annotations

import re
from urllib.parse import unquote_plus

#: Where the authority of a URL begins: behind the scheme and its slashes, or at once; a path has none.
_BEFORE_AUTHORITY = re.compile(r"\s*(?:https?:[/\\]*|(?:[a-z][a-z0-9+.\-]*:)?//|(?![/\\?#\s]))", re.IGNORECASE).match
_AUTHORITY = re.compile(r"[^/\\?#]*").match
_WITHOUT_PORT = re.compile(r"(?:\[[^\]]*\]|[^:]*)(?::[0-9]*)?").fullmatch

#: A query key with one of these words has a secret value.
WORDS = frozenset((
    "sig", "signature", "token", "secret", "password", "passwd", "pwd", "credential", "credentials", "auth",
    "authorization", "jwt", "hmac", "key", "apikey",
))  # fmt: skip
#: Splits a key into words: AWSAccessKeyId into AWS, Access, Key, Id.
_words = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])").split
#: A key without an escape and without a beginning of these words has no secret word.
_MAY_BE_SECRET = re.compile("%|sig|token|secret|pass|pwd|cred|auth|jwt|hmac|key", re.IGNORECASE).search


def redacted(url: str) -> str:
    """Return *url* without user, password and the values of secret keys, also where it is not valid."""
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
    if mark < 0 or _MAY_BE_SECRET(url, mark) is None:
        return url
    fragment = url.find("#")
    if 0 <= fragment < mark:
        return url
    end = len(url) if fragment < 0 else fragment
    return f"{url[: mark + 1]}{'&'.join(map(_pair, url[mark + 1 : end].split('&')))}{url[end:]}"


def _pair(pair: str) -> str:
    key, equals, _ = pair.partition("=")
    if equals and not WORDS.isdisjoint(word.lower() for word in _words(unquote_plus(key))):
        return f"{key}=REDACTED"
    return pair
