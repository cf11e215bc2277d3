"""Generators: the built-in one is honest about a server that pauses; the readers know every odd form of the others."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from onewrite_lab.servers.children import Children

from onewrite_bench.failures import BenchError
from onewrite_bench.generators import wrk2
from onewrite_bench.generators.built_in import BuiltIn
from onewrite_bench.generators.choice import choose
from onewrite_bench.generators.measurement import Distribution, Measurement, own_lateness_us
from onewrite_bench.generators.plan import Generator, Plan
from onewrite_bench.generators.wrk2 import Wrk2
from onewrite_bench.topology.places import Places

FIXTURES = Path(__file__).with_name("fixtures")


def fixture(name: str) -> str:
    return (FIXTURES / name).read_text()


def valid(measurement: Measurement) -> Measurement:
    assert Measurement.from_json(json.loads(json.dumps(measurement.to_json()))) == measurement
    return measurement


def there_is(found: Generator | None, name: str) -> Any:
    return pytest.param(found, id=name, marks=pytest.mark.skipif(found is None, reason=f"there is no {name} here"))


@pytest.mark.timed
@pytest.mark.parametrize(
    "generator",
    [
        there_is(BuiltIn(), "built-in"),
        there_is(Wrk2.find(), "wrk2"),
    ],
)
def test_a_generator_is_honest_about_a_pausing_server(generator: Generator, children: Children, tmp_path: Path) -> None:
    """The server answers nothing for 200 ms of every second. One tenth of the requests wait 100 ms or longer."""
    places = Places(children, {}, tmp_path)
    url = f"http://127.0.0.1:{places.port('origin/plain')}/"
    calm = valid(generator.run(Plan(url, rate=300, connections=10, seconds=2)).judge(may_collapse=False))
    if calm.void or (calm.latency.percentile_us(99) or 0) > 10_000:
        pytest.skip("this machine is too busy: it is late beside a server that never pauses, too")
    # A pause at the end delays the last request by 200 ms: less than the 2 % by which a rate may be missed.
    seen = valid(generator.run(Plan(url + "pause", rate=300, connections=10, seconds=12)).judge(may_collapse=False))
    assert seen.void is None
    assert seen.generator == generator.name
    p90, p99 = (seen.latency.percentile_us(level) or 0 for level in (90, 99))
    assert 90_000 <= p90 <= 130_000  # without correction it is below 50 ms
    assert 180_000 <= p99 <= 215_000
    if seen.service is not None:
        # Without correction for waiting, only ten requests a second were slow, and the 90th percentile is low.
        assert (seen.service.percentile_us(90) or 0) < 50_000


def test_the_built_in_generator_counts_refused_connections(tmp_path: Path) -> None:
    seen = BuiltIn().run(Plan("http://127.0.0.1:1/", rate=20, connections=2, seconds=1, warmup=0))
    seen.judge(may_collapse=False)
    assert seen.requests == 0
    assert seen.errors > 0
    assert seen.void == "no request was completed"


def test_a_built_in_generator_that_breaks_down_is_one_line() -> None:
    with pytest.raises(BenchError, match="the built-in generator failed: ValueError"):
        BuiltIn().run(Plan("http://127.0.0.1:port/", rate=1, connections=2, seconds=1))


def test_wrk2_is_told_from_wrk_by_its_rate_option() -> None:
    assert wrk2.is_wrk2(fixture("wrk2-usage.txt"))
    assert not wrk2.is_wrk2(fixture("wrk-usage.txt"))


def test_wrk2_with_u_has_two_spectra() -> None:
    seen = valid(wrk2.parse(fixture("wrk2-uncorrected.txt"), 133, 10).judge(may_collapse=False))
    assert seen.latency.percentile_us(50) == 44_127
    assert seen.service is not None
    assert seen.service.percentile_us(50) == 43_551
    assert (round(seen.seconds), seen.warmup_seconds) == (10, 10)
    assert seen.generator_version == "unreported"


def test_wrk2_errors_and_shortfall_void_a_run() -> None:
    seen = valid(wrk2.parse(fixture("wrk2-errors.txt"), 300, 10).judge(may_collapse=False))
    assert seen.errors == 71
    assert seen.error_sample == "timeout 50, status 21"
    assert seen.void == "71 requests failed (timeout 50, status 21)"


def test_wrk2_without_samples_is_void() -> None:
    seen = valid(wrk2.parse(fixture("wrk2-hung.txt"), 500, 10).judge(may_collapse=False))
    assert seen.latency.spectrum == []
    assert seen.void == "no request was completed"


def test_wrk2_that_broke_down_is_one_line() -> None:
    without = "".join(line for line in fixture("wrk2-hung.txt").splitlines(keepends=True) if wrk2.MARK not in line)
    for text, complaint in (
        (fixture("wrk2-crash.txt"), "negative latency"),
        (without, r"ended without its result; its last line was: Transfer/sec: +0\.00B"),
    ):
        with pytest.raises(BenchError, match=complaint) as caught:
            wrk2.parse(text, 500, 10)
        assert "\n" not in str(caught.value)


def test_wrk2_script_prints_what_the_reader_reads() -> None:
    script = wrk2.lua_script("POST", 200)
    assert 'wrk.method = "POST"' in script
    assert 'string.rep("x", 200)' in script
    assert wrk2.MARK in script


LUA = """
-- What wrk gives a script before it runs it, and the objects that it hands to done().
wrk = {{scheme = "http", host = "127.0.0.1", port = 80, method = "GET", path = "/", headers = {{}}, body = nil}}
dofile("{script}")
assert(wrk.method == "POST" and #wrk.body == 200 and wrk.headers["Content-Type"], "the request is not ours")
local latency = {{min = 40, max = {max}, mean = {mean}, stdev = 1}}
function latency:percentile(level) return {percentile} end
local errors = {{connect = 0, read = 0, write = 0, timeout = {timeouts}, status = 2}}
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
        return valid(wrk2.parse(done.stdout, 500, 10).judge(may_collapse=False))

    seen = printed(max=201_000, mean=20_400.5, percentile="level * 1000 + 0.25", timeouts=0, requests=7000)
    assert (seen.requests, seen.errors, seen.error_sample) == (7000, 2, "status 2")
    assert seen.latency.percentile_us(99.9) == 99_900
    assert (seen.latency.max_us, seen.latency.mean_us) == (201_000, 20_400.5)
    assert seen.achieved_rate == pytest.approx(7000 / 14.000123, abs=0.001)
    # With no answers wrk2 passes NaN for the mean, which JSON does not have.
    hung = printed(max=0, mean="0 / 0", percentile="0 / 0", timeouts=122, requests=0)
    assert (hung.requests, hung.void, hung.latency.spectrum) == (0, "no request was completed", [])


def measurement(**fields: Any) -> Measurement:
    base: dict[str, Any] = {
        "generator": "built-in",
        "generator_version": "1",
        "offered_rate": 100.0,
        "achieved_rate": 100.0,
        "connections": 1,
        "seconds": 1.0,
        "requests": 100,
        "errors": 0,
        "error_sample": None,
        "slip_p90_us": 100.0,
        "latency": Distribution.of([100] * 100),
        "service": None,
    }
    return Measurement(**{**base, **fields})


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
    assert measurement(**fields).judge(may_collapse=False).void == void


def test_a_generator_is_chosen_by_what_it_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program called wrk that shows the options of wrk2 is wrk2. One that lacks one of them is passed over."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("WRK2", raising=False)
    assert choose(None).name == "built-in"
    program = tmp_path / "wrk"

    def show(usage: Path) -> None:
        program.write_text(f'#!/bin/sh\nwhile read -r line; do echo "$line"; done < {usage}\nexit 1\n')
        program.chmod(0o755)

    show(FIXTURES / "wrk-usage.txt")
    assert choose(None).name == "built-in"
    zrk = tmp_path / "zrk-usage.txt"  # it has a rate, but no script and no uncorrected latency
    lines = (FIXTURES / "wrk2-usage.txt").read_text().splitlines(keepends=True)
    zrk.write_text("".join(line for line in lines if "--u_latency" not in line and "--script" not in line))
    show(zrk)
    assert choose(None).name == "built-in"
    show(FIXTURES / "wrk2-usage.txt")
    assert choose(None).name == "wrk2"
    program.unlink()
    with pytest.raises(BenchError, match="wrk2 is not on PATH; set WRK2="):
        choose("wrk2")
    with pytest.raises(BenchError, match="there is no generator 'ab'"):
        choose("ab")


def fake_wrk2(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> Wrk2:
    """A program that shows wrk2's usage and then does what `script` says."""
    program = folder / "wrk"
    program.write_text(f'#!/bin/sh\n[ "$1" = --help ] && exec cat {FIXTURES / "wrk2-usage.txt"}\n{script}\n')
    program.chmod(0o755)
    monkeypatch.setenv("WRK2", str(program))
    found = Wrk2.find()
    assert found is not None
    return found


def test_wrk2_gets_arguments_that_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads a number as digits and a unit: the `.3` of 133.3 is a unit that it does not know."""
    found = fake_wrk2(tmp_path, f'echo "$@" > {tmp_path}/log; cat {FIXTURES / "wrk2-uncorrected.txt"}', monkeypatch)
    plan = Plan("http://127.0.0.1:1/", rate=133, connections=10, seconds=10, warmup=10)
    seen = valid(found.run(plan).judge(may_collapse=False))
    assert (seen.void, seen.requests) == (None, 2660)
    assert seen.generator_version.startswith("wrk, sha256 ")
    given = (tmp_path / "log").read_text()
    assert given.startswith("-t 2 -c 10 -d 20s -R 133 -U -s ")
    with pytest.raises(TypeError, match="a rate is a whole number"):
        Plan(plan.url, rate=133.3, connections=10, seconds=6)  # type: ignore[arg-type]


def test_wrk2_that_refuses_its_arguments_says_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = fake_wrk2(tmp_path, 'echo "connections must be >= threads" >&2; echo Usage: wrk; exit 1', monkeypatch)
    with pytest.raises(BenchError, match=r"wrk2 failed: connections must be >= threads: -t 2 -c 0 .* -R 5 "):
        found.run(Plan("http://127.0.0.1:1/", rate=5, connections=0, seconds=1))


def test_the_lateness_of_wrk2_is_what_the_delay_since_due_adds() -> None:
    late = measurement(latency=Distribution.of([12_000] * 100), service=Distribution.of([200] * 100))
    assert own_lateness_us(late) == 11_800
    # A client that holds its connection back for longer than two requests are apart delays the next ones itself.
    assert own_lateness_us(replace(late, service=Distribution.of([20_000] * 100))) is None


def test_a_collapse_that_the_client_does_not_explain_is_the_generators() -> None:
    collapsed = measurement(offered_rate=300.0, achieved_rate=219.0, connections=10).judge(may_collapse=True)
    assert collapsed.judge_reach(45_000).void is None
    late = measurement(offered_rate=300.0, achieved_rate=80.0, connections=10).judge(may_collapse=True)
    assert late.judge_reach(45_000).void == "the generator sent 80 of 300 requests per second; the client carries 222"


def test_a_distribution_of_samples_follows_their_ranks() -> None:
    distribution = Distribution.of(list(range(1, 1001)))
    assert [distribution.percentile_us(level) for level in (50, 99, 100)] == [500, 990, 1000]
    assert distribution.spectrum[-1] == [1000, 1.0, 1000]
    assert Distribution.of([]).percentile_us(50) is None
