"""In front of urllib3's connections: one write, TCP_NODELAY, and the times of connecting and of a response's head.

``request`` puts a Writer in the place of the connection's socket while it runs. Whatever the class behind does to
write a request (urllib3's own loop, http.client's, botocore's ``_send_output``), its bytes end in ``sock.sendall``.
"""

from __future__ import annotations

import sys
import typing
from http.client import HTTPResponse

import urllib3.connection
import urllib3.response

from .._base_version import IS_V1, genuine
from .._config import DEFAULTS, Options
from .._front import Front, put_on_new
from .._settings import installations
from .._sockets import host_and_port
from .._timing.connection import Connection
from .._timing.record import Call, now
from .._wire import coalesce, nodelay, quickack
from .._wire.body import PIECES, at_hand
from .._wire.coalesce import Writer
from .response import size_of
from .timed import TimedHead, TimedOptions

if typing.TYPE_CHECKING:
    from urllib3.connection import HTTPConnection as _HTTPConnection
    from urllib3.connection import HTTPSConnection as _HTTPSConnection
    from urllib3.response import HTTPResponse as _HTTPResponse

    _Behind = _HTTPConnection
else:
    _Behind = Front
    _HTTPConnection = genuine(urllib3.connection, "HTTPConnection")
    _HTTPSConnection = genuine(urllib3.connection, "HTTPSConnection")
    _HTTPResponse = genuine(urllib3.response, "HTTPResponse")

_NEW_CONN = getattr(genuine(urllib3.connection, "HTTPConnection"), "_new_conn", None)


def text(given: typing.Any) -> str:
    """Return *given* as text, "" where it is none: the base library refuses it, or takes it in its own way."""
    return given if type(given) is str else str.__str__(given) if issubclass(type(given), str) else ""


def port_text(given: typing.Any) -> str:
    """Return a port as text, "" where it is neither a number nor text: no method of the user's is called."""
    return int.__repr__(given) if issubclass(type(given), int) else text(given)


class Link(coalesce.Link):
    """What a connection carries. ``watch`` is the call whose request is on it."""

    __slots__ = ("connection", "given")

    def __init__(self, given: Options | None) -> None:
        super().__init__()
        #: Options of an own class or pool; None: those of install().
        self.given = given
        #: What the records say of the connection.
        self.connection: Connection | None = None


class ResponseClass:
    """The class of the next response: TimedHead where a call waits for one of http.client's, else the user's.

    A response class of the user stays: the head of its responses has one time, that of its end. So does one that is
    set on an object, which Python finds first, for this descriptor has no ``__set__``.
    """

    def __get__(self, conn: typing.Any, owner: type) -> typing.Any:
        behind: typing.Any = super(OneWrite, owner if conn is None else conn)
        found = behind.response_class
        link = None if conn is None else conn._onewrite
        call: Call | None = None if link is None else link.watch
        if call is None or not call.request_end or call.response_start or found is not HTTPResponse:
            return found
        return TimedHead


class OneWrite(_Behind):
    """Stands in front of a connection's class."""

    #: Options of an own class.
    _onewrite_given: typing.ClassVar[Options | None] = None
    _onewrite: Link | None = None
    if not typing.TYPE_CHECKING:
        response_class = ResponseClass()

    def _onewrite_link(self) -> Link:
        link = self._onewrite
        if link is None:
            link = self._onewrite = Link(self._onewrite_given)
        return link

    # -- connecting -----------------------------------------------------------------------------------

    def connect(self) -> None:
        """Connect; TCP_NODELAY is on when this returns, whatever the class behind did."""
        link = self._onewrite_link()
        call = link.watch
        link.sock = None
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
        sock: typing.Any = self.sock
        if link.sock is None:  # connected without _new_conn(), as docker's Unix sockets
            self._onewrite_check(link, sock)
        link.sock = sock
        if call is not None:
            link.connection = Connection(sock)
            call.acquired(link.connection, False)
        if link.writing:
            link.writing = self.sock = Writer(link, sock)

    def _new_conn(self) -> typing.Any:
        link = self._onewrite_link()
        call = link.watch
        sock = super()._new_conn() if call is None else self._onewrite_open(call)
        self._onewrite_check(link, sock)  # before a TLS handshake
        if call is not None and not self._tunnel_host:
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
        options, host = self.socket_options, text(self._dns_host).strip("[]")
        function: typing.Any = super()._new_conn
        address = ":" in host or host.replace(".", "").isdigit()
        peer = host_and_port(host, port_text(self.port))
        if "_socks_options" in vars(self):
            peer = call.proxy or peer
        if getattr(function, "__func__", None) is not _NEW_CONN or type(options) is not list or address:
            call.step_start("connect", peer=peer)
            return function()
        call.step_start("dns", host=host)
        timed = self.socket_options = TimedOptions(options, call, peer)
        try:
            return function()
        finally:
            if self.socket_options is timed:
                self.socket_options = options

    def _onewrite_connected(self, call: Call) -> None:
        """The socket is connected, and a tunnel made."""
        call.step_end("dns")
        call.step_end("connect")
        if isinstance(self, _HTTPSConnection):
            call.step_start("tls")

    def _onewrite_check(self, link: Link, sock: typing.Any) -> None:
        """Set TCP_NODELAY before the first byte on *sock*, unless the user's options refuse it."""
        link.sock = sock
        options = link.given or installations.in_force
        if options.nodelay:
            nodelay.ensure(sock, self.socket_options)

    def close(self) -> None:
        """Close the connection, and let go of its socket: see urllib3."""
        link = self._onewrite
        try:
            super().close()
        finally:
            if link is not None:
                link.sock = link.connection = None

    # -- sending --------------------------------------------------------------------------------------

    if IS_V1 and not typing.TYPE_CHECKING:  # in 2.x it calls request()

        def request_chunked(self, *args: typing.Any, **kwargs: typing.Any) -> None:
            """Send a request: see urllib3."""
            OneWrite.request(self, *args, _onewrite_chunked=True, **kwargs)

    if not typing.TYPE_CHECKING:  # it has urllib3's type

        def request(self, *args: typing.Any, **kwargs: typing.Any) -> None:
            """Send a request: see urllib3. Meanwhile a Writer has the place of the socket."""
            write = super().request
            if IS_V1 and kwargs.pop("_onewrite_chunked", False):
                write = super().request_chunked
            link = self._onewrite or self._onewrite_link()
            if link.writing:
                write(*args, **kwargs)  # called by a request of the class behind
                return
            options = link.given or installations.in_force
            sock = self.sock
            if sock is not link.sock and sock is not None:
                self._onewrite_check(link, sock)
            limit = options.limit
            if limit:
                body = args[2] if len(args) > 2 else kwargs.get("body")
                if type(body) not in PIECES and not at_hand(body):
                    limit = 0
            watch = link.watch
            if not limit and watch is None:
                write(*args, **kwargs)
            else:
                try:  # a signal may come anywhere
                    link.writing = True
                    link.limit = link.room = limit
                    link.held = [] if limit else None
                    if sock is not None:
                        link.writing = self.sock = Writer(link, sock)
                    write(*args, **kwargs)
                    if link.held:
                        link.flush()
                except BaseException as error:
                    if isinstance(error, Exception):
                        link.abandon()
                    if watch is not None:
                        watch.broke(error)
                    raise
                finally:
                    if self.sock is link.writing:
                        self.sock = link.sock
                    link.writing = link.held = None
                if watch is not None:
                    watch.sent()
            if options.acknowledge:
                quickack.acknowledge(self.sock)

    # -- the head of the response ---------------------------------------------------------------------

    def getresponse(  # type: ignore[override]
        self,
    ) -> _HTTPResponse:
        """Read the head of the response: see urllib3."""
        link = self._onewrite
        call: Call | None = None if link is None else link.watch
        if call is None:
            return super().getresponse()
        if not call.request_end:
            call.sent()
        try:
            response: typing.Any = super().getresponse()
        except BaseException as error:
            call.broke(error)
            raise
        if not call.response_start:  # made by a class of the user
            call.response_began(now())
        call.headers_read(response.status)
        # Else made by a function of the user, of any class.
        http_response = response._original_response if isinstance(response, _HTTPResponse) else response
        if isinstance(http_response, HTTPResponse):
            call.response = http_response
            if http_response.isclosed():  # preload_content of urllib3 2.x, or no body
                call.body_read(now(), size_of(response))
            elif http_response.length == 0:  # HEAD, 204, 304: it ends with the head
                call.body_read(call.headers_end, 0)
        return response  # type: ignore[no-any-return]


def adopt(conn: typing.Any, given: Options | None = None) -> None:
    """Put OneWrite in front of *conn*, which was just made, with the options *given* or those of install()."""
    if not isinstance(conn, _HTTPConnection) or type(conn).__setattr__ is not object.__setattr__:
        return  # a recorder's stand-in, which sets its attributes on the connection that it wraps
    if _is_http2(type(conn)) or not put_on_new(OneWrite, conn):
        return
    if given is not None:
        conn._onewrite_link().given = given  # type: ignore[attr-defined]


def _is_http2(cls: type) -> bool:
    """Return whether *cls* writes HTTP/2, which is left alone."""
    return "urllib3.http2" in sys.modules and any(base.__module__.startswith("urllib3.http2") for base in cls.__mro__)


class HTTPConnection(OneWrite, _HTTPConnection):
    """urllib3's HTTPConnection that sends head and body in one write, with TCP_NODELAY on."""

    _onewrite_given = DEFAULTS


class HTTPSConnection(OneWrite, _HTTPSConnection):
    """urllib3's HTTPSConnection that sends head and body in one write, with TCP_NODELAY on."""

    _onewrite_given = DEFAULTS
