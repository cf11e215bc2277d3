"""One write per request for a session of requests: ``session.mount("https://", onewrite.requests.Adapter())``."""

from __future__ import annotations

import typing

import requests.adapters

from ._install import kept
from ._manager import Own

__all__ = ["Adapter"]


class Adapter(Own, requests.adapters.HTTPAdapter):
    """requests' HTTPAdapter, whose requests leave in one write, directly and through proxies.

    Takes what HTTPAdapter takes, and ``on_timing``, ``observe`` and ``quickack`` as :func:`onewrite.install` does.
    """

    __attrs__ = [*requests.adapters.HTTPAdapter.__attrs__, "_onewrite"]  # noqa: RUF012 - as requests has it

    def __setstate__(self, state: typing.Any) -> None:
        """Come from a pickle: requests makes pools anew."""
        super().__setstate__(state)  # type: ignore[misc]
        self._onewrite = kept(self._onewrite)

    def get_connection_with_tls_context(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """Return the pool for a request (a method that requests documents for overriding, since 2.32)."""
        return self._own(super().get_connection_with_tls_context(*args, **kwargs))

    def get_connection(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """Return the pool for a URL (the same before requests 2.32)."""
        return self._own(super().get_connection(*args, **kwargs))
