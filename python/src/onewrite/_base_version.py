"""Which urllib3 this is, and whether onewrite knows it."""

from __future__ import annotations

import urllib3

from ._errors import UnsupportedBaseError


def version() -> str:
    """The installed urllib3's, "" where it has none."""
    return str(getattr(urllib3, "__version__", ""))


#: urllib3 1.26 hands bodies to http.client, which encodes str as Latin-1; 2.x uses UTF-8.
IS_V1 = version().startswith("1.")
TEXT_BODY_ENCODING = "latin-1" if IS_V1 else "utf-8"


def unsupported() -> str | None:
    """Why this urllib3 must be left alone, or None when it is known."""
    found = version()
    parts = found.split(".")
    try:
        major, minor = int(parts[0]), int(parts[1])
        patch = int("".join(c for c in (parts[2] if len(parts) > 2 else "0") if c.isdigit()) or 0)
    except (ValueError, IndexError):
        return f"urllib3 {found!r} has a version that onewrite cannot read; it knows 1.26 and 2.x"
    if patch >= 900 or hasattr(urllib3, "backend") or hasattr(urllib3, "AsyncPoolManager"):
        return (
            f"the installed 'urllib3' {found} is urllib3-future, which replaces urllib3 and writes requests "
            "in its own way; onewrite leaves it alone. "
            "To use it: pip install --force-reinstall urllib3"
        )
    if (major, minor) >= (1, 26) and major <= 2:
        return None
    return f"urllib3 {found} is not supported; onewrite knows 1.26 and 2.x"


def require() -> None:
    """Raise UnsupportedBaseError unless this urllib3 is known."""
    reason = unsupported()
    if reason:
        raise UnsupportedBaseError(reason)
