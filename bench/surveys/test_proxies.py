"""The fast part of the matrix: two configurations, judged by counts and by ratios to a control of the same run."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from frontends import HAPROXY
from measure import Sample, measure
from origin import Origin
from page import fill
from post import MODES, Client
from servers import HERE, Missing, Servers, haproxy_version
from wire import Reader

BY_KEY = {one.key: one for one in HAPROXY}
REQUESTS = 24


@pytest.fixture(scope="module")
def ports() -> Iterator[dict[str, int]]:
    with Servers() as servers:
        try:
            origin = servers.origin()
            yield {"direct": origin, **servers.haproxy(origin, (BY_KEY["buffer"], BY_KEY["default"]))}
        except Missing as missing:
            pytest.skip(str(missing))


def control_of(port: int) -> Sample:
    """Nagle on and two writes straight to the origin, which must stall, where one write must not; else inconclusive."""
    direct = measure(port, requests=REQUESTS)
    control, good = direct["nagle+split"], direct["one write"]
    if not control.stalls or good.noisy:
        pytest.skip(f"inconclusive: of {REQUESTS} requests {control.stalled} of the control stalled, {good.stalled} of the good one")
    return control


def test_http_buffer_request_stalls_a_split_post_and_nothing_else(ports: dict[str, int]) -> None:
    control = control_of(ports["direct"])
    samples = measure(ports["buffer"], requests=REQUESTS)
    assert samples["nagle+split"].stalls
    assert samples["nagle+split"].p50_ms > control.p50_ms / 2
    for cured in ("nodelay+split", "one write"):
        assert samples[cured].p50_ms < samples["nagle+split"].p50_ms / 2
        assert not samples[cured].noisy


def test_mode_http_alone_does_not_stall(ports: dict[str, int]) -> None:
    control = control_of(ports["direct"])
    for sample in measure(ports["default"], requests=REQUESTS).values():
        assert sample.p50_ms < control.p50_ms / 2
        assert not sample.noisy


def test_the_client_counts_its_segments(ports: dict[str, int]) -> None:
    samples = measure(ports["direct"], requests=REQUESTS)
    if samples["one write"].segments is None:
        pytest.skip("this kernel does not count data segments")
    assert {name: one.segments for name, one in samples.items()} == {"nagle+split": 2, "nodelay+split": 2, "one write": 1}


def test_the_origin_counts_the_same_from_the_other_side() -> None:
    origin = Origin()
    for mode in MODES:
        client = Client(origin.port, mode)
        for _ in range(REQUESTS):
            client.post()
        client.close()
    origin.close()
    counts = [origin.segments[i * REQUESTS : (i + 1) * REQUESTS] for i in range(len(MODES))]
    assert [max(set(one), key=one.count) for one in counts] == [2, 2, 1]


def test_an_error_status_is_not_taken_for_a_measurement() -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def refuse() -> None:
        sock, _ = listener.accept()
        reader = Reader(sock)
        _, fields = reader.head()
        reader.body(fields)
        sock.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")

    threading.Thread(target=refuse, daemon=True).start()
    client = Client(listener.getsockname()[1], MODES[2])
    with pytest.raises(ValueError, match="503"):
        client.post()
    client.close()
    listener.close()


def test_a_page_is_filled_between_its_markers_only(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- measured:x -->\nold\n<!-- /measured:x -->\nb\n")
    fill(page, {"x": "new"})
    assert page.read_text() == "a\n<!-- measured:x -->\nnew\n<!-- /measured:x -->\nb\n"
    with pytest.raises(ValueError, match="must hold"):
        fill(page, {"y": "new"})


def test_the_haproxy_that_is_named_is_the_one_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "haproxy"
    program.write_text("#!/bin/sh\necho 'HAProxy version 9.9.9-dev 2026/01/01'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert haproxy_version() == "9.9.9-dev (of no package)"


def test_the_guide_can_be_followed_by_hand() -> None:
    """`stand.py` prints what to paste; `patient.py` stalls there without TCP_NODELAY and not with it."""
    if shutil.which("haproxy") is None and shutil.which("haproxy", path="/usr/sbin") is None:
        pytest.skip("haproxy is not installed")
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
    assert p50["--nodelay"] < p50[""] / 2
