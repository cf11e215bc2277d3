"""TARGET=: an address of the user's own, judged without knowing beforehand. The raw part alone runs here."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path

import pytest
from command import bench
from onewrite_conformance.driver import Driver, DriverFault
from onewrite_lab.servers.children import Children

from onewrite_bench.engines import drivers
from onewrite_bench.failures import BenchError
from onewrite_bench.run import target as own
from onewrite_bench.topology.places import Places


def target(children: Children, folder: Path, path: str = "/") -> str:
    return f"http://127.0.0.1:{Places(children, {}, folder).port('origin/plain')}{path}"


def run(out: Path, url: str, **env: str) -> subprocess.CompletedProcess[str]:
    return bench("run", "--languages", "python", "--out", str(out), TARGET=url, **env)


@pytest.mark.parametrize("address", ["example.com", "ftp://x/", "http://u:p@x/", "http://x:port/", "http://x/a b"])
def test_only_an_address_is_a_target(address: str) -> None:
    with pytest.raises(BenchError, match="is not an address like http://host:port/path"):
        own.of_target(address, {})


@pytest.mark.parametrize("env", [{"EXPECT": "ok"}, {"EXPECT": "99"}, {"CA_FILE": "/no/such/file"}])
def test_what_to_expect_is_checked(env: dict[str, str]) -> None:
    with pytest.raises(BenchError, match=r"EXPECT=|CA_FILE="):
        own.of_target("http://127.0.0.1:1/", env)


def test_an_address_where_nobody_listens_is_one_line(tmp_path: Path) -> None:
    done = run(tmp_path, "http://127.0.0.1:1/")
    assert done.returncode == 3
    assert done.stderr == "onewrite bench: TARGET=http://127.0.0.1:1/ takes no connection: Connection refused\n"


def test_a_target_that_never_answers_is_reported_soon(
    children: Children, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own, "PATIENCE_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it takes connections and answers nothing
        plan = own.of_target(f"http://127.0.0.1:{silent.getsockname()[1]}/", {})
        assert own.examine(plan, Places(children, {}, tmp_path)) == "the target fails: no answer within 0 s"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/status/301", "the target fails: it answers 301 to POST "),
        ("/closing", "not kept alive: nothing to judge"),
    ],
)
def test_a_target_that_fails_is_never_clean(path: str, text: str, children: Children, tmp_path: Path) -> None:
    done = run(tmp_path / "out", target(children, tmp_path, path))
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert text in done.stdout.replace("\n", " ")
    assert "clean" not in done.stdout


@pytest.mark.timed
def test_a_slow_service_is_judged_by_the_time_above_its_own(children: Children, tmp_path: Path) -> None:
    """The service takes 35 ms for every client: an absolute limit of 30 ms would call all of them stalled."""
    done = run(tmp_path / "out", target(children, tmp_path, "/slow?ms=35"))
    if "python: not run" in done.stdout:
        pytest.skip("the Python driver is not set up")
    raw = json.loads((tmp_path / "out" / "own-target.json").read_text())
    reference = next(cell for cell in raw["cells"] if cell["role"] == "reference")
    assert min(us for samples in reference["rounds_us"] for us in samples) >= 35_000
    assert "python: clean: " in done.stdout or "inconclusive" in done.stdout


@pytest.mark.drawn
@pytest.mark.timed
@pytest.mark.parametrize("language", ["python", "ruby", "node", "java"])
def test_an_authority_that_is_named_reaches_every_driver(language: str, children: Children, tmp_path: Path) -> None:
    """A certificate that no trust store has: with CA_FILE= it is judged, without it nobody is at fault."""
    places = Places(children, {}, tmp_path / "places")
    url = f"https://localhost:{places.port('origin/tls13')}/"
    arguments = ("run", "--languages", language, "--out")
    bare = bench(*arguments, str(tmp_path / "bare"), TARGET=url)
    assert bare.returncode == 2, bare.stdout
    assert "CA_FILE= names an authority" in bare.stdout.replace("\n", " ")
    done = bench(*arguments, str(tmp_path / "out"), TARGET=url, CA_FILE=str(places.certificate_authority))
    cells = json.loads((tmp_path / "out" / "own-target.json").read_text())["cells"]
    if any(cell["missing"] for cell in cells):
        pytest.skip(f"the {language} driver is not set up")
    assert [cell["errors"] for cell in cells] == [0] * len(cells), done.stdout


@pytest.mark.drawn
@pytest.mark.parametrize("language", ["raw", "python", "ruby", "node", "java"])
def test_every_driver_counts_a_wrong_status_as_a_failure(language: str, children: Children, tmp_path: Path) -> None:
    command = drivers.command(language)
    if command is None:
        pytest.skip(f"there is no {language} driver")
    origin = target(children, tmp_path, "")
    try:
        driver = Driver(command, "stock", {})
    except DriverFault as fault:
        pytest.skip(f"the {language} driver is not set up: {fault.detail.splitlines()[0]}")
    try:
        client = driver.open(pool_size=1)
        body = {"kind": "bytes", "size": 200}
        load = {"method": "POST", "body": body, "connections": 1, "count": 3}
        for path, errors in (("/", 0), ("/status/503", 3), ("/status/301", 3)):
            seen = driver.load(client, **load, url=origin + path)
            assert (seen["errors"], len(seen["latencies_us"])) == (errors, 3 - errors), path
            assert seen.get("error_sample") == (f"status {path[-3:]}" if errors else None)
        seen = driver.load(client, **load, url=f"{origin}/status/404", expect=404)
        assert (seen["errors"], len(seen["latencies_us"])) == (0, 3)
    finally:
        driver.bye()
