"""bench/jmh runs, and its results are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import bench

from onewrite_bench.report import jmh


def jmh_file(path: Path, cpu: list[float], p50: float = 90.0) -> Path:
    """The part of JMH's file of one fork that is read."""
    secondary = {"cpu": {"rawData": [cpu]}, "gc.alloc.rate.norm": {"rawData": [[900.2, 900.4]]}}
    primary = {"scorePercentiles": {"50.0": p50, "99.0": 10 * p50}}
    path.write_text(json.dumps([{"primaryMetric": primary, "secondaryMetrics": secondary}]))
    return path


def found(tmp_path: Path, again: float) -> jmh.Jmh:
    made = jmh.Jmh("make -C bench jmh", "2026-01-02", {"commit": "0123abcd"}, "17.0.1")
    for number in range(2):
        cpus = {"stock": 100.0, "stockAgain": 100 * again, "onTiming": 106.0 + number}
        files = {name: jmh_file(tmp_path / f"{number}{name}", [cpu, 2 * cpu]) for name, cpu in cpus.items()}
        # Turn by turn: the second took twice as long for all.
        made.add("netty", files)
    return made


def test_a_turn_is_compared_with_stocks_turn_beside_it(tmp_path: Path) -> None:
    rows = [line for line in jmh.markdown(found(tmp_path, 1.01)).splitlines() if line.startswith("| Netty, 200 B |")]
    assert rows == ["| Netty, 200 B | 150 | - | 1.06 | - | ±0.01 | 4 | 0 |"]


def test_noise_is_not_published(tmp_path: Path) -> None:
    text = jmh.markdown(found(tmp_path, 1.04))
    assert "Too noisy to publish: Netty, 200 B (4%)." in text
    assert "| Netty, 200 B |" not in text


def test_kept_results_are_read(tmp_path: Path) -> None:
    made = found(tmp_path, 1.01)
    (tmp_path / "jmh.json").write_text(made.text())
    assert jmh.read(tmp_path / "jmh.json") == made
    assert jmh.read(tmp_path / "none.json") is None
    made.write_costs(tmp_path)
    raw: dict[str, Any] = json.loads((tmp_path / "results.json").read_text())
    assert raw["rows"][1] == {"name": "stock again, 200 B", "ratio": 1.01, "min": 1.01, "max": 1.01, "n": 4}


def test_the_results_of_other_benchmarks_are_kept(tmp_path: Path) -> None:
    earlier = found(tmp_path, 1.01)
    earlier.machine["commit"] = "old"
    stall = {"stock": jmh_file(tmp_path / "stall", [100.0])}
    earlier.add("stall", stall)
    made = found(tmp_path, 1.02)
    made.keep(earlier)
    assert [(row["benchmark"], row["commit"]) for row in made.rows] == [("netty", "0123abcd")] * 3 + [("stall", "old")]
    assert "commit 0123abcd and old," in jmh.markdown(made)


def test_one_short_fork_of_jmh_runs(tmp_path: Path) -> None:
    done = bench("jmh", "netty", "--short", "--out", str(tmp_path))
    if "is not built" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    kept = jmh.read(tmp_path / "jmh.json")
    assert kept is not None
    assert [row["variant"] for row in kept.rows] == ["stock", "openTelemetry"]
    assert all(min(row["cpu_us"] + row["bytes"] + row["p50_us"]) > 0 for row in kept.rows)


def test_an_unknown_benchmark_is_refused() -> None:
    done = bench("jmh", "no-such")
    assert done.returncode == 3
    assert "no benchmark 'no-such'; there are netty, " in done.stderr
