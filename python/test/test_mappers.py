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


@pytest.fixture
def timings(tap: typing.Any, authority: typing.Any) -> list[onewrite.Timing]:
    found: list[onewrite.Timing] = []
    server = tap(tls=True)
    http = onewrite.PoolManager(ca_certs=authority.pem, on_timing=found.append)
    for _ in range(2):
        http.request("POST", f"https://localhost:{server.port}/a", body=b"x")
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        with pytest.raises(urllib3.exceptions.HTTPError):
            http.request("GET", f"http://127.0.0.1:{bound.getsockname()[1]}/", retries=False)
    return found


def test_opentelemetry_attributes_and_phases(timings: list[onewrite.Timing]) -> None:
    first, _, refused = (mappers.otel_attributes(one) for one in timings)
    assert first["http.request.method"] == "POST"
    assert first["server.address"] == "localhost"
    assert first["http.response.status_code"] == 200
    assert "error.type" not in first
    assert refused["error.type"] == "connect"
    phases = mappers.otel_phases(timings[0])
    assert 0 < phases["onewrite.tls_ns"] <= phases["onewrite.total_ns"] == timings[0].total_ns
    assert "onewrite.queue_ns" not in phases


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
