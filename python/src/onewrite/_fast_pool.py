"""URLs and pool keys that were worked out before."""

from __future__ import annotations

import functools
import typing

from urllib3.util.url import Url, parse_url

Context = dict[str, typing.Any]


@functools.lru_cache(maxsize=512)
def parsed(url: str) -> tuple[Url, str]:
    """The URL taken apart, and what goes into the request line. Both are immutable."""
    found = parse_url(url)
    return found, found.request_uri


def frozen(context: Context) -> Context:
    """A copy of *context* that a change made in place does not reach."""
    return {name: _copied(value) for name, value in context.items()}


def _copied(value: typing.Any) -> typing.Any:
    if isinstance(value, list):
        return list(value)
    return dict(value) if isinstance(value, dict) else value


class Keys:
    """Pool keys of one manager, by scheme, host and port; forgotten when its settings change."""

    __slots__ = ("_context", "_functions", "_keys")

    def __init__(self) -> None:
        self._context: Context | None = None
        self._functions: dict[str, typing.Any] = {}
        self._keys: dict[tuple[typing.Any, ...], typing.Any] = {}

    def get(self, manager: typing.Any, scheme: str, host: str, port: int | None) -> typing.Any:
        """The key known for these, or None."""
        if manager.connection_pool_kw != self._context or manager.key_fn_by_scheme != self._functions:
            self._keys = {}
            return None
        return self._keys.get((scheme, host, port))

    def put(self, manager: typing.Any, scheme: str, host: str, port: int | None, key: typing.Any) -> None:
        """Remember *key*."""
        if not self._keys:
            self._context = frozen(manager.connection_pool_kw)
            self._functions = dict(manager.key_fn_by_scheme)
        if len(self._keys) < 1024:
            self._keys[(scheme, host, port)] = key


class Answered:
    """Stands for a pool whose urlopen has been called: hands over the response it gave.

    urllib3's PoolManager.urlopen can then go on with a redirect as if it had asked itself.
    """

    def __init__(self, pool: typing.Any, response: typing.Any) -> None:
        self._pool = pool
        self._response = response

    def urlopen(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """The response."""
        return self._response

    def __getattr__(self, name: str) -> typing.Any:
        return getattr(self._pool, name)
