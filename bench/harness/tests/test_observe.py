"""Event streams: a raw reader tells a stream that comes as it is sent from one that HAProxy holds back."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest
from patience import tries

from onewrite_bench.engines.observe import event_lags, read_stream
from onewrite_bench.topology.children import Children
from onewrite_bench.topology.places import Places
from onewrite_bench.verdict import stats

STREAM = "/sse?n=20&gap_ms=20"


@pytest.mark.timed
@pytest.mark.parametrize(
    ("place", "held"),
    [("origin/plain", False), ("haproxy/default", True), ("haproxy/http-no-delay", False), ("haproxy/mode-tcp", False)],
)
def test_haproxy_holds_a_stream_back_unless_told_not_to(
    children: Children, tmp_path: Path, place: str, held: bool
) -> None:
    places = Places(children, {"haproxy": "sse.cfg"}, tmp_path)

    def check() -> None:
        first, lags, reads = read_stream(places.port(place), STREAM)
        assert len(lags) == 20
        assert 0 < reads <= 20
        assert (stats.percentile(lags, 50) > 50_000) is held
        assert (first > 120_000) is held

    tries(check, 5)


def test_an_event_is_late_by_the_piece_that_completes_it() -> None:
    pieces = [(5_000_000, b"data: 1000000\n\nda"), (9_000_000, b"ta: 2000000\n\ndata: 8000000\n\n")]
    assert event_lags([(at, b64encode(data).decode()) for at, data in pieces]) == [4000, 7000, 1000]
