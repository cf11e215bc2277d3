"""A request on a pooled connection that is open: there and back in a straight line.

Theory of operation. Of urllib3's own time on a small request most goes by between ``request`` and the
socket: copies of headers and timeouts, a file and a response of http.client for each answer, a hundred
calls. ``exchange`` takes the same steps in the same order without them, and only in the ordinary case:
an own pool without a proxy, a body in memory, an open connection, a plain answer that came with the
first read and needs no decoding, no retry and no redirect.

Whatever turns out otherwise, errors included, is not dealt with here. Before the first byte is sent the
connection is put back, and urllib3's own ``urlopen`` does it all. After that, what has been done is an
``Exchange``, and urllib3's own ``urlopen`` of the same pool goes on from there: it is given that connection,
its ``request`` finds the request sent, or raises what sending raised, and its ``getresponse`` reads on
behind the bytes that were read. So retries, redirects and the wrapping of errors are urllib3's in every case.

The exchange goes to that one ``urlopen`` as its ``pool_timeout``, which urllib3 hands on, unseen, to
``_get_conn`` and to nothing else. No other request can meet it, of this thread or another, whatever pool
the manager would choose by then.
"""

from __future__ import annotations

import logging
import operator
import socket
import ssl
import sys
import time
import typing

import urllib3.connection
import urllib3.connectionpool
import urllib3.util.retry
from urllib3.util import Retry, Timeout

from . import _events, _fast, _fast_pool, _fast_request, _moments, _originals, _record, _whole
from ._events import Event
from ._hooks import Hooks
from ._timing import Attempt, Plain

_log = logging.getLogger("urllib3.connectionpool")
_now = _record.now
_time_ns = time.time_ns

#: urllib3's word for "no timeout given".
_DEFAULT = Timeout.DEFAULT_TIMEOUT

#: Sockets whose timeout can be looked at, and whose ``recv`` reads what a file made of them would.
_SOCKETS = frozenset((socket.socket, ssl.SSLSocket))
#: One TLS record; an answer that is longer than this with its head takes the ordinary way from here on.
_RECEIVE = 16384

#: Keywords of urlopen that are dealt with here.
_KNOWN = frozenset(("body", "headers", "redirect", "retries", "timeout"))

#: Methods of urllib3's pools whose work is done here, as they were when onewrite was imported.
_POOL_METHODS = ("urlopen", "_make_request", "_get_conn", "_put_conn", "_get_timeout", "_validate_conn")
_pool_dict = urllib3.connectionpool.HTTPConnectionPool.__dict__
_secure_dict = urllib3.connectionpool.HTTPSConnectionPool.__dict__
_pool_methods = operator.itemgetter(*_POOL_METHODS)
_pool_originals = _originals.own_or_none(urllib3.connectionpool, _pool_methods(_pool_dict))
_validate_secure = _secure_dict["_validate_conn"]
_put_conn = _pool_dict["_put_conn"]
_is_retry = Retry.is_retry
_pool_method_names = frozenset(_POOL_METHODS)

#: Whether this urllib3 is one for which all of this holds, and nobody had replaced any of it on import.
ON = (
    _fast.SUPPORTED
    and _whole.KNOWN
    and _pool_originals is not None
    and _originals.own(urllib3.connectionpool, _validate_secure)
    and _originals.own(urllib3.util.retry, _is_retry)
    and _fast.writes_untouched()
    and _fast.reads_untouched()
)


class Exchange:
    """A request on its way: what has been done of it so far."""

    # What an exchange does not come to stays as it is here.
    pool: typing.Any = None
    conn: typing.Any = None
    #: Whether the connection may have been written to.
    touched = False
    send_error: BaseException | None = None
    read_error: BaseException | None = None
    #: What came with the first read; b"" where the server had closed the connection.
    answer: bytes | None = None
    #: With hooks: what is noted of it.
    record: Plain | None = None
    #: The attempt that urllib3 is to go on with.
    attempt: Attempt | None = None
    #: Whether urllib3 has been given the connection: it is urllib3's to put back then.
    taken = False

    def take(self) -> typing.Any:
        """The connection, for urllib3 to go on with."""
        self.taken = True
        self.conn._onewrite_ahead = self
        return self.conn

    def give_up(self) -> None:
        """Let go of what urllib3 did not come to take; the connection cannot be used again."""
        if not self.taken:
            self.taken = True
            self.conn.close()
            _put_conn(self.pool, None)


def ahead(keywords: dict[str, typing.Any]) -> Exchange | None:
    """The exchange that an urlopen with *keywords* is to go on with."""
    found = keywords.get("pool_timeout")
    return found if type(found) is Exchange and not found.taken else None


def _untouched() -> bool:
    """Whether urllib3's pools are as they were when onewrite was imported."""
    return bool(_pool_methods(_pool_dict) == _pool_originals and _secure_dict["_validate_conn"] is _validate_secure)


_classes: dict[type, bool] = {}


def _own_methods(cls: type) -> bool:
    """Whether *cls* is an own pool of which no subclass has overridden what is done here."""
    known = _classes.get(cls)
    if known is None:
        from ._pool import HTTPConnectionPool, HTTPSConnectionPool

        known = _classes[cls] = any(
            all(getattr(cls, name) is getattr(own, name) for name in _POOL_METHODS)
            for own in (HTTPConnectionPool, HTTPSConnectionPool)
            if issubclass(cls, own)
        )
    return known


def exchange(
    pool: typing.Any,
    hooks: Hooks | None,
    method: str,
    target: str,
    keywords: dict[str, typing.Any],
    url: str | None = None,
) -> typing.Any:
    """The response; None where urllib3's own way is to be taken; or the Exchange that it is to go on with.

    *keywords* are those of urlopen. *url* is what a record calls the request; a pool puts its own together.
    """
    if not keywords.keys() <= _KNOWN:
        return None
    timeout = keywords.get("timeout", _DEFAULT)
    if timeout is _DEFAULT:
        timeout = pool.timeout
    retries = keywords.get("retries")
    if not isinstance(retries, Retry):
        retries = Retry.from_int(retries, redirect=keywords.get("redirect", True), default=pool.retries)
    connections = pool.pool
    if (
        type(connections) is not _fast_pool.Queue
        or pool.proxy is not None
        or type(timeout) is not Timeout
        or timeout.total is not None
        or retries.history
        or _log.isEnabledFor(logging.DEBUG)
        or not _own_methods(type(pool))
        or not _pool_method_names.isdisjoint(pool.__dict__)
        or not _untouched()
        or not _fast.writes_untouched()
        or not _fast.reads_untouched()
    ):
        return None
    doing = Exchange()
    if hooks is not None:
        if _record.current.get() is not None:
            return None  # a request that is made while another one is sent, as by its body
        whole = _record.url_of(pool, target) if url is None else url
        doing.record = record = _record.begin_plain(method, whole, hooks.on_timing, True)
    conn = connections.take()
    if conn is None:
        return None
    try:
        if not (_ready(conn, hooks) and _send(doing, conn, method, target, keywords, pool, timeout, hooks)):
            _put_conn(pool, conn)
            return None
        answer = doing.answer
        response = None if answer is None else _whole.whole(answer, conn, method, target)
        if response is None or _retried(retries, method, response):
            if hooks is not None:
                doing.attempt = _moments.unfold(record, conn, hooks.listener)
            doing.pool, doing.conn = pool, conn
            return doing
        response._retries = retries
        response._pool = pool
        pool.num_requests += 1
        if hooks is not None:
            conn._onewrite_link.idle_since = end = _now()
    except BaseException:
        # Someone gave up, as by a signal: an answer that is still to come must not meet another request.
        if doing.touched:
            conn.close()
        _put_conn(pool, None if doing.touched else conn)
        raise
    _put_conn(pool, conn)
    if hooks is None:
        return response
    if hooks.tells_after:
        open_still = conn.sock is not None
        _moments.told_after(
            hooks.tells_after, record._first, end, response.status, response._fp_bytes_read, open_still
        )
    if hooks.on_timing is not None:
        record.status = response.status
        record._received = response._fp_bytes_read
        record._read = record._first
        record._end = end
        _record.hand_out(record)
    return response


def _retried(retries: Retry, method: str, response: typing.Any) -> bool:
    """What *retries* says; it is not asked where a Retry of urllib3's own cannot say yes."""
    status: int = response.status
    after = "retry-after" in response.headers._container
    if status < 400 and not after and type(retries) is Retry and Retry.is_retry is _is_retry:  # noqa: SIM102
        if not retries.status_forcelist:
            return False
    return bool(retries.is_retry(method, status, after))


def _ready(conn: typing.Any, hooks: Hooks | None) -> bool:
    """Whether *conn* can carry the request at once and in our way."""
    if not _fast.own_methods(type(conn)):
        return False
    sock = conn.sock
    kind = type(sock)
    previous = conn._HTTPConnection__response
    if (
        kind not in _SOCKETS
        or sock is not conn._onewrite_sock
        or not _fast_request.host_known(conn)
        or conn.debuglevel > 0
        or conn._onewrite_options.coalesce_disabled
        or conn._HTTPConnection__state != "Idle"
        or (previous is not None and not previous.isclosed())
        or "response_class" in conn.__dict__
        or not (kind is socket.socket or conn.is_verified)  # else urllib3 warns
        or not conn.is_connected
    ):
        return False
    return hooks is None or (conn._onewrite_link is not None and conn._onewrite_link.sock is sock)


def _send(
    doing: Exchange,
    conn: typing.Any,
    method: str,
    target: str,
    keywords: dict[str, typing.Any],
    pool: typing.Any,
    timeout: Timeout,
    hooks: Hooks | None,
) -> bool:
    """Send the request and read once. False where that is for urllib3 to do: nothing was sent then."""
    headers = keywords.get("headers")
    request = _fast_request.pieces(
        conn, method, target, keywords.get("body"), pool.headers if headers is None else headers
    )
    if request is None:
        return False
    head, data = request
    sock = conn.sock
    limit = timeout.connect_timeout
    if limit is _DEFAULT:
        limit = socket.getdefaulttimeout()
    if sock.gettimeout() != limit:
        sock.settimeout(limit)
    sys.audit("http.client.send", conn, head)
    if data:
        sys.audit("http.client.send", conn, data)
    record = doing.record
    if record is not None and hooks is not None:
        link = conn._onewrite_link
        record._begun = begun = _now()
        if hooks.tells_before:
            idle_ns = begun - link.idle_since if link.idle_since else None
            record._begun = _moments.told_before(
                hooks.tells_before, link, record.method, record.url, record._started, begun, idle_ns
            )
    doing.touched = True
    try:
        writes = _fast_request.send(sock, head, data, conn._onewrite_options.coalesce_max)
    except BaseException as error:
        doing.send_error = error
        return True
    if record is not None and hooks is not None:
        record.sent(sock, link, writes, len(head) + len(data), hooks.on_timing is not None)
        if hooks.tells_sent:
            event = Event("request_end", record._sent, 0, {"bytes": record._size, "writes": writes})
            _events.deliver(hooks.tells_sent["request_end"], event)
    try:
        conn.timeout = limit = timeout.read_timeout
        if sock.gettimeout() != limit:
            sock.settimeout(limit)
        doing.answer = sock.recv(_RECEIVE)
    except BaseException as error:
        doing.read_error = error
        return True
    if record is not None and hooks is not None and doing.answer:
        record.answered(sock, link, _now(), hooks.on_timing is not None)
    return True


def sent(conn: typing.Any, doing: Exchange, method: str, url: str, extra: dict[str, typing.Any]) -> None:
    """Stand in for ``request``: leave *conn* as it is when one was sent, or raise what sending raised."""
    _fast_request.note(conn, method, url, extra)
    attempt = conn._onewrite_attempt = doing.attempt
    error, doing.send_error = doing.send_error, None
    if error is None:
        return
    conn._onewrite_ahead = None  # the answer, if there is one, was not read
    if attempt is not None:
        _moments.request_failed(attempt, error)
    raise error
