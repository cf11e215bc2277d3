"""The parts behind the surveys' tables, judged by counts and by ratios to a control of the same run."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from onewrite_lab.client import GOOD, Connection, How

from faulty import events, serve, upload
from limits import lost_and_others
from shared import HERE, Missing, Sample, Servers, fill, measure

REQUESTS = 24
DELAYED_ACK_MS = 40  # the least on Linux


@pytest.fixture(scope="module")
def ports() -> Iterator[dict[str, int]]:
    with Servers() as servers:
        try:
            origin = servers.origin()
            yield {"direct": origin, **servers.haproxy(origin)}
        except Missing as missing:
            pytest.skip(str(missing))


def control_of(port: int) -> Sample:
    """Nagle on and two writes straight to the origin, which must stall, where one write must not; else inconclusive."""
    direct = measure(port, requests=REQUESTS)
    control, good = direct["Nagle, two writes"], direct["Nagle, one write"]
    if not control.stalls or good.noisy:
        pytest.skip(f"inconclusive: of {REQUESTS} requests {control.stalled} of the control stalled, {good.stalled} of the good one")
    assert [one.segments for one in direct.values()] in ([2, 2, 1], [None] * 3)
    return control


@pytest.mark.parametrize(("frontend", "stalls"), [("buffer", True), ("default", False)])
def test_a_split_post_stalls_where_the_page_says(ports: dict[str, int], frontend: str, stalls: bool) -> None:
    control = control_of(ports["direct"])
    samples = measure(ports[frontend], requests=REQUESTS)
    if samples["Nagle, one write"].noisy:
        pytest.skip("inconclusive: one write is slow, too")
    assert samples["Nagle, two writes"].stalls is stalls
    # On the same path: a busy machine delays each wake-up, and a proxy has two more of them.
    for cured in ("TCP_NODELAY, two writes", "Nagle, one write"):
        lost_ms = samples["Nagle, two writes"].p50_ms - samples[cured].p50_ms
        assert (lost_ms > control.p50_ms / 2) is stalls


def test_a_lone_lost_segment_costs_more_than_one_that_another_follows() -> None:
    # On a busy machine a late ACK may be the segment that is dropped.
    for _ in range(4):
        p50 = []
        for how in (GOOD, How(nagle=False, split=True)):
            lost, others = lost_and_others(Connection(f"http://127.0.0.1:{serve()}/lossy", how), 28)
            p50 += [statistics.median(lost), statistics.median(others)]
        if p50[0] > 2 * max(p50[1], p50[2]):
            return
    pytest.fail(f"a lone lost segment took {p50[0]:.1f} ms, one of two {p50[2]:.1f} ms, others {p50[1]:.1f} ms")


def test_each_fault_waits_as_the_page_says() -> None:
    def p50_ms(path: str) -> float:
        client = Connection(f"http://127.0.0.1:{port}/{path}", GOOD)
        times = []
        for _ in range(16 + 20):
            started = time.perf_counter()
            client.post("POST", b"x" * 200)
            times.append((time.perf_counter() - started) * 1000)
        client.close()
        return statistics.median(times[16:])

    port = serve()
    good, split = p50_ms(""), p50_ms("split")
    assert p50_ms("slow") >= 45
    if split < 30:
        pytest.skip(f"inconclusive: the split answer took {split:.1f} ms")
    assert split - good > DELAYED_ACK_MS / 2


def test_streams_are_timed_piece_by_piece() -> None:
    port = serve()
    assert [len(lags) for lags in (events(port), upload(port))] == [30, 30]


def test_a_page_is_filled_between_its_markers_only(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- measured:x -->\nold\n<!-- /measured:x -->\nb\n")
    fill(page, {"x": "new"})
    assert page.read_text() == "a\n<!-- measured:x -->\nnew\n<!-- /measured:x -->\nb\n"
    with pytest.raises(ValueError, match="must hold"):
        fill(page, {"y": "new"})


def test_the_guide_can_be_followed_by_hand(ports: dict[str, int]) -> None:
    """`stand.py` prints what to paste; `patient.py` stalls there without TCP_NODELAY and not with it."""
    with subprocess.Popen([sys.executable, HERE / "stand.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as stand:
        assert stand.stdout is not None
        told = dict(re.findall(r"(\w+)=(\S+)", stand.stdout.readline()))
        p50 = {}
        for name in ("", "--nodelay"):
            command = [sys.executable, HERE / "patient.py", told["URL"], "--requests", "20", *name.split()]
            line = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
            found = re.search(r"p50 ([\d.]+) ms", line)
            assert found, line
            p50[name] = float(found[1])
        stand.communicate("", timeout=60)
    assert told["PORT"] in told["URL"]
    assert stand.returncode == 0
    if p50[""] < 30:
        pytest.skip(f"inconclusive: the patient did not stall ({p50['']} ms)")
    assert p50[""] - p50["--nodelay"] > DELAYED_ACK_MS / 2
