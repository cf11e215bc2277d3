"""20 POSTs by an HTTP library of Python. usage: client.py LIBRARY URL"""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

TIMES, BODY = 20, b"x" * 200
AUTHORITY = os.environ.get("SSL_CERT_FILE")


def context() -> ssl.SSLContext | None:
    return ssl.create_default_context(cafile=AUTHORITY) if AUTHORITY else None


def pieces() -> Iterator[bytes]:
    yield BODY[:100]
    yield BODY[100:]


def http_client(url: str) -> None:
    import http.client

    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.netloc)
    for _ in range(TIMES):
        connection.request("POST", "/", BODY)
        connection.getresponse().read()


def urllib(url: str) -> None:
    import urllib.request

    for _ in range(TIMES):
        urllib.request.urlopen(url, BODY).read()


def urllib3(url: str, **options: object) -> None:
    import urllib3

    pool = urllib3.PoolManager(ca_certs=AUTHORITY, **options)  # type: ignore[arg-type]
    for _ in range(TIMES):
        pool.request("POST", url, body=BODY)


def urllib3_nagle(url: str) -> None:
    urllib3(url, socket_options=[])


def pycurl(url: str) -> None:
    import pycurl

    curl = pycurl.Curl()
    curl.setopt(curl.URL, url)
    curl.setopt(curl.POSTFIELDS, BODY.decode())
    curl.setopt(curl.WRITEFUNCTION, len)
    for _ in range(TIMES):
        curl.perform()


def tornado(url: str) -> None:
    from tornado.httpclient import HTTPClient

    client = HTTPClient()
    for _ in range(TIMES):
        client.fetch(url, method="POST", body=BODY)


def requests(url: str, body: object = BODY) -> None:
    import requests

    session = requests.Session()
    for _ in range(TIMES):
        session.post(url, data=body() if callable(body) else body)


def requests_stream(url: str) -> None:
    requests(url, pieces)


def requests_each(url: str) -> None:
    import requests

    for _ in range(TIMES):
        requests.post(url, data=BODY)


def httpx(url: str) -> None:
    import httpx

    with httpx.Client(verify=context() or True) as client:
        for _ in range(TIMES):
            client.post(url, content=BODY)


def httpx_file(url: str) -> None:
    import httpx

    with httpx.Client(verify=context() or True) as client:
        for _ in range(TIMES):
            client.post(url, files={"file": ("name.txt", BODY)})


def httpx_async(url: str) -> None:
    import httpx

    async def run() -> None:
        async with httpx.AsyncClient(verify=context() or True) as client:
            for _ in range(TIMES):
                await client.post(url, content=BODY)

    asyncio.run(run())


def aiohttp(url: str) -> None:
    import aiohttp

    async def run() -> None:
        async with aiohttp.ClientSession(trust_env=True) as session:
            for _ in range(TIMES):
                async with session.post(url, data=BODY, ssl=context() or True) as response:
                    await response.read()

    asyncio.run(run())


globals()[sys.argv[1]](sys.argv[2])
