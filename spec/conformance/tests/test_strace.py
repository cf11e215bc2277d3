"""What the judge reads in a log of strace."""

from __future__ import annotations

from onewrite_conformance.checks.strace import PATH, REQUESTS, read_calls


def test_reading_strace() -> None:
    nodelay = "7 setsockopt(5, SOL_TCP, TCP_NODELAY, [1], 4) = 0"
    one = f'7 sendto(5, "POST {PATH} HTTP/1.1\\r\\nHost: 127"..., 300, 0, NULL, 0) = 300'
    head = f'7 sendto(5, "POST {PATH} HTTP/1.1\\r\\nHost: 127"..., 100, 0, NULL, 0) = 100'
    body = '7 sendto(5, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"..., 200, 0, NULL, 0) = 200'
    vector = f'7 writev(5, [{{iov_base="POST {PATH} HTTP", iov_len=100}}, {{iov_base="xxxxxxxxxxxxxxxxxxxxxxx", iov_len=200}}], 2) = 300'
    assert list(read_calls([nodelay] + [one] * REQUESTS)) == []
    assert list(read_calls([nodelay] + [vector] * REQUESTS)) == []
    assert any("body alone" in text for text in read_calls([nodelay] + [head, body] * REQUESTS))
    assert any("never set" in text for text in read_calls([one] * REQUESTS))
    asked = '7 getsockopt(5, SOL_TCP, TCP_INFO, "\\1\\0", [232]) = 0'
    assert any("TCP_INFO" in text for text in read_calls([nodelay] + [one] * REQUESTS + [asked]))
    assert list(read_calls([asked, nodelay] + [one] * REQUESTS)) == []
    quick = "7 setsockopt(5, SOL_TCP, TCP_QUICKACK, [1], 4) = 0"
    assert any("QUICKACK" in text for text in read_calls([nodelay, quick] + [one] * REQUESTS))
