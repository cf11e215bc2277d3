"""In front of urllib3's connections: one write, TCP_NODELAY, and the times of connecting, sending and the head.

``request`` puts a Writer in the place of the connection's socket while it runs. Whatever the class behind does to
write a request (urllib3's own loop, http.client's, botocore's ``_send_output``), its bytes end in ``sock.sendall``.
"""

from __future__ import annotations

import functools
import sys
import typing
from http.client import HTTPResponse

import urllib3.connection

from .._base_version import IS_V1, genuine
from .._config import DEFAULTS, Options
from .._front import Front, asleep, put
from .._settings import installations
from .._timing.connection import Connection
from .._timing.record import Call, now
from .._wire import nodelay, quickack
from .._wire.body import PIECES, at_hand
from .._wire.coalesce import Writer
from .timed import TimedOptions, timed_response, untimed

if typing.TYPE_CHECKING:
    from urllib3.connection import HTTPConnection as _HTTPConnection
    from urllib3.connection import HTTPSConnection as _HTTPSConnection

    _Behind = _HTTPConnection
else:
    _Behind = Front
    _HTTPConnection = genuine(urllib3.connection, "HTTPConnection")
    _HTTPSConnection = genuine(urllib3.connection, "HTTPSConnection")

_NEW_CONN = getattr(_HTTPConnection, "_new_conn", None)


@asleep("getresponse")
class OneWrite(_Behind):
    """Stands in front of a connection's class."""

    #: Options of an own class or pool; None: those of install().
    _onewrite_given: Options | None = None
    #: The socket whose TCP_NODELAY was checked.
    _onewrite_checked: typing.Any = None
    #: Stands in for the socket while a request is written.
    _onewrite_writer: Writer | None = None
    #: The call whose request is on this connection, and what its records say of the connection.
    _onewrite_call: Call | None = None
    _onewrite_connection: Connection | None = None

    # -- connecting -----------------------------------------------------------------------------------

    def connect(self) -> None:
        """Connect; TCP_NODELAY is on when this returns, whatever the class behind did."""
        call = self._onewrite_call
        self._onewrite_checked = None
        if call is None:
            super().connect()
        else:
            call.phase = "connect"
            try:
                super().connect()
            except BaseException as error:
                call.connect_failed(error)
                raise
            call.step_end("tls")
        if self._onewrite_checked is None:  # connected without _new_conn(), as docker's Unix sockets
            self._onewrite_check(self.sock)
        self._onewrite_checked = self.sock
        if call is not None:
            self._onewrite_connection = Connection(self.sock)
            call.acquired(self._onewrite_connection, False)
        if self._onewrite_writer is not None:
            self._onewrite_writer.sock = self.sock
            self.sock = self._onewrite_writer

    def _new_conn(self) -> typing.Any:
        call = self._onewrite_call
        sock = super()._new_conn() if call is None else self._onewrite_open(call)
        self._onewrite_check(sock)  # before a TLS handshake
        if call is not None and not self._tunnel_host:
            self._onewrite_connected(call)
        return sock

    def _tunnel(self) -> None:
        super()._tunnel()
        if self._onewrite_call is not None:
            self._onewrite_connected(self._onewrite_call)

    def _onewrite_check(self, sock: typing.Any) -> None:
        """Set TCP_NODELAY before the first byte on *sock*, unless the user's options refuse it."""
        self._onewrite_checked = sock
        options = self._onewrite_given or installations.in_force
        if options.nodelay and not nodelay.refused_by(self.socket_options):
            nodelay.ensure(sock)

    def _onewrite_open(self, call: Call) -> typing.Any:
        """Open the socket. Name and TCP are two phases where urllib3's own function connects to a name."""
        options, host = self.socket_options, self._dns_host.strip("[]")
        function = getattr(super()._new_conn, "__func__", None)
        address = ":" in host or host.replace(".", "").isdigit()
        if function is not _NEW_CONN or type(options) is not list or address:
            call.step_start("connect")
            return super()._new_conn()
        call.step_start("dns", host=host)
        timed = self.socket_options = TimedOptions(options, call)
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

    def close(self) -> None:
        """Close the connection, and let go of its socket: see urllib3."""
        self._onewrite_checked = self._onewrite_connection = None
        super().close()

    # -- sending --------------------------------------------------------------------------------------

    if IS_V1:  # in 2.x it calls request()

        def request_chunked(self, *args: typing.Any, **kwargs: typing.Any) -> None:
            """Send a request: see urllib3."""
            OneWrite.request(self, *args, _onewrite_chunked=True, **kwargs)

    def request(self, *args: typing.Any, _onewrite_chunked: bool = False, **kwargs: typing.Any) -> None:
        """Send a request: see urllib3. Meanwhile a Writer has the place of the socket."""
        write = super().request_chunked if _onewrite_chunked else super().request
        options = self._onewrite_given or installations.in_force
        call = self._onewrite_call
        nested = self._onewrite_writer
        sock = self.sock
        if sock is not self._onewrite_checked and sock is not None and nested is None:
            self._onewrite_check(sock)
        limit = options.limit
        if limit:
            body = args[2] if len(args) > 2 else kwargs.get("body")
            if type(body) not in PIECES and not at_hand(body):
                limit = 0
        if nested is not None or (not limit and call is None):
            write(*args, **kwargs)
        else:
            writer = self._onewrite_writer = Writer(sock, limit, call)
            if sock is not None:
                self.sock = writer
            try:
                write(*args, **kwargs)
                writer.flush()
            except BaseException as error:
                if isinstance(error, Exception):
                    writer.abandon()
                if call is not None:
                    call.broke(error)
                raise
            finally:
                self._onewrite_writer = None
                if type(self.sock) is Writer:
                    self.sock = writer.sock
                    writer.held = None
            if call is not None:
                call.sent()
        if options.quickack and not options.observe:
            quickack.acknowledge(self.sock)

    # -- the head of the response ---------------------------------------------------------------------

    def getresponse(self) -> typing.Any:
        """Read the head of the response: see urllib3."""
        call = self._onewrite_call
        if call is None:
            return super().getresponse()
        if not call.request_end:
            call.sent()
        own, timed = vars(self), functools.partial(timed_response, call)
        kept = own.get("response_class")
        try:
            if self.response_class is HTTPResponse:  # else a class of the user
                own["response_class"] = timed
            response: typing.Any = super().getresponse()
        except BaseException as error:
            call.broke(error)
            if call.response is not None:
                untimed(call.response)
            raise
        finally:
            if own.get("response_class") is timed:
                del own["response_class"]
                if kept is not None:
                    own["response_class"] = kept
        if not call.response_start:  # made by a class of the user
            call.response_began(now())
        call.headers_read(response.status)
        http_response = getattr(response, "_original_response", response)
        if isinstance(http_response, HTTPResponse):  # else made by a function of the user
            call.response = http_response
            if http_response.isclosed():  # preload_content of urllib3 2.x, or no body
                call.body_read(now(), None if http_response is response else response.tell())
        return response


def adopt(conn: typing.Any, given: Options | None = None) -> None:
    """Put OneWrite in front of *conn*, with the options *given* or those of install()."""
    if not isinstance(conn, _HTTPConnection) or type(conn).__setattr__ is not object.__setattr__:
        return  # a recorder's stand-in, which sets its attributes on the connection that it wraps
    if not _is_http2(type(conn)) and put(OneWrite, conn, True):
        conn._onewrite_given = given or conn._onewrite_given  # type: ignore[attr-defined]


def _is_http2(cls: type) -> bool:
    """Return whether *cls* writes HTTP/2, which is left alone."""
    return "urllib3.http2" in sys.modules and any(base.__module__.startswith("urllib3.http2") for base in cls.__mro__)


class HTTPConnection(OneWrite, _HTTPConnection):
    """urllib3's HTTPConnection that sends head and body in one write, with TCP_NODELAY on."""

    _onewrite_given = DEFAULTS


class HTTPSConnection(OneWrite, _HTTPSConnection):
    """urllib3's HTTPSConnection that sends head and body in one write, with TCP_NODELAY on."""

    _onewrite_given = DEFAULTS
