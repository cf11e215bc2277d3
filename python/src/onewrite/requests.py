"""One write per request for a session of requests: ``session.mount("https://", onewrite.requests.Adapter())``."""

from __future__ import annotations

import typing

import requests.adapters

from ._install import own_scope

__all__ = ["Adapter"]


class Adapter(requests.adapters.HTTPAdapter):
    """requests' HTTPAdapter, whose requests leave in one write, directly and through proxies.

    Takes what HTTPAdapter takes, and ``on_timing``, ``observe`` and ``quickack`` as :func:`onewrite.install` does.
    """

    __attrs__ = [*requests.adapters.HTTPAdapter.__attrs__, "_onewrite_arguments"]  # noqa: RUF012 - as requests has it

    def __init__(
        self,
        *args: typing.Any,
        on_timing: typing.Callable[..., object] | None = None,
        observe: bool | None = None,
        quickack: bool | None = None,
        **kwargs: typing.Any,
    ) -> None:
        self._onewrite_arguments = (on_timing, observe, quickack)
        self._onewrite = own_scope(*self._onewrite_arguments)
        super().__init__(*args, **kwargs)

    def __setstate__(self, state: typing.Any) -> None:
        """Come from a pickle: requests makes pools anew."""
        super().__setstate__(state)  # type: ignore[misc]
        self._onewrite = own_scope(*self._onewrite_arguments)

    def _own(self, pool: typing.Any) -> typing.Any:
        if self._onewrite is not None:
            pool._onewrite = self._onewrite
        return pool

    def get_connection_with_tls_context(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """Return the pool for a request (a method that requests documents for overriding, since 2.32)."""
        return self._own(super().get_connection_with_tls_context(*args, **kwargs))

    def get_connection(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """Return the pool for a URL (the same before requests 2.32)."""
        return self._own(super().get_connection(*args, **kwargs))
