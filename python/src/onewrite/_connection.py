"""HTTPConnection and HTTPSConnection of our own."""

from __future__ import annotations

import http.client
import select
import socket
import ssl
import types
import typing

import urllib3.connection

from . import _base, _dial, _exchange, _fast, _fast_request, _fast_response, _floor, _moments, _reading, _straight
from ._options import DEFAULTS
from ._timing import Attempt

_SOCKETS = (socket.socket, ssl.SSLSocket)
_HTTP_RESPONSE = http.client.HTTPConnection.response_class


def _usual(response_class: typing.Any) -> bool:
    """Whether that is http.client's, or what install() puts in front of it."""
    return response_class is _HTTP_RESPONSE or response_class is _reading.response_class


class _OneWrite(_exchange.State):
    """The behaviour of both classes, in front of urllib3's."""

    _onewrite_own = True
    _learns = False
    # A poll object of this socket's number: made once, it spares each request making one.
    _onewrite_number = -1
    _onewrite_poll: typing.Any = None

    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None:
        super().__init__(*args, **kwargs)
        _exchange.configure(self, DEFAULTS)

    def request(
        self, method: str, url: str, body: typing.Any = None, headers: typing.Any = None, **extra: typing.Any
    ) -> None:
        """Send a request: see :meth:`urllib3.connection.HTTPConnection.request`.

        Raises :class:`onewrite.InvalidRequestError` before the first byte where the request is not one.
        """
        ahead = self._onewrite_ahead
        if ahead is not None:
            _straight.sent(self, ahead, method, url, extra)
            return
        if _fast.SUPPORTED and self._request_fast(method, url, body, headers, extra):
            return
        # The Host line is learned from a request that has none of its own and is not for a proxy.
        self._learns = url[:1] == "/" and not any(_floor._text(name).lower() == "host" for name in headers or ())
        _exchange.request(self, super().request, method, url, body, headers, **extra)  # type: ignore[misc]

    def _request_fast(
        self, method: str, url: str, body: typing.Any, headers: typing.Any, extra: dict[str, typing.Any]
    ) -> bool:
        options = self._onewrite_options
        if options.disabled or options.coalesce_disabled:
            return False
        attempt: Attempt | None = self._onewrite_attempt  # type: ignore[assignment]  # Plain: install() only
        if attempt is None:
            return _fast_request.request(self, method, url, body, headers, extra)
        try:
            sent = _fast_request.request(self, method, url, body, headers, extra)
        except BaseException as error:
            _moments.request_failed(attempt, error)
            raise
        if sent:
            _moments.request_end(attempt)
        return sent

    def _learn(self, first: typing.Any) -> None:
        if _fast.SUPPORTED and self._learns:
            _fast_request.learn_host(self, first)

    if _base.IS_V1:

        def request_chunked(
            self,
            method: str,
            url: str,
            body: typing.Any = None,
            headers: typing.Any = None,
            **extra: typing.Any,
        ) -> None:
            """Send a chunked request: urllib3 1.26 writes these in a loop of its own."""
            _exchange.request(self, super().request_chunked, method, url, body, headers, chunking=True, **extra)  # type: ignore[misc]

    def send(self, data: typing.Any) -> None:
        """Send bytes: see :meth:`http.client.HTTPConnection.send`."""
        _exchange.send(self, super().send, data)  # type: ignore[misc]

    def connect(self) -> None:
        """Connect: see :meth:`urllib3.connection.HTTPConnection.connect`."""
        _dial.connect(self, super().connect)  # type: ignore[misc]

    def getresponse(self, **extra: typing.Any) -> typing.Any:
        """Read a response: see :meth:`urllib3.connection.HTTPConnection.getresponse`."""
        options = self._onewrite_options
        if self._onewrite_ahead is not None:
            ahead, self._onewrite_ahead = self._onewrite_ahead, None
            return self._watched_getresponse(ahead)
        if _fast.SUPPORTED and not extra and not options.disabled and not options.quickack:
            response = self._getresponse_fast()
            if response is not None:
                return response
        return _reading.getresponse(self, super().getresponse, **extra)  # type: ignore[misc]

    def _getresponse_fast(self) -> typing.Any:
        if (
            "response_class" in self.__dict__
            or http.client.HTTPConnection.response_class is not _HTTP_RESPONSE
            or not _usual(type(self).response_class)  # type: ignore[attr-defined]
            or not _fast.own_methods(type(self))
            or not _fast.reads_untouched()
        ):
            return None
        return self._watched_getresponse()

    def _watched_getresponse(self, ahead: typing.Any = None) -> typing.Any:
        attempt: Attempt | None = self._onewrite_attempt  # type: ignore[assignment]  # Plain: install() only
        if attempt is None:
            return _fast_response.getresponse(self, ahead)
        attempt._in_response = True
        try:
            response = _fast_response.getresponse(self, ahead)
            if response is not None:
                _reading.got(attempt, response)
            return response
        except BaseException as error:
            _moments.response_failed(attempt, error)
            raise
        finally:
            attempt._in_response = False

    @property
    def is_connected(self) -> bool:
        """Whether the server has neither closed nor sent anything: see urllib3's property of that name."""
        sock = self.sock  # type: ignore[attr-defined]
        if type(sock) not in _SOCKETS or not isinstance(getattr(select, "poll", None), types.BuiltinFunctionType):
            return bool(super().is_connected)  # type: ignore[misc]
        number = sock.fileno()
        if number != self._onewrite_number:
            poll = select.poll()
            poll.register(number, select.POLLIN)
            self._onewrite_number, self._onewrite_poll = number, poll.poll
        return not self._onewrite_poll(0)

    def close(self) -> None:
        """Close: see :meth:`http.client.HTTPConnection.close`."""
        self._onewrite_ahead = None
        _exchange.close(self, super().close)  # type: ignore[misc]


class HTTPConnection(_OneWrite, urllib3.connection.HTTPConnection, _fast_response.Below):
    """urllib3's HTTPConnection that sends head and body in one write, with TCP_NODELAY on."""


class HTTPSConnection(_OneWrite, urllib3.connection.HTTPSConnection, _fast_response.Below):
    """urllib3's HTTPSConnection that sends head and body in one write, with TCP_NODELAY on."""
