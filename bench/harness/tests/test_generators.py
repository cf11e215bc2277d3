"""Generators: the built-in one is honest about a server that pauses; wrk2 is found, driven and read."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from onewrite_lab.servers.children import Children

from onewrite_bench.failures import BenchError
from onewrite_bench.generators import wrk2
from onewrite_bench.generators.built_in import BuiltIn
from onewrite_bench.generators.measurement import Generator, Measurement, Plan
from onewrite_bench.generators.wrk2 import Wrk2, choose
from onewrite_bench.topology.places import Places

USAGE = Path(__file__).with_name("fixtures") / "wrk2-usage.txt"


def there_is(found: Generator | None, name: str) -> Any:
    return pytest.param(found, id=name, marks=pytest.mark.skipif(found is None, reason=f"there is no {name} here"))


@pytest.mark.timed
@pytest.mark.parametrize("generator", [there_is(BuiltIn(), "built-in"), there_is(Wrk2.find(), "wrk2")])
def test_a_generator_is_honest_about_a_pausing_server(generator: Generator, children: Children, tmp_path: Path) -> None:
    """The server answers nothing for 200 ms of every second. One tenth of the requests wait 100 ms or longer."""
    url = f"http://127.0.0.1:{Places(children, {}, tmp_path).port('origin/plain')}/"
    calm = generator.run(Plan(url, rate=300, connections=10, seconds=2)).judge(may_collapse=False)
    if calm.void or calm.p99_us > 10_000:
        pytest.skip("this machine is too busy: it is late beside a server that never pauses, too")
    # A pause at the end delays the last request by 200 ms: less than the 2 % by which a rate may be missed.
    seen = generator.run(Plan(url + "pause", rate=300, connections=10, seconds=12)).judge(may_collapse=False)
    assert (seen.void, seen.generator) == (None, generator.name)
    assert 90_000 <= seen.p90_us <= 130_000  # without correction it is below 50 ms
    assert 175_000 <= seen.p99_us <= 240_000


def test_the_built_in_generator_counts_refused_connections() -> None:
    seen = BuiltIn().run(Plan("http://127.0.0.1:1/", rate=20, connections=2, seconds=1, warmup=0))
    assert seen.errors > 0
    assert seen.judge(may_collapse=False).void == "no request was completed"


def test_a_built_in_generator_that_breaks_down_is_one_line() -> None:
    with pytest.raises(BenchError, match="the built-in generator failed: ValueError"):
        BuiltIn().run(Plan("http://127.0.0.1:port/", rate=1, connections=2, seconds=1))


@pytest.mark.parametrize("text", ["We are about to crash and die", "Transfer/sec: 0.00B\n"])
def test_wrk2_that_broke_down_is_one_line(text: str) -> None:
    with pytest.raises(BenchError, match=r"negative latency|its last line was: Transfer/sec") as caught:
        wrk2.parse(text, 500, 10)
    assert "\n" not in str(caught.value)


LUA = """
-- What wrk gives a script before it runs it, and the objects that it hands to done().
wrk = {{scheme = "http", host = "127.0.0.1", port = 80, method = "GET", path = "/", headers = {{}}, body = nil}}
dofile("{script}")
assert(wrk.method == "POST" and #wrk.body == 200 and wrk.headers["Content-Type"], "the request is not ours")
local latency = {{min = 40, max = 1, mean = 1, stdev = 1}}
function latency:percentile(level) return {percentile} end
local errors = {{connect = 0, read = 0, write = 0, timeout = {timeouts}, status = 0}}
done({{duration = 14000123, requests = {requests}, bytes = 279921, errors = errors}}, latency, latency)
"""


@pytest.mark.parametrize("program", ["luajit", "lua5.1", "lua5.4"])
def test_wrk2_script_runs_in_a_real_lua(program: str, tmp_path: Path) -> None:
    """Against stubs of the documented scripting interface: no package registry has wrk2 itself."""
    lua = shutil.which(program)
    if lua is None:
        pytest.skip(f"there is no {program} here")
    script = tmp_path / "post.lua"
    script.write_text(wrk2.lua_script("POST", 200))

    def printed(**values: object) -> Measurement:
        frame = tmp_path / "frame.lua"
        frame.write_text(LUA.format(script=script, **values))
        done = subprocess.run([lua, str(frame)], capture_output=True, text=True, timeout=30, check=True)
        return wrk2.parse(done.stdout, 500, 10).judge(may_collapse=False)

    seen = printed(percentile="level * 1000 + 0.25", timeouts=0, requests=7000)
    assert (seen.requests, seen.void, seen.p50_us, seen.p99_us) == (7000, None, 50_000, 99_000)
    assert seen.achieved_rate == pytest.approx(7000 / 14.000123, abs=0.001)
    failed = printed(percentile="level", timeouts=50, requests=7000)
    assert failed.void == "50 requests failed (timeout 50)"
    # With no answers wrk2 passes NaN, which JSON does not have.
    hung = printed(percentile="0 / 0", timeouts=0, requests=3)
    assert (hung.requests, hung.void) == (0, "no request was completed")


@pytest.mark.parametrize(
    ("fields", "void"),
    [
        ({}, None),
        ({"slip_p90_us": 5001.0}, "the generator itself ran 5.0 ms late at its 90th percentile"),
        ({"achieved_rate": 97.9}, "97.9 of 100 requests per second were reached"),
        ({"achieved_rate": 98.1}, None),
        ({"requests": 0}, "no request was completed"),
        ({"errors": 1, "error_sample": "reset"}, "1 requests failed (reset)"),
    ],
)
def test_a_doubtful_measurement_is_void(fields: dict[str, Any], void: str | None) -> None:
    seen = Measurement("built-in", "1", 100.0, 100.0, 1, 1.0, 100, 0, None, 100.0, 100, 100, 100)
    for name, value in fields.items():
        setattr(seen, name, value)
    assert seen.judge(may_collapse=False).void == void


def test_a_generator_is_chosen_by_what_it_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program called wrk that shows the options of wrk2 is wrk2. One that lacks one of them is passed over."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("WRK2", raising=False)
    assert choose(None).name == "built-in"
    program, usage = tmp_path / "wrk", tmp_path / "usage.txt"
    program.write_text(f'#!/bin/sh\nwhile read -r line; do echo "$line"; done < {usage}\nexit 1\n')
    program.chmod(0o755)
    lines = USAGE.read_text().splitlines(keepends=True)
    for option, name in (("--rate", "built-in"), ("--script", "built-in"), ("no such option", "wrk2")):
        usage.write_text("".join(line for line in lines if option not in line))
        assert choose(None).name == name
    program.unlink()
    with pytest.raises(BenchError, match="wrk2 is not on PATH; set WRK2="):
        choose("wrk2")
    with pytest.raises(BenchError, match="there is no generator 'ab'"):
        choose("ab")


def test_wrk2_gets_arguments_that_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = (
        '{"requests": 2660, "duration_us": 20000000, "connect": 0, "read": 0, "write": 0, "timeout": 0, "status": 0, '
    )
    (tmp_path / "out").write_text(f'{wrk2.MARK}{line}"p50_us": 44127, "p90_us": 44500, "p99_us": 45000}}\n')
    program = tmp_path / "wrk"
    program.write_text(
        f'#!/bin/sh\n[ "$1" = --help ] && exec cat {USAGE}\n'
        '[ "$4" = 0 ] && { echo "connections must be >= threads" >&2; exit 1; }\n'
        f'echo "$@" > {tmp_path}/log; cat {tmp_path}/out\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("WRK2", str(program))
    found = choose("wrk2")
    seen = found.run(Plan("http://127.0.0.1:1/", rate=133, connections=10, seconds=10, warmup=10)).judge(False)
    assert (seen.void, seen.requests, seen.p50_us, seen.seconds) == (None, 2660, 44127, 10)
    assert seen.generator_version.startswith("wrk, sha256 ")
    assert (tmp_path / "log").read_text().startswith("-t 2 -c 10 -d 20s -R 133 -s ")
    with pytest.raises(BenchError, match=r"wrk2 failed: connections must be >= threads: -t 2 -c 0 .* -R 5 "):
        found.run(Plan("http://127.0.0.1:1/", rate=5, connections=0, seconds=1))
