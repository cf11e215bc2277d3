"""Python's HTTP clients as people use them. usage: client.py LIBRARY URL COUNT [--onewrite]

Proxies and authorities come from the environment, as the libraries find them.
"""

from __future__ import annotations

import asyncio
import http.client
import ssl
import sys
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

BODY = b"x" * 200
library, url, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
if "--onewrite" in sys.argv:
    import onewrite

    onewrite.install()


def standard_library() -> Callable[[], object]:
    where = urlsplit(url)
    if where.scheme == "https":
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(where.netloc)
    else:
        connection = http.client.HTTPConnection(where.netloc)

    def post() -> None:
        connection.request("POST", where.path, BODY)
        connection.getresponse().read()

    return post


def with_requests() -> Callable[[], object]:
    import requests

    session = requests.Session()
    return lambda: session.post(url, data=BODY).raise_for_status()


def with_urllib3() -> Callable[[], object]:
    import urllib3

    pool = urllib3.PoolManager(ssl_context=ssl.create_default_context())
    return lambda: pool.request("POST", url, body=BODY)


def with_httpx() -> Callable[[], object]:
    import httpx

    client = httpx.Client()
    return lambda: client.post(url, content=BODY).raise_for_status()


async def with_aiohttp() -> None:
    import aiohttp

    async with aiohttp.ClientSession(trust_env=True) as session:

        async def post() -> None:
            async with session.post(url, data=BODY) as response:
                await response.read()

        await repeat(post)


async def repeat(post: Callable[[], Awaitable[None]]) -> None:
    for _ in range(count):
        await post()


LIBRARIES = {"http.client": standard_library, "requests": with_requests, "urllib3": with_urllib3, "httpx": with_httpx}

if library == "aiohttp":
    asyncio.run(with_aiohttp())
else:
    once = LIBRARIES[library]()
    for _ in range(count):
        once()
