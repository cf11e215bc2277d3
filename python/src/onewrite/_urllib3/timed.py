"""In front of a connection from its first timed request on: the times of connecting and of a response's head."""

from __future__ import annotations

import functools
import typing
from http.client import CONTINUE, HTTPResponse

import urllib3.connection

from .._base_version import IS_V1, genuine
from .._front import Front
from .._timing.connection import Connection
from .._timing.record import Call, now
from .connection import Link, OneWrite

if typing.TYPE_CHECKING:
    from urllib3.response import HTTPResponse as _Response

    _Behind = OneWrite
else:
    _Behind = Front

_HTTPSConnection = genuine(urllib3.connection, "HTTPSConnection")
_NEW_CONN = getattr(genuine(urllib3.connection, "HTTPConnection"), "_new_conn", None)


class TimedConnection(_Behind):
    """Stands in front of OneWrite."""

    # -- connecting -----------------------------------------------------------------------------------

    def connect(self) -> None:
        """Connect: see urllib3."""
        link = self._onewrite_link()
        call: Call | None = link.watch
        if call is None:
            super().connect()
            return
        call.phase = "connect"
        try:
            super().connect()
        except BaseException as error:
            call.connect_failed(error)
            raise
        call.step_end("tls")
        link.connection = Connection(link.checked)
        call.acquired(link.connection, False)

    def _new_conn(self) -> typing.Any:
        call: Call | None = self._onewrite_link().watch
        if call is None:
            return super()._new_conn()
        sock = self._onewrite_open(call)
        if not self._tunnel_host:
            try:
                self._onewrite_connected(call)
            except BaseException:  # a hook stops the thread
                sock.close()
                raise
        return sock

    def _tunnel(self) -> None:
        super()._tunnel()
        call = self._onewrite_link().watch
        if call is not None:
            self._onewrite_connected(call)

    def _onewrite_open(self, call: Call) -> typing.Any:
        """Open the socket. Name and TCP are two phases where urllib3's own function connects to a name."""
        options, host = self.socket_options, self._dns_host.strip("[]")
        function: typing.Any = super(OneWrite, self)._new_conn
        address = ":" in host or host.replace(".", "").isdigit()
        peer = f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"
        if getattr(self, "_socks_options", None) is not None:
            peer = call.proxy or peer
        if getattr(function, "__func__", None) is not _NEW_CONN or type(options) is not list or address:
            call.step_start("connect", peer=peer)
            return super()._new_conn()
        call.step_start("dns", host=host)
        timed = self.socket_options = TimedOptions(options, call, peer)
        try:
            return super()._new_conn()
        finally:
            if self.socket_options is timed:
                self.socket_options = options

    def _onewrite_connected(self, call: Call) -> None:
        """The socket is connected, and a tunnel made."""
        call.step_end("dns")
        call.step_end("connect")
        if isinstance(self, _HTTPSConnection):
            call.step_start("tls")

    # -- the head of the response ---------------------------------------------------------------------

    @property
    def response_class(self) -> typing.Any:
        """The class of responses; while a head is read and timed, what makes such a response and takes the time.

        A subclass of http.client's response would show in the caller's hands.
        """
        link: Link = self._onewrite  # type: ignore[assignment]
        found = link.response_class or super().response_class
        if not link.timing_response or found is not HTTPResponse:
            return found
        return functools.partial(timed_response, link.watch, self)

    @response_class.setter
    def response_class(self, value: typing.Any) -> None:
        self._onewrite_link().response_class = value

    @response_class.deleter
    def response_class(self) -> None:
        self._onewrite_link().response_class = None

    def getresponse(  # type: ignore[override]
        self,
    ) -> _Response:
        """Read the head of the response: see urllib3."""
        link: Link = self._onewrite  # type: ignore[assignment]
        call: Call | None = link.watch
        if call is None:
            return super().getresponse()
        if not call.request_end:
            call.sent()
        link.timing_response = True
        try:
            response: typing.Any = super().getresponse()
        except BaseException as error:
            call.broke(error)
            if call.response is not None:
                untimed(call.response)
            raise
        finally:
            link.timing_response = False
        if not call.response_start:  # made by a class of the user
            call.response_began(now())
        call.headers_read(response.status)
        http_response: typing.Any = getattr(response, "_original_response", response)
        if isinstance(http_response, HTTPResponse):  # else made by a function of the user
            call.response = http_response
            if http_response.isclosed():  # preload_content of urllib3 2.x, or no body
                call.body_read(now(), None if http_response is response else response.tell())
            elif http_response.length == 0:  # HEAD, 204, 304: it ends with the head
                call.body_read(call.headers_end, 0)
        return response  # type: ignore[no-any-return]


def timed_response(call: Call, conn: typing.Any, *args: typing.Any, **kwargs: typing.Any) -> HTTPResponse:
    """Make http.client's response for *conn*, wait for its first byte, and take the time.

    The first byte is read here, in the same read of the socket that http.client would make next, and raises here what
    it would raise there.
    """
    call.response = response = HTTPResponse(*args, **kwargs)
    if not hasattr(response.fp, "peek"):  # a socket of the user with a file of its own
        _take_time_of_status(call, response)
        return response
    try:
        head = response.fp.peek(1)
    except BaseException as error:
        response.close()
        if isinstance(error, ConnectionError):  # as http.client does
            conn.close()
        raise
    if len(head) >= 12 and head[9:12] != b"100":
        call.response_began(now())
    elif head:
        _take_time_of_status(call, response)
    return response


def _take_time_of_status(call: Call, response: HTTPResponse) -> None:
    """Take the time when the final status is read: http.client skips the answer 100 in its begin()."""
    response._read_status = functools.partial(_read_status, call, response)  # type: ignore[attr-defined]


def untimed(response: typing.Any) -> None:
    """Break the cycle of *response* and its call."""
    vars(response).pop("_read_status", None)


def _read_status(call: Call, response: typing.Any) -> tuple[str, int, str]:
    t_ns = now() if hasattr(response.fp, "peek") and response.fp.peek(1) else 0
    found: tuple[str, int, str] = HTTPResponse._read_status(response)  # type: ignore[attr-defined]
    if found[1] == CONTINUE:  # http.client skips these, and no others
        call.informational(found[1])
    else:
        del response._read_status
        call.response_began(t_ns or now())
    return found


class TimedOptions(list[typing.Any]):
    """A connection's socket options. urllib3 sets them between the look-up of the name and the TCP handshake."""

    def __init__(self, options: list[typing.Any], call: Call, peer: str) -> None:
        super().__init__(options)
        self._call = call
        self._peer = peer

    def __bool__(self) -> bool:
        return IS_V1 or len(self) > 0  # urllib3 1.26 does not pass on an empty list

    def __iter__(self) -> typing.Iterator[typing.Any]:
        call = self._call
        if call.dns_start and not call.dns_end:
            call.step_end("dns")
            call.step_start("connect", peer=self._peer)
        return super().__iter__()
