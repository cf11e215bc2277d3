"""Each cure of docs/cures.md ends the stall, and without its marked lines the same program stalls."""

from __future__ import annotations

import contextlib
import re
import shutil
import statistics
import subprocess
from pathlib import Path

import pytest
from onewrite_lab import certificates
from onewrite_lab.probe import Probe, request_pieces
from onewrite_lab.tap import Tap
from snippets import ROOT, TIMES, blocks, exchanges, haproxy_ports

PAGE = ROOT / "docs" / "cures.md"
CURES = blocks("cure", PAGE)
#: One of each runtime; `make nightly` runs all.
FIRST = {language: name for name, language, _ in reversed(CURES)}
MARK = re.compile(r"^.*(?:#|//) the cure\n", re.MULTILINE)
MARKED = [pytest.param(*one, id=one[0], marks=() if FIRST[one[1]] == one[0] else pytest.mark.nightly) for one in CURES]
#: A cured program waits less than this share of what the same program waits without the cure.
SHARE = 0.25


def arrival_ns(language: str, code: str, folder: Path) -> float:
    """The median time between the first byte of a POST and its last, at a server that delays its ACKs."""
    folder.mkdir()
    scheme = "https" if "https://127.0.0.1:8080" in code else "http"
    trust = {"NODE_EXTRA_CA_CERTS": str(certificates.shared().ca_file)}
    _, posts = exchanges(language, code, folder, scheme=scheme, delay_acks=True, more=trust)
    assert statistics.mode(one.segments or 0 for one in posts) > 1
    return statistics.median(one.complete_ns - one.first_ns for one in posts)


def test_every_block_of_the_page_is_run_and_has_a_marked_line() -> None:
    assert len(CURES) == len(re.findall(r"^```\w+$", PAGE.read_text(), re.MULTILINE)) > 0
    assert [name for name, _, code in CURES if not MARK.search(code)] == []


@pytest.mark.parametrize(("name", "language", "code"), MARKED)
def test_the_marked_lines_end_the_stall(name: str, language: str, code: str, tmp_path: Path) -> None:
    stalled = arrival_ns(language, MARK.sub("", code), tmp_path / "stalls")
    cured = arrival_ns(language, code, tmp_path / "cured")
    assert cured < SHARE * stalled, (cured, stalled)


def split_post_ns(port: int, *, nodelay: bool) -> float:
    """The median time of POSTs that leave in two writes, a moment apart, as on a network."""
    pieces = request_pieces(f"http://127.0.0.1:{port}/", b"x" * 200, writes=2)
    with contextlib.closing(Probe(("127.0.0.1", port), nodelay=nodelay)) as probe:
        return statistics.median(probe.exchange(pieces, gap_s=0.001).total_ns for _ in range(TIMES))


@pytest.mark.nightly
def test_without_a_rule_that_waits_for_the_body_haproxy_does_not_stall(tmp_path: Path) -> None:
    with Tap() as origin, haproxy_ports(origin.port, tmp_path) as ports:
        assert split_post_ns(ports["cured"], nodelay=False) < SHARE * split_post_ns(ports["stalls"], nodelay=False)


@pytest.mark.nightly
def test_socat_with_nodelay_does_not_stall_behind_itself(tmp_path: Path) -> None:
    if not (socat := shutil.which("socat")):
        pytest.skip("socat is not installed")
    times = []
    with Tap(delay_acks=True) as origin:
        for option in (",nodelay", ""):
            command = [socat, "-d", "-d", "TCP-LISTEN:0,bind=127.0.0.1,fork", f"TCP:127.0.0.1:{origin.port}{option}"]
            with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as relay:
                try:
                    port = next(int(found[1]) for line in relay.stderr or () if (found := re.search(r"listening on .*:(\d+)$", line)))
                    times.append(split_post_ns(port, nodelay=True))
                finally:
                    relay.terminate()
    assert times[0] < SHARE * times[1], times
