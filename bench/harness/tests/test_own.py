"""Another team's HAProxy configuration and address: taken as they are, judged without knowing beforehand."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from onewrite_bench.failures import BenchError
from onewrite_bench.run import own
from onewrite_bench.topology.adopt import adopt
from onewrite_bench.topology.children import Children
from onewrite_bench.topology.places import Places

THEIRS = """
global
    log /dev/log local0
    chroot /var/lib/haproxy
    stats socket /run/haproxy/admin.sock mode 660 level admin
    user haproxy
    daemon
    maxconn 2000

resolvers dns
    nameserver one 10.0.0.2:53

defaults
    log global
    mode http
    timeout connect 5s
    timeout client 50s
    timeout server 50s
    errorfile 400 /etc/haproxy/errors/400.http

frontend www
    bind *:80
    bind :443 ssl crt /etc/ssl/private/site.pem alpn http/1.1   # theirs
    option http-buffer-request
    acl all path_beg /
    use_backend app if all

frontend plain
    bind 10.0.0.1:8080
    default_backend app

backend app
    balance roundrobin
    option httpchk GET /health
    http-check expect status 200
    server app1 10.0.0.11:8080 check inter 2s
    server app2 10.0.0.12:8080 check
"""

RUN = [sys.executable, "-m", "onewrite_bench", "run", "--languages", "raw", "--requests", "6", "--rounds", "2"]


def test_what_decides_a_stall_is_kept_and_what_needs_their_machine_is_not() -> None:
    adopted = adopt(THEIRS)
    assert adopted.frontends == [("www-80", "http"), ("www-443", "https"), ("plain-10-0-0-1-8080", "http")]
    live = [line.strip() for line in adopted.text.splitlines() if line.strip() and not line.startswith("#")]
    assert "option http-buffer-request" in live
    assert "use_backend app if all" in live
    assert "balance roundrobin" in live
    assert 'server app1 "${ONEWRITE_ORIGIN}"' in live
    assert 'bind "fd@${FD_WWW_443}" ssl alpn http/1.1 crt "${ONEWRITE_CERTIFICATE}"' in live
    for theirs in (
        "chroot",
        "user",
        "daemon",
        "log",
        "stats",
        "nameserver",
        "server app2",
        "errorfile",
        "option httpchk",
    ):
        assert not [line for line in live if line.startswith(theirs)], theirs
    assert "line 4: chroot left out" in adopted.changed


def test_a_configuration_without_a_tcp_frontend_is_refused() -> None:
    with pytest.raises(BenchError, match="no frontend with a TCP bind line"):
        adopt("frontend a\n  bind /run/a.sock\n")
    with pytest.raises(BenchError, match="line 1 of the HAProxy configuration cannot be read"):
        adopt('acl "open\n')


@pytest.mark.parametrize("address", ["10.0.0.1:80", "ftp://x/", "http://user:secret@host/", "http://"])
def test_only_an_address_is_a_target(address: str) -> None:
    with pytest.raises(BenchError, match="is not an address like"):
        own.of_target(address)


def test_an_address_where_nobody_listens_is_said_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and nobody listens
        env = {**os.environ, "TARGET": f"http://127.0.0.1:{taken.getsockname()[1]}/"}
        done = subprocess.run(
            [*RUN, "--out", str(tmp_path / "out")], env=env, capture_output=True, text=True, timeout=180, check=False
        )
    assert done.returncode == 3
    assert "takes no connection: Connection refused" in done.stderr
    assert "Traceback" not in done.stderr


def test_their_configuration_is_run_and_judged(tmp_path: Path) -> None:
    theirs = tmp_path / "their.cfg"
    theirs.write_text(THEIRS)
    env = {**os.environ, "HAPROXY_CFG": str(theirs)}
    done = subprocess.run(
        [*RUN, "--out", str(tmp_path / "out")], env=env, capture_output=True, text=True, timeout=180, check=False
    )
    assert "Traceback" not in done.stderr
    raw = json.loads((tmp_path / "out" / "own-haproxy.json").read_text())
    shares = {
        cell["target"]: sum(1 for us in cell["latencies_us"] if us > 30_000) / len(cell["latencies_us"])
        for cell in raw["cells"]
        if cell["role"] == "control"
    }
    assert shares["www-80"] > 0.5
    assert shares["www-443"] > 0.5
    assert shares["plain-10-0-0-1-8080"] < 0.5
    report = (tmp_path / "out" / "RESULTS.md").read_text()
    assert "make bench HAPROXY_CFG=" in report


def test_a_result_that_cannot_be_kept_is_shown_and_said_in_one_line(tmp_path: Path, children: Children) -> None:
    """As on a full disk: the folder for results cannot be made."""
    places = Places(children, {}, tmp_path)
    env = {**os.environ, "TARGET": f"http://127.0.0.1:{places.port('origin/plain')}/"}
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = subprocess.run(
        [*RUN, "--out", str(tmp_path / "file" / "out")],
        env=env,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 3
    assert "own-target: the result could not be kept: " in done.stderr
    assert "Traceback" not in done.stderr
    assert "one write" in done.stdout


def test_their_address_is_run(tmp_path: Path, children: Children) -> None:
    places = Places(children, {}, tmp_path)
    env = {**os.environ, "TARGET": f"http://127.0.0.1:{places.port('origin/plain')}/"}
    done = subprocess.run(
        [*RUN, "--out", str(tmp_path / "out")], env=env, capture_output=True, text=True, timeout=180, check=False
    )
    assert "Traceback" not in done.stderr
    assert "one write" in done.stdout
    raw = json.loads((tmp_path / "out" / "own-target.json").read_text())
    good = next(cell for cell in raw["cells"] if cell["role"] == "good")
    assert good["errors"] == 0
    assert good["segments"]
