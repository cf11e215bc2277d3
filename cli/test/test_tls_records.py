"""TLS records are counted by their headers: a real handshake of either version, cut at every byte."""

from __future__ import annotations

import ssl

import pytest
import trustme

from onewrite_cli.check.tls_records import ClientRecords


def stream(version: ssl.TLSVersion, protocols: list[str]) -> list[bytes]:
    """The client's bytes: handshake, then two requests of two writes, then close_notify."""
    authority = trustme.CA()
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(server_context)
    client_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.configure_trust(client_context)
    client_context.maximum_version = version
    client_context.set_alpn_protocols(protocols)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context.wrap_bio(to_client, to_server, server_hostname="localhost")
    server_in = ssl.MemoryBIO()
    server = server_context.wrap_bio(server_in, to_client, server_side=True)
    flights: list[bytes] = []
    done = {"client": False, "server": False}
    while not all(done.values()):
        for name, side in (("client", client), ("server", server)):
            try:
                side.do_handshake()
                done[name] = True
            except ssl.SSLWantReadError:
                pass
            if sent := to_server.read():
                flights.append(sent)
                server_in.write(sent)
    for data in (b"POST / HTTP/1.1\r\n\r\n", b"x" * 200, b"POST / HTTP/1.1\r\n\r\n", b"x" * 200):
        client.write(data)
        flights.append(to_server.read())
    with pytest.raises(ssl.SSLError):
        client.unwrap()
    flights.append(to_server.read())
    return flights


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("step", [1, 7, 1 << 20])
def test_only_requests_are_counted(version: ssl.TLSVersion, step: int) -> None:
    records = ClientRecords()
    whole = b"".join(stream(version, ["http/1.1"]))
    counted = sum(records.feed(whole[at : at + step]) for at in range(0, len(whole), step))
    assert counted == records.application == 4
    assert records.tls
    assert not records.http2_offered


def test_an_offer_of_http2_is_seen() -> None:
    records = ClientRecords()
    records.feed(stream(ssl.TLSVersion.TLSv1_3, ["h2", "http/1.1"])[0])
    assert records.http2_offered


def test_bytes_that_are_not_tls_are_reported() -> None:
    records = ClientRecords()
    assert records.feed(b"GET / HTTP/1.1\r\n\r\n") == 0
    assert not records.tls


def test_what_follows_the_finished_is_told_apart() -> None:
    records = ClientRecords()
    *handshake, head, body, _, _, _ = stream(ssl.TLSVersion.TLSv1_3, ["http/1.1"])
    records.feed(b"".join(handshake) + head + body)
    assert records.after_finished == head + body
    records.feed(body)
    assert records.after_finished is None


@pytest.mark.parametrize("first", [0, 1, 255])
def test_a_resumed_session_of_tls_12_ends_with_any_byte(first: int) -> None:
    """The Finished is encrypted there: its first byte may be that of a ClientHello."""
    hello = stream(ssl.TLSVersion.TLSv1_2, ["http/1.1"])[0]
    finished = b"\x14\x03\x03\x00\x01\x01" + b"\x16\x03\x03\x00\x28" + bytes([first]) * 40
    records = ClientRecords()
    assert records.feed(hello + finished) == 0
    assert records.feed(b"\x17\x03\x03\x00\x20" + bytes(32)) == 1
