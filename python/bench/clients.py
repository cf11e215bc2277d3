"""The clients of the bench: each is a function that takes the URL and returns what sends one request.

A client that is not installed raises ImportError. One that is async returns a coroutine function.
"""

from __future__ import annotations

import io
import typing

BODY = b"x" * 200
HEADERS = {"Content-Type": "application/json"}
Send = typing.Callable[[], typing.Any]
Make = typing.Callable[[str], Send]


def _check(good: bool) -> None:
    if not good:
        raise RuntimeError("no answer of status 200 with a body of two bytes")


def _manager(manager: typing.Any, url: str) -> Send:
    def send() -> None:
        answer = manager.request("POST", url, body=BODY, headers=HEADERS)
        _check(answer.status == 200 and answer.data == b"{}")

    return send


def stock(url: str) -> Send:
    import urllib3

    return _manager(urllib3.PoolManager(), url)


def installed(url: str) -> Send:
    import urllib3

    import onewrite

    onewrite.install()
    return _manager(urllib3.PoolManager(), url)


def _longest() -> typing.Callable[[typing.Any], None]:
    """A hook that does a little work with each record."""
    longest = 0

    def on_timing(timing: typing.Any) -> None:
        nonlocal longest
        if timing.status == 200 and timing.cause is None and timing.total_ns > longest:
            longest = timing.total_ns

    return on_timing


def installed_on_timing(url: str) -> Send:
    import urllib3

    import onewrite

    onewrite.install(on_timing=_longest())
    return _manager(urllib3.PoolManager(), url)


def own(url: str) -> Send:
    import onewrite

    return _manager(onewrite.PoolManager(), url)


def own_on_timing(url: str) -> Send:
    import onewrite

    return _manager(onewrite.PoolManager(on_timing=_longest()), url)


def own_readings(url: str) -> Send:
    """The least that a record costs, without onewrite: six clock readings, one getsockopt, an object, a call."""
    import socket
    import time

    import onewrite

    manager = onewrite.PoolManager()
    send = _manager(manager, url)
    send()
    sock = manager.connection_from_url(url).pool.queue[-1].sock
    now = time.monotonic_ns

    class Record:
        pass

    def on_timing(record: Record) -> None:
        pass

    def send_and_read() -> None:
        record = Record()
        record.times = now(), now(), now(), now(), now(), time.time_ns()
        record.info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 184)
        send()
        on_timing(record)

    return send_and_read


def own_one_event(url: str) -> Send:
    import onewrite

    class Listener(onewrite.TimingListener):
        count = 0

        def on_call_end(self, event: onewrite.Event) -> None:
            self.count += 1

    return _manager(onewrite.PoolManager(listener=Listener()), url)


def own_every_event(url: str) -> Send:
    import onewrite

    class Listener(onewrite.TimingListener):
        count = 0

        def on_event(self, event: onewrite.Event) -> None:
            self.count += 1

    return _manager(onewrite.PoolManager(listener=Listener()), url)


def _posting(post: typing.Callable[..., typing.Any], url: str, body: str) -> Send:
    """*post* as requests has it; *body* is what it calls the body."""
    keywords: dict[str, typing.Any] = {body: BODY, "headers": HEADERS}

    def send() -> None:
        answer = post(url, **keywords)
        _check(answer.status_code == 200 and answer.content == b"{}")

    return send


def _session(session: typing.Any, url: str) -> Send:
    return _posting(session.post, url, "data")


def requests(url: str) -> Send:
    import requests

    return _session(requests.Session(), url)


def requests_installed(url: str) -> Send:
    import requests

    import onewrite

    onewrite.install()
    return _session(requests.Session(), url)


def requests_adapter(url: str) -> Send:
    import requests

    import onewrite.requests

    session = requests.Session()
    session.mount("http://", onewrite.requests.Adapter())
    return _session(session, url)


def niquests(url: str) -> Send:
    import niquests

    return _session(niquests.Session(), url)


def httpx(url: str) -> Send:
    import httpx

    return _posting(httpx.Client().post, url, "content")


def httpx_transport(url: str) -> Send:
    import httpx

    import onewrite.httpx

    return _posting(httpx.Client(transport=onewrite.httpx.Transport()).post, url, "content")


def httpcore(url: str) -> Send:
    import httpcore

    pool = httpcore.ConnectionPool()

    def send() -> None:
        answer = pool.request("POST", url, content=BODY, headers=HEADERS)
        _check(answer.status == 200 and answer.content == b"{}")

    return send


def aiohttp(url: str) -> typing.Any:
    import aiohttp

    session: list[aiohttp.ClientSession] = []

    async def send() -> None:
        if not session:
            session.append(aiohttp.ClientSession())
        async with session[0].post(url, data=BODY, headers=HEADERS) as answer:
            _check(answer.status == 200 and await answer.read() == b"{}")

    return send


def http_client(url: str) -> Send:
    import http.client
    import urllib.parse

    parts = urllib.parse.urlsplit(url)
    conn = http.client.HTTPConnection(parts.hostname or "", parts.port)
    target = f"{parts.path}?{parts.query}"

    def send() -> None:
        conn.request("POST", target, BODY, HEADERS)
        answer = conn.getresponse()
        _check(answer.status == 200 and answer.read() == b"{}")

    return send


def pycurl(url: str) -> Send:
    import pycurl

    curl = pycurl.Curl()
    curl.setopt(pycurl.URL, url)
    curl.setopt(pycurl.HTTPHEADER, [f"{name}: {value}" for name, value in HEADERS.items()])

    def send() -> None:
        body = io.BytesIO()
        curl.setopt(pycurl.POSTFIELDS, BODY)
        curl.setopt(pycurl.WRITEDATA, body)
        curl.perform()
        _check(curl.getinfo(pycurl.RESPONSE_CODE) == 200 and body.getvalue() == b"{}")

    return send


def geventhttpclient(url: str) -> Send:
    import geventhttpclient

    client = geventhttpclient.HTTPClient.from_url(url, concurrency=1)
    target = geventhttpclient.URL(url).request_uri

    def send() -> None:
        answer = client.post(target, body=BODY, headers=HEADERS)
        _check(answer.status_code == 200 and answer.read() == b"{}")

    return send


def pyreqwest(url: str) -> Send:
    from pyreqwest.client import SyncClientBuilder

    client = SyncClientBuilder().build()

    def send() -> None:
        answer = client.post(url).headers(HEADERS).body_bytes(BODY).build().send()
        _check(answer.status == 200 and bytes(answer.bytes()) == b"{}")

    return send


def primp(url: str) -> Send:
    import primp

    return _posting(primp.Client().post, url, "content")


def rnet(url: str) -> Send:
    import rnet.blocking

    client = rnet.blocking.BlockingClient()

    def send() -> None:
        answer = client.post(url, body=BODY, headers=HEADERS)
        _check(answer.ok and answer.bytes() == b"{}")

    return send


def httpr(url: str) -> Send:
    import httpr

    return _posting(httpr.Client().post, url, "content")


class Client(typing.NamedTuple):
    """One row of the table."""

    name: str
    make: Make
    packages: tuple[str, ...]  # whose versions are told
    parts: str = "Python"  # what its working parts are written in
    venv: str = ".venv-bench"


#: urllib3-future is installed in urllib3's place, and niquests with it: they have an environment of their own.
CLIENTS = [
    Client("urllib3", stock, ("urllib3",)),
    Client("urllib3, install()", installed, ("urllib3",)),
    Client("urllib3, install(on_timing)", installed_on_timing, ("urllib3",)),
    Client("onewrite", own, ("urllib3",)),
    Client("onewrite, on_timing", own_on_timing, ("urllib3",)),
    Client("onewrite, readings alone", own_readings, ("urllib3",)),
    Client("onewrite, one event", own_one_event, ("urllib3",)),
    Client("requests", requests, ("requests",)),
    Client("requests, install()", requests_installed, ("requests",)),
    Client("requests, onewrite adapter", requests_adapter, ("requests",)),
    Client("httpx", httpx, ("httpx", "httpcore")),
    Client("httpx, onewrite transport", httpx_transport, ("httpx", "httpcore")),
    Client("httpcore", httpcore, ("httpcore",)),
    Client("niquests", niquests, ("niquests", "urllib3-future"), venv=".venv-bench-future"),
    Client("urllib3-future", stock, ("urllib3-future",), venv=".venv-bench-future"),
    Client("aiohttp, no uvloop", aiohttp, ("aiohttp",), "Python, C parser"),
    Client("http.client", http_client, ()),
    Client("geventhttpclient", geventhttpclient, ("geventhttpclient",), "Python, C parser"),
    Client("pycurl", pycurl, ("pycurl",), "C"),
    Client("pyreqwest", pyreqwest, ("pyreqwest",), "Rust"),
    Client("primp", primp, ("primp",), "Rust"),
    Client("rnet", rnet, ("rnet",), "Rust"),
    Client("httpr", httpr, ("httpr",), "Rust"),
    Client("onewrite, every event", own_every_event, ("urllib3",)),
]
