"""Records in the names of OpenTelemetry."""

from __future__ import annotations

import socket
import typing

import pytest
import requests
import urllib3

import onewrite
import onewrite.requests
from onewrite import mappers
from onewrite._urllib3.pool import url_of


def no_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return True
    return False


@pytest.mark.skipif(no_ipv6(), reason="no IPv6 here")
@pytest.mark.parametrize("how", ["own", "installed", "requests"])
def test_an_ipv6_address_stands_in_brackets(how: str, tap: typing.Any) -> None:
    server = tap(host="::1")
    assert server.url("/a").startswith("http://[::1]:")
    timings: list[onewrite.Timing] = []
    onewrite.install(on_timing=timings.append if how == "installed" else None)
    try:
        if how == "requests":
            session = requests.Session()
            session.trust_env = False
            session.mount("http://", onewrite.requests.Adapter(on_timing=timings.append))
            send = session.post
        else:
            own = onewrite.HTTPConnectionPool("::1", server.port, on_timing=timings.append)
            pool = own if how == "own" else urllib3.HTTPConnectionPool("::1", server.port)
            manager = urllib3.PoolManager() if how == "installed" else onewrite.PoolManager(on_timing=timings.append)
            manager.request("POST", server.url("/a"))

            def send(url: str) -> typing.Any:
                return pool.request("POST", "/a")

        for _ in range(3):
            send(server.url("/a"))
    finally:
        onewrite.uninstall()
    assert {one.url for one in timings} == {server.url("/a")}
    for one in timings:
        found = mappers.otel_attributes(one)
        assert (found["server.address"], found["server.port"]) == ("::1", server.port)


def test_an_ipv6_address_with_a_zone() -> None:
    """RFC 6874: the percent sign of a zone is written %25."""
    pool = onewrite.PoolManager().connection_from_url("http://[fe80::1%25eth0]:80/")
    url = url_of(pool, "/a")
    assert url == "http://[fe80::1%25eth0]:80/a"
    assert urllib3.util.parse_url(url).host == urllib3.util.parse_url("http://[fe80::1%25eth0]/").host
    pool.close()
