"""Runs steps side by side in lanes, says what each does and how long it took, and keeps what it printed in a file.

Standard library alone, because `make setup` and `make demo` run in it before anything is installed. nox (2026.10) runs
sessions in parallel and keeps one that does not allow it apart; just (1.59) runs recipes in parallel. Both lack a time
limit per step, its processor seconds, a file with its output, and the reading of JUnit files. With either, the plans,
the summary and the judging again would stay, and a package to fetch first would come.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Lines of a failed step's output that are shown at once; the file has all.
SHOWN = 200
#: Seconds between SIGTERM and SIGKILL for a step that hangs.
GRACE = 30


@dataclass(frozen=True)
class Step:
    """One command of a plan.

    `alone`: nothing else runs beside it, because it compares times.
    `idle`: it takes the processor time that no other step wants, and may run beside one that counts segments.
    `after`: names of steps of the same plan that must have ended first; they need not have succeeded.
    """

    name: str
    says: str
    command: Sequence[str]
    alone: bool = False
    idle: bool = False
    after: tuple[str, ...] = ()
    timeout_s: int = 2400


@dataclass
class Outcome:
    """How a step ended: its exit status, seconds, and processor seconds."""

    step: Step
    status: int
    seconds: float
    cpu_seconds: float


@dataclass
class Lanes:
    """Runs `steps` with at most `width` at a time.

    `logs` is the folder for the output of each step.
    """

    steps: Sequence[Step]
    logs: Path
    width: int = 2
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    _running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _stopped: bool = False

    def run(self) -> list[Outcome]:
        """Run all steps. Return an outcome per step, in the plan's order."""
        self.logs.mkdir(parents=True, exist_ok=True)
        waiting = list(self.steps)
        changed = threading.Condition()

        def work(step: Step) -> None:
            outcome = self._outcome(step)
            with changed:
                self.outcomes[step.name] = outcome
                self._running.pop(step.name, None)
                changed.notify()

        try:
            while waiting or self._running:
                with changed:
                    alone = any(step.alone for step in self.steps if step.name in self._running)
                    ready = [step for step in waiting if self._ready(step)]
                    room = len(self._running) < self.width and not alone
                    step = next((one for one in ready if not (one.alone and self._running)), None) if room else None
                    if step is None:
                        changed.wait(1)
                        continue
                    waiting.remove(step)
                    self._say(step, "…")
                    self._running[step.name] = self._start(step)
                threading.Thread(target=work, args=(step,), daemon=True).start()
        except KeyboardInterrupt:
            self._stop()
            raise SystemExit(130) from None
        return [self.outcomes[step.name] for step in self.steps]

    def _ready(self, step: Step) -> bool:
        names = {one.name for one in self.steps}
        return all(name in self.outcomes for name in step.after if name in names)

    def _log(self, step: Step) -> Path:
        return self.logs / f"{step.name}.log"

    def _start(self, step: Step) -> subprocess.Popen[bytes]:
        command = ("nice", "-n", "19", *step.command) if step.idle else step.command
        with self._log(step).open("wb") as log:
            process = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        if step.idle:
            # Where Linux groups processes by session (sched(7), autogroup), nice counts within the session alone.
            with contextlib.suppress(OSError):
                Path(f"/proc/{process.pid}/autogroup").write_text("19")
        return process

    def _outcome(self, step: Step) -> Outcome:
        started = time.monotonic()
        process = self._running[step.name]
        cpu_seconds = _wait(process, step.timeout_s)
        if process.returncode is None:
            status = 124
            _end(process)
        else:
            status = process.returncode
        seconds = time.monotonic() - started
        if not self._stopped:
            self._say(step, f"… {seconds:.0f} s" + (f", failed with exit status {status}" if status else ""))
            if status:
                self._show(step)
        return Outcome(step, status, seconds, cpu_seconds)

    def _say(self, step: Step, words: str) -> None:
        number = [one.name for one in self.steps].index(step.name) + 1
        print(f"[{number}/{len(self.steps)}] {step.says} {words}", flush=True)

    def _show(self, step: Step) -> None:
        lines = self._log(step).read_text(errors="replace").splitlines()
        print(f"--- {shlex.join(step.command)}")
        if len(lines) > SHOWN:
            print(f"--- {len(lines) - SHOWN} lines before these are in {self._log(step)}")
        print("\n".join(lines[-SHOWN:]), "---", sep="\n", flush=True)

    def _stop(self) -> None:
        self._stopped = True
        for process in list(self._running.values()):
            _end(process)
        print("interrupted: the steps that ran were ended", file=sys.stderr)


def _wait(process: subprocess.Popen[bytes], timeout_s: float) -> float:
    """Wait at most `timeout_s`, and set `returncode` unless that ran out. Return the processor seconds of the process
    and of its descendants that were waited for, which `Popen.wait` does not tell."""
    limit = time.monotonic() + timeout_s
    while time.monotonic() < limit:
        try:
            pid, status, used = os.wait4(process.pid, os.WNOHANG)
        except ChildProcessError:  # ended by `_stop` meanwhile
            process.wait()
            return 0.0
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return used.ru_utime + used.ru_stime
        time.sleep(0.05)
    return 0.0


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a step and the processes that it started, which are in a session of their own."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(GRACE)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
