"""Other Python HTTP clients behind the driver protocol (spec/conformance/PROTOCOL.md), as much as a cost table needs.

One caller, one kept connection, closed loop. Each client is used as its documentation shows.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any
from urllib.parse import urlsplit

Post = Callable[[str, bytes], int]


def http_client() -> Post:
    connections: dict[str, http.client.HTTPConnection] = {}

    def post(url: str, body: bytes) -> int:
        parts = urlsplit(url)
        if parts.netloc not in connections:
            connections[parts.netloc] = http.client.HTTPConnection(parts.netloc, timeout=30)
        connection = connections[parts.netloc]
        connection.request("POST", parts.path or "/", body)
        response = connection.getresponse()
        response.read()
        return response.status

    return post


def httpx_client() -> Post:
    import httpx

    client = httpx.Client(timeout=30, trust_env=False)
    return lambda url, body: client.post(url, content=body).status_code


def httpcore_client() -> Post:
    import httpcore

    pool = httpcore.ConnectionPool()
    return lambda url, body: pool.request("POST", url, content=body).status


def niquests_client() -> Post:
    import niquests

    session = niquests.Session()
    session.trust_env = False

    def post(url: str, body: bytes) -> int:
        response = session.post(url, data=body)
        _ = response.content
        return response.status_code or 0

    return post


def urllib3_future_client() -> Post:
    import urllib3_future

    pool = urllib3_future.PoolManager()
    return lambda url, body: pool.request("POST", url, body=body).status


def pycurl_client() -> Post:
    """libcurl, written in C."""
    import pycurl

    curl = pycurl.Curl()
    curl.setopt(pycurl.POST, 1)
    curl.setopt(pycurl.PROXY, "")
    curl.setopt(pycurl.HTTPHEADER, ["Content-Type: application/octet-stream"])

    def post(url: str, body: bytes) -> int:
        answer = bytearray()
        curl.setopt(pycurl.URL, url)
        curl.setopt(pycurl.POSTFIELDS, body)
        curl.setopt(pycurl.WRITEFUNCTION, answer.extend)
        curl.perform()
        return int(curl.getinfo(pycurl.RESPONSE_CODE))

    return post


CLIENTS: dict[str, Callable[[], Post]] = {
    "http.client": http_client,
    "httpx": httpx_client,
    "httpcore": httpcore_client,
    "niquests": niquests_client,
    "urllib3-future": urllib3_future_client,
    "pycurl": pycurl_client,
}


def load_loop(post: Post, command: dict[str, Any], body: bytes) -> dict[str, Any]:
    count, seconds = command.get("count"), command.get("seconds")
    end = time.monotonic() + float(seconds or 1e9)
    latencies: list[int] = []
    errors, sample = 0, None
    while (count is None or len(latencies) + errors < count) and time.monotonic() < end:
        began = time.monotonic_ns()
        try:
            status = post(command["url"], body)
            problem = None if status < 400 else f"status {status}"
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        if problem is None:
            latencies.append((time.monotonic_ns() - began) // 1000)
        else:
            errors += 1
            sample = sample or problem
    return {"latencies_us": latencies, "service_us": latencies, "errors": errors, "error_sample": sample}


class Aiohttp:
    """aiohttp needs its loop to run while a request is made: a whole load is one coroutine."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._session: Any = None

    def load(self, command: dict[str, Any], body: bytes) -> dict[str, Any]:
        return self._loop.run_until_complete(self._load(command, body))

    async def _load(self, command: dict[str, Any], body: bytes) -> dict[str, Any]:
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession()
        count, seconds = command.get("count"), command.get("seconds")
        end = time.monotonic() + float(seconds or 1e9)
        latencies: list[int] = []
        while (count is None or len(latencies) < count) and time.monotonic() < end:
            began = time.monotonic_ns()
            async with self._session.post(command["url"], data=body) as response:
                response.raise_for_status()
                await response.read()
            latencies.append((time.monotonic_ns() - began) // 1000)
        return {"latencies_us": latencies, "service_us": latencies, "errors": 0, "error_sample": None}


def available() -> list[str]:
    found = ["http.client"]
    for name in (*CLIENTS, "aiohttp"):
        if name in found:
            continue
        try:
            metadata.version(name)
            found.append(name)
        except metadata.PackageNotFoundError:
            pass
    return found


def open_client(api: str) -> Callable[[dict[str, Any], bytes], dict[str, Any]]:
    if api == "aiohttp":
        return Aiohttp().load
    post = CLIENTS[api]()
    return lambda command, body: load_loop(post, command, body)


def main() -> None:
    clients: dict[int, Callable[[dict[str, Any], bytes], dict[str, Any]]] = {}
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in available() if name != "http.client")
    for line in sys.stdin:
        command = json.loads(line)
        name = command["cmd"]
        reply: dict[str, Any]
        if name == "hello":
            reply = {
                "protocol": 1,
                "client": command["client"],
                "adapter": "competitors",
                "version": None,
                "base": {"name": "http.client", "version": f"{platform.python_version()}, {versions}"},
                "runtime": f"CPython {platform.python_version()}",
                "pid": os.getpid(),
                "apis": available(),
                "capabilities": ["load", "shared_clock"],
            }
        elif name == "open":
            reply = {"client_id": len(clients) + 1}
            clients[reply["client_id"]] = open_client(command["options"].get("api") or "http.client")
        elif name == "load":
            body = command.get("body") or {}
            reply = clients[command["client_id"]](command, b"x" * int(body.get("size") or 0))
        elif name in ("close", "bye"):
            reply = {"ok": True}
        else:
            reply = {"skipped": f"the competitors' driver has no {name}"}
        print(json.dumps({"seq": command["seq"], **reply}), flush=True)
        if name == "bye":
            return


if __name__ == "__main__":
    main()
