"""In front of urllib3's connections: one write, and TCP_NODELAY.

``request`` puts a Writer in the place of the connection's socket while it runs. Whatever the class behind does to
write a request (urllib3's own loop, http.client's, botocore's ``_send_output``), its bytes end in ``sock.sendall``.
"""

from __future__ import annotations

import sys
import typing

import urllib3.connection

from .._base_version import IS_V1, genuine
from .._config import DEFAULTS, Options
from .._front import Front, put_on_new
from .._settings import installations
from .._timing.connection import Connection
from .._wire import coalesce, nodelay, quickack
from .._wire.body import PIECES, at_hand
from .._wire.coalesce import Writer

if typing.TYPE_CHECKING:
    from urllib3.connection import HTTPConnection as _HTTPConnection
    from urllib3.connection import HTTPSConnection as _HTTPSConnection

    _Behind = _HTTPConnection
else:
    _Behind = Front
    _HTTPConnection = genuine(urllib3.connection, "HTTPConnection")
    _HTTPSConnection = genuine(urllib3.connection, "HTTPSConnection")


class Link(coalesce.Link):
    """What a connection carries. ``watch`` is the call whose request is on it."""

    __slots__ = ("checked", "connection", "given", "response_class", "timing_response")

    def __init__(self, given: Options | None) -> None:
        super().__init__()
        #: Options of an own class or pool; None: those of install().
        self.given = given
        #: The socket whose TCP_NODELAY was checked.
        self.checked: typing.Any = None
        #: What the records say of the connection.
        self.connection: Connection | None = None
        #: The class of responses that the user gave the connection.
        self.response_class: typing.Any = None
        #: Whether the head of a response is read, and timed.
        self.timing_response = False


class OneWrite(_Behind):
    """Stands in front of a connection's class."""

    #: Options of an own class.
    _onewrite_given: typing.ClassVar[Options | None] = None
    _onewrite: Link | None = None

    def _onewrite_link(self) -> Link:
        link = self._onewrite
        if link is None:
            link = self._onewrite = Link(self._onewrite_given)
        return link

    # -- connecting -----------------------------------------------------------------------------------

    def connect(self) -> None:
        """Connect; TCP_NODELAY is on when this returns, whatever the class behind did."""
        link = self._onewrite_link()
        link.checked = None
        super().connect()
        if link.checked is None:  # connected without _new_conn(), as docker's Unix sockets
            self._onewrite_check(link, self.sock)
        link.checked = self.sock
        if link.writing:
            link.sock = self.sock
            self.sock = Writer(link)

    def _new_conn(self) -> typing.Any:
        sock = super()._new_conn()
        self._onewrite_check(self._onewrite_link(), sock)  # before a TLS handshake
        return sock

    def _onewrite_check(self, link: Link, sock: typing.Any) -> None:
        """Set TCP_NODELAY before the first byte on *sock*, unless the user's options refuse it."""
        link.checked = sock
        options = link.given or installations.in_force
        if options.nodelay and not nodelay.refused_by(self.socket_options):
            nodelay.ensure(sock)

    def close(self) -> None:
        """Close the connection, and let go of its socket: see urllib3."""
        link = self._onewrite
        if link is not None:
            link.checked = link.connection = None
        super().close()

    # -- sending --------------------------------------------------------------------------------------

    if IS_V1:  # in 2.x it calls request()

        def request_chunked(self, *args: typing.Any, **kwargs: typing.Any) -> None:
            """Send a request: see urllib3."""
            OneWrite.request(self, *args, _onewrite_chunked=True, **kwargs)

    def request(self, *args: typing.Any, **kwargs: typing.Any) -> None:
        """Send a request: see urllib3. Meanwhile a Writer has the place of the socket."""
        write: typing.Callable[..., None] = super().request
        if IS_V1 and kwargs.pop("_onewrite_chunked", False):
            write = super().request_chunked
        link = self._onewrite or self._onewrite_link()
        options = link.given or installations.in_force
        sock: typing.Any = self.sock
        if sock is not link.checked and sock is not None and not link.writing:
            self._onewrite_check(link, sock)
        limit = options.limit
        if limit:
            body = args[2] if len(args) > 2 else kwargs.get("body")
            if type(body) not in PIECES and not at_hand(body):
                limit = 0
        watch = link.watch
        if link.writing or (not limit and watch is None):
            write(*args, **kwargs)
        else:
            link.sock = sock
            link.writing = True
            link.limit = link.room = limit
            link.held = [] if limit else None
            if sock is not None:
                self.sock = Writer(link)
            try:
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
                if type(self.sock) is Writer:
                    self.sock = link.sock
                link.writing = False
                link.sock = link.held = None
            if watch is not None:
                watch.sent()
        if options.acknowledge:
            quickack.acknowledge(self.sock)


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
