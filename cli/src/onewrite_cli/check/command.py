"""`onewrite check`: from the options to the report."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from onewrite_lab.witness import read_loss

from onewrite_cli.check.baseline import apply_baseline, read_baseline
from onewrite_cli.check.environment import Given, mentions
from onewrite_cli.check.findings import judge
from onewrite_cli.check.from_tap import seen_at
from onewrite_cli.check.outcome import Report
from onewrite_cli.check.run import Ran, run_command
from onewrite_cli.check.seen import Seen
from onewrite_cli.check.severity import apply_severities, read_severities
from onewrite_cli.check.strace import seen_in, strace_prefix, why_no_strace
from onewrite_cli.check.target import Target
from onewrite_cli.exit_status import CouldNotRun
from onewrite_cli.progress import Progress

__all__ = ["CheckOptions", "check"]

CONTROLS = 8  # requests of each control, before the command and again after it
NO_REQUEST = "no request came"


@dataclass
class CheckOptions:
    """What the user said. `via` is auto, tap or strace."""

    command: list[str]
    requests: int = 20
    body: int = 200
    tls: bool = False
    proxy: bool = False
    via: str = "auto"
    rules: list[str] = field(default_factory=list)
    baseline: Path | None = None
    timeout_s: float = 120.0
    lose_answer: bool = False
    show: bool = False


def check(options: CheckOptions) -> Report:
    """Run the command and judge it. Raises CouldNotRun."""
    severities = read_severities(options.rules)
    known = read_baseline(options.baseline) if options.baseline else {}
    with tempfile.TemporaryDirectory(prefix="onewrite-check-") as folder:
        one = _Check(options, Path(folder))
        try:
            report = one.run()
        finally:
            one.target.close()
    report.notes += apply_baseline(report.outcomes, known)
    apply_severities(report.outcomes, severities)
    return report


class _Check:
    def __init__(self, options: CheckOptions, folder: Path) -> None:
        self._options, self._folder = options, folder
        self._traced, self._tapped = self._witnesses()
        self.target = Target(tls=options.tls, secure=mentions(options.command, "{https_url}"), proxy=options.proxy)
        self._given = Given(self.target, folder, requests=options.requests, body=options.body)
        self._starts_ns: list[int] = []
        self._logs: list[Path] = []
        self._ran: list[Ran] = []

    def _witnesses(self) -> tuple[bool, bool]:
        """(strace, tap). Without a placeholder it is unknown where the command connects, so both look."""
        options = self._options
        if options.via == "tap":
            return False, True
        if options.via == "strace":
            if (why := why_no_strace()) is not None:
                raise CouldNotRun(why)
            return True, False
        pointed = options.proxy or mentions(options.command, "{url}", "{https_url}")
        return (not pointed and why_no_strace() is None), True

    def run(self) -> Report:
        options, target = self._options, self.target
        with Progress("the controls") as progress:
            if self._tapped:
                target.control(body=options.body, times=CONTROLS)
            before = read_loss()
            while self._again():
                progress.say(f"{' '.join(options.command)[:60]}: {self._count()} of {options.requests} requests")
                self._run_once()
            if options.lose_answer and self._tapped:
                self._lose_one()
            resent = (read_loss() - before).total
            if self._tapped:
                progress.say("the controls again")
                target.control(body=options.body, times=CONTROLS)
            target.settle()
        return self._report(self._seen(resent))

    def _again(self) -> bool:
        """Whether to run the command (again): until enough requests came, and not after a run that brought none."""
        runs = len(self._ran)
        if not runs:
            return True
        count, wanted = self._count(), self._options.requests
        if self._ran[-1].status is None or count >= wanted or runs >= wanted or count * 2 < runs:
            return False
        # Not for a few: the first request of an unopened tunnel, for one, is not counted.
        return (wanted - count) * 2 >= count / runs

    def _count(self) -> int:
        came = self.target.requests
        return came if came or not self._logs else len(seen_in(self._logs).requests)

    def _run_once(self) -> None:
        arguments = self._given.arguments(self._options.command)
        if self._traced:
            self._logs.append(self._folder / f"calls-{len(self._logs)}")
            arguments = [*strace_prefix(self._logs[-1]), *arguments]

        self._starts_ns.append(time.monotonic_ns())
        options, sockets = self._options, self.target.sockets
        sockets.starting()
        try:
            ran = run_command(
                arguments, self._given.environment, timeout_s=options.timeout_s, show=options.show, started=sockets.started
            )
        finally:
            sockets.ended()
        if ran.status in (126, 127) and not self.target.requests:
            raise CouldNotRun(f"{options.command[0]} could not be run: {ran.output or 'not found'}")
        self._ran.append(ran)
        if self._tapped:
            self.target.fresh_control(body=options.body)

    def _lose_one(self) -> None:
        """Once more, and close the connection in place of the second answer."""
        origin = self.target.origins()[1 if self.target.tls else 0]
        several = self.target.requests > len(self._ran)
        origin.lose_answer(1 if several else 0)
        last = len(self._ran)
        self._run_once()
        del self._ran[last:]  # the command may well fail now

    def _seen(self, resent: int) -> Seen:
        if self._logs and (not self._tapped or not self.target.requests):
            return seen_in(self._logs)
        return seen_at(self.target, self._starts_ns, resent)

    def _report(self, seen: Seen) -> Report:
        options = self._options
        report = Report(options.command, seen.witness, len(self._starts_ns), len(seen.requests), len(seen.connections), [])
        report.outcomes = judge(seen)
        report.notes = seen.notes
        if seen.control and seen.control.split_gaps_ns:
            gaps = sorted(seen.control.split_gaps_ns)
            report.control_ms = round(gaps[len(gaps) // 2] / 1e6, 1)
        if not seen.requests:
            report.problem = NO_REQUEST + self._where()
        elif (failed := [ran for ran in self._ran if ran.status != 0]) and failed[0].status is not None:
            report.problem = f"the command ended with status {failed[0].status}"
        elif failed:
            report.problem = f"the command was ended after {options.timeout_s:g} s"
        elif len(seen.requests) < options.requests:
            report.notes.append(f"{len(seen.requests)} requests came, fewer than {options.requests}")
        if report.problem:
            output = next((ran.output for ran in self._ran if ran.status != 0 and ran.output), "")
            report.notes += [f"the command said: {line}" for line in output.splitlines()]
        return report

    def _where(self) -> str:
        if self._options.via == "strace":
            return ": strace saw no HTTP/1.1 request and no TLS connection that the command opened"
        if self._options.proxy:
            return ": the command does not follow HTTP_PROXY and HTTPS_PROXY"
        return (
            ": write {url} where the command takes its URL, or let it read ONEWRITE_CHECK_URL; "
            "--proxy and --via strace watch a command that takes none"
        )
