"""The errors that onewrite itself raises."""

from __future__ import annotations

import urllib3.exceptions


class OnewriteError(Exception):
    """Base of every error that onewrite itself raises."""


class InvalidRequestError(OnewriteError, urllib3.exceptions.HTTPError, ValueError):
    """The request cannot be sent as it stands; the message says what to change.

    Raised before the first byte leaves, or, for a streamed body that turns out shorter or longer than
    its Content-Length, in mid-body; the connection is then closed. It is never retried. It is also a
    ValueError because urllib3 raises that for the cases which it checks itself.
    """


class UnsupportedBaseError(OnewriteError, ImportError):
    """The installed urllib3 is not one that onewrite knows; nothing was changed."""
