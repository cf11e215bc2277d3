"""What the own classes do faster, and when they may.

Theory of operation. Most of urllib3's own time on a small request goes to three things: email.parser
for the response head, putrequest and putheader for the request head, and finding the pool. The own
classes have a shorter way for each, which gives the same bytes and the same objects:

- ``_fast_request``: the head written in one pass; the Host line is the one that urllib3's own code
  wrote for the first request of the connection;
- ``_fast_response``: a head that is plain by a strict grammar is parsed by one regular expression;
  any other is left in the buffer, untouched, for the standard parser;
- ``_fast_pool``: parsed URLs and pool keys are remembered.

A short way is only taken while every method that it stands in for is the one it was written against:
``writes_untouched`` looks, on each request, at what tracers and mocks replace. If one differs, urllib3's own
code runs, with everything that hangs on it.
"""

from __future__ import annotations

import http.client
import inspect
import operator

import urllib3.connection
import urllib3.response
from urllib3._collections import HTTPHeaderDict

from . import _base, _exchange

_http = http.client.HTTPConnection
_urllib3 = urllib3.connection.HTTPConnection

#: Methods whose work the short ways do, as they were when onewrite was imported.
_HTTP_METHODS = ("putrequest", "putheader", "endheaders", "_send_output", "_output", "send", "getresponse")
_http_dict = _http.__dict__
_urllib3_dict = _urllib3.__dict__
_http_methods = operator.itemgetter(*_HTTP_METHODS)
_urllib3_methods = operator.itemgetter("putrequest", "putheader")
_http_originals = _http_methods(_http_dict)
_urllib3_originals = _urllib3_methods(_urllib3_dict) if not _base.IS_V1 else ()
_request = _urllib3_dict.get("request")
_getresponse = _http_dict["getresponse"]


def writes_untouched() -> bool:
    """Whether http.client and urllib3 write a request as they did when onewrite was imported."""
    return bool(
        _http_methods(_http_dict) == _http_originals
        and _urllib3_methods(_urllib3_dict) == _urllib3_originals
        and (_urllib3_dict["request"] is _request or _exchange.INSTALLED in _urllib3_dict)
    )


def reads_untouched() -> bool:
    """Whether http.client reads a response as it did when onewrite was imported."""
    return _http_dict["getresponse"] is _getresponse


_classes: dict[type, bool] = {}


def own_methods(cls: type) -> bool:
    """Whether *cls* is an own class whose writing and reading no subclass has overridden."""
    known = _classes.get(cls)
    if known is None:
        from ._connection import _OneWrite

        known = _classes[cls] = all(
            next(parent for parent in cls.__mro__ if name in parent.__dict__) in (_OneWrite, _urllib3, _http)
            for name in (*_HTTP_METHODS, "request", "connect", "close")
        )
    return known


def _supported() -> bool:
    """Whether this urllib3 and this Python have the parts that the short ways build on."""
    if _base.IS_V1 or not hasattr(urllib3.connection, "_ResponseOptions"):
        return False
    known = {
        "self", "body", "headers", "status", "version", "version_string", "reason", "preload_content",
        "decode_content", "original_response", "pool", "connection", "msg", "retries", "enforce_content_length",
        "request_method", "request_url", "auto_close", "sock_shutdown",
    }  # fmt: skip
    if not set(inspect.signature(urllib3.response.HTTPResponse.__init__).parameters) <= known:
        return False
    probe = HTTPHeaderDict([("A", "1"), ("b", "2"), ("a", "3")])
    if getattr(probe, "_container", None) != {"a": ["A", "1", "3"], "b": ["b", "2"]}:
        return False
    conn = http.client.HTTPConnection("localhost")
    names = ("_HTTPConnection__state", "_HTTPConnection__response", "_method")
    return all(hasattr(conn, name) for name in names) and conn.__dict__["_HTTPConnection__state"] == "Idle"


SUPPORTED = _supported()

#: Parameters of this urllib3's HTTPResponse that are not in every 2.x.
RESPONSE_PARAMETERS = frozenset(inspect.signature(urllib3.response.HTTPResponse.__init__).parameters)
