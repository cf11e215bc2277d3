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
``writes_untouched`` looks, on each request, at what tracers and mocks replace, also before onewrite was
imported. If one differs, urllib3's own code runs, with everything that hangs on it.
"""

from __future__ import annotations

import http.client
import inspect
import operator
import typing

import urllib3.connection
import urllib3.response
from urllib3._collections import HTTPHeaderDict

from . import _base, _originals

_http = http.client.HTTPConnection
_urllib3 = urllib3.connection.HTTPConnection

#: Methods whose work the short ways do, as they were when onewrite was imported; None if not the libraries' own.
_HTTP_METHODS = ("putrequest", "putheader", "endheaders", "_send_output", "_output", "send", "getresponse")
_http_dict = _http.__dict__
_urllib3_dict = _urllib3.__dict__
_http_methods = operator.itemgetter(*_HTTP_METHODS)
_urllib3_methods = operator.itemgetter("putrequest", "putheader")
_http_originals = _originals.own_or_none(http.client, _http_methods(_http_dict))
_urllib3_originals = (
    () if _base.IS_V1 else _originals.own_or_none(urllib3.connection, _urllib3_methods(_urllib3_dict))
)

#: Likewise of reading: what makes the response, and what it is made of.
_response_dict = http.client.HTTPResponse.__dict__
_urllib3_response_dict = urllib3.response.HTTPResponse.__dict__
_http_reads = operator.itemgetter("getresponse", "response_class")
_http_reads_originals = (
    _originals.own_or_foreign(http.client, _http_dict["getresponse"]),
    http.client.HTTPResponse,
)
_begin = _originals.own_or_foreign(http.client, _response_dict["begin"])
_init = _originals.own_or_foreign(urllib3.response, _urllib3_response_dict["__init__"])

#: Methods of urllib3's class that install() replaces, with what they may be: urllib3's own, or what install()
#: has put in front of that. ``send`` is not there otherwise.
_OURS_TOO = ("request", "getresponse", "send")
_now_of = _urllib3_dict.get
_may_be: dict[str, typing.Any] = {
    name: value if value is None else _originals.own_or_foreign(urllib3.connection, value)
    for name, value in ((name, _now_of(name)) for name in _OURS_TOO)
}


def replaced(name: str, before: typing.Any, after: typing.Any) -> None:
    """install() has put *after* in the place of *before* on urllib3's class, or uninstall() the other way round."""
    if name in _may_be and _may_be[name] is before:
        _may_be[name] = after


def writes_untouched() -> bool:
    """Whether http.client and urllib3 write a request as they do of themselves."""
    return bool(
        _http_methods(_http_dict) == _http_originals
        and _urllib3_methods(_urllib3_dict) == _urllib3_originals
        and _now_of("request") is _may_be["request"]
        and _now_of("send") is _may_be["send"]
    )


def reads_untouched() -> bool:
    """Whether http.client and urllib3 read a response as they do of themselves."""
    return (
        _http_reads(_http_dict) == _http_reads_originals
        and _response_dict["begin"] is _begin
        and _urllib3_response_dict["__init__"] is _init
        and _now_of("getresponse") is _may_be["getresponse"]
    )


_classes: dict[type, bool] = {}


def own_methods(cls: type) -> bool:
    """Whether *cls* is an own class whose writing and reading no subclass has overridden."""
    known = _classes.get(cls)
    if known is None:
        from ._connection import _OneWrite

        known = _classes[cls] = all(
            next(parent for parent in cls.__mro__ if name in parent.__dict__) in (_OneWrite, _urllib3, _http)
            for name in (*_HTTP_METHODS, "request", "connect", "close", "response_class")
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
