"""A malformed request is refused before a byte is sent, with a typed error that says what to change."""

from __future__ import annotations

import io
import typing

import pytest
import urllib3

import onewrite

BAD: dict[str, dict[str, typing.Any]] = {
    "line break in a value": {"headers": {"X": "a\r\nInjected: 1"}},
    "folded value": {"headers": {"X": "a\r\n b"}},
    "NUL in a value": {"headers": {"X": "a\0b"}},
    "control in a value": {"headers": {"X": "a\x01b"}},
    "line break in a bytes value": {"headers": {"X": b"a\nb"}},
    "line break in a name": {"headers": {"X\r\nY": "a"}},
    "space in a name": {"headers": {"X ": "a"}},
    "empty name": {"headers": {"": "a"}},
    "line break in the method": {"method": "GET\r\nX: y"},
    "space in the method": {"method": "GE T"},
    "empty method": {"method": ""},
    "two framings": {"body": b"abc", "headers": {"Content-Length": "3", "Transfer-Encoding": "chunked"}},
    "chunked with a length": {"body": b"abc", "headers": {"Content-Length": "3"}, "chunked": True},
    "too long a body": {"body": b"abcd", "headers": {"Content-Length": "3"}},
    "too short a body": {"body": b"ab", "headers": {"content-length": "3"}},
    "no body for a length": {"headers": {"Content-Length": "3"}},
    "length of text": {"body": "äöü", "headers": {"Content-Length": "2"}},
    "length of a BytesIO": {"body": io.BytesIO(b"ab"), "headers": {"Content-Length": "3"}},
    "length of a list": {"body": [b"ab", b"c"], "headers": {"Content-Length": "4"}},
    "length that is no number": {"body": b"abc", "headers": {"Content-Length": "3x"}},
    "negative length": {"body": b"abc", "headers": {"Content-Length": "-3"}},
    "signed length": {"body": b"abc", "headers": {"Content-Length": "+3"}},
}


@pytest.mark.parametrize("kind", BAD)
def test_a_malformed_request_is_refused(kind: str, library: typing.Any, tap: typing.Any) -> None:
    server = tap()
    manager = library.PoolManager(maxsize=1, block=True)
    assert manager.request("GET", server.url()).status == 200
    before = len(server.seen)
    keywords = dict(BAD[kind])
    with pytest.raises(onewrite.InvalidRequestError) as refused:
        manager.request(keywords.pop("method", "POST"), server.url(), **keywords)
    assert isinstance(refused.value, urllib3.exceptions.HTTPError)
    assert isinstance(refused.value, ValueError)
    assert ":" in str(refused.value), "it says what to do"
    assert manager.request("GET", server.url()).status == 200
    assert len(server.seen) == before + 1, "not a byte of the refused request arrived"


@pytest.mark.parametrize("chunks", [[b"ab"], [b"ab", b"cd"], []])
def test_a_stream_of_the_wrong_length_ends_in_an_error(
    chunks: list[bytes], library: typing.Any, tap: typing.Any
) -> None:
    server = tap()
    manager = library.PoolManager(maxsize=1, block=True)
    with pytest.raises(onewrite.InvalidRequestError, match="Content-Length"):
        manager.request("POST", server.url(), body=iter(chunks), headers={"Content-Length": "3"})
    assert manager.request("GET", server.url()).status == 200
    assert server.connections == 2, "the connection that carried half a request is not used again"


@pytest.mark.parametrize(
    "keywords",
    [
        {"body": b"abc", "headers": {"Content-Length": "3"}},
        {"body": iter([b"ab", b"c"]), "headers": {"Content-Length": "3"}},
        {"headers": {"Content-Length": "0"}},
        {"headers": {"X": "tab\tand space"}},
        {"headers": {"X": "grüße"}},
        {"headers": {"X": b"bytes"}},
        {"body": b"3\r\nabc\r\n0\r\n\r\n", "headers": {"Transfer-Encoding": "chunked"}},
    ],
)
def test_what_is_right_arrives_as_from_stock(
    keywords: dict[str, typing.Any], library: typing.Any, tap: typing.Any
) -> None:
    def arrived(manager: type[urllib3.PoolManager]) -> tuple[bytes, bytes]:
        # One value for both, and a body that can be read once for each.
        body = {"body": iter([b"ab", b"c"])} if isinstance(keywords.get("body"), type(iter([]))) else {}
        server = tap()
        assert manager().request("POST", server.url(), **{**keywords, **body}).status == 200
        (seen,) = server.seen
        return seen.head.replace(b":%d" % server.port, b""), seen.raw

    found = arrived(library.PoolManager)
    onewrite.uninstall()
    assert found == arrived(urllib3.PoolManager)


def test_a_target_with_a_line_break_never_reaches_the_wire(library: typing.Any, tap: typing.Any) -> None:
    server = tap()
    pool = library.HTTPConnectionPool("127.0.0.1", server.port)
    conn = pool._get_conn()
    with pytest.raises(onewrite.InvalidRequestError):
        conn.request("GET", "/a b")
    library.PoolManager().request("GET", server.url("/a\r\nX: y"))
    assert server.seen[0].line == "GET /a%0D%0AX:%20y HTTP/1.1"


@pytest.mark.parametrize("name", ["Content-Length", "Expect", "Transfer-Encoding"])
def test_a_header_that_cannot_be_left_out_is_refused_in_urllib3s_words(
    name: str, library: typing.Any, tap: typing.Any
) -> None:
    with pytest.raises(ValueError, match="SKIP_HEADER only supports"):
        library.PoolManager().request(
            "POST", tap().url(), body=b"x", headers={name: urllib3.util.SKIP_HEADER}, retries=False
        )
