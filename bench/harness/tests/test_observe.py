"""Event streams: a raw reader tells a stream that comes as it is sent from one that HAProxy holds back."""

from __future__ import annotations

from pathlib import Path

import pytest
from patience import tries

from onewrite_bench import stats
from onewrite_bench.children import Children
from onewrite_bench.observe import read_stream
from onewrite_bench.places import Places

STREAM = "/sse?n=20&gap_ms=20"


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
