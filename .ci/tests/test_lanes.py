"""How a step is run."""

from __future__ import annotations

from pathlib import Path

import pytest

CI = Path(__file__).resolve().parents[1]


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this kernel does not group by session")
def test_an_idle_step_gives_way_to_those_in_other_sessions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(CI))
    from lanes import Lanes, Step

    until = "until grep -q 'nice 19' /proc/self/autogroup; do sleep 0.05; done"
    steps = [Step("idle", "idle", ("sh", "-c", until), idle=True, timeout_s=10)]
    assert [outcome.status for outcome in Lanes(steps, tmp_path).run()] == [0]
