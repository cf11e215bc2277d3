"""URLs and pool keys that were worked out before."""

from __future__ import annotations

import functools
import queue
import typing

from urllib3._collections import HTTPHeaderDict
from urllib3.util.url import Url, _encode_target, parse_url

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


@functools.lru_cache(maxsize=512)
def encoded(target: str) -> str:
    """*target* as urllib3's pools put it into the request line. Raises what urllib3 raises."""
    return _encode_target(target)


def header_dict(headers: typing.Any) -> HTTPHeaderDict:
    """``HTTPHeaderDict(headers)``, at once where *headers* is an ordinary dict."""
    if type(headers) is dict:
        try:
            container = {name.lower(): [name, value] for name, value in headers.items()}
        except (AttributeError, TypeError):
            return HTTPHeaderDict(headers)
        if len(container) == len(headers) and all(type(name) is str for name in headers):
            made = HTTPHeaderDict.__new__(HTTPHeaderDict)
            made._container = container
            return made
    return HTTPHeaderDict(headers)


class Queue(queue.LifoQueue):  # type: ignore[type-arg]
    """A pool's connections, with a shorter way where nobody has to wait."""

    def take(self) -> typing.Any:
        """The connection on top; None where there is none, or only the place for one."""
        with self.mutex:
            if not self.queue or self.queue[-1] is None:
                return None
            self.not_full.notify()
            return self.queue.pop()

    def put(self, item: typing.Any, block: bool = True, timeout: float | None = None) -> None:
        """Put *item* on top: see :meth:`queue.Queue.put`."""
        with self.mutex:
            if len(self.queue) < self.maxsize and not getattr(self, "is_shutdown", False):
                self.queue.append(item)
                self.unfinished_tasks += 1
                self.not_empty.notify()
                return
        super().put(item, block, timeout)


def queue_class(theirs: typing.Any) -> typing.Any:
    """What an own pool keeps its connections in: ours, where *theirs* is that of the standard library.

    gevent puts one of its own in its place, which is made differently.
    """
    return Queue if theirs is _STANDARD and theirs.__module__ == "queue" else theirs


_STANDARD = Queue.__base__


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
