"""`onewrite check` of a program: runs it against the counting server, and judges its requests."""

from __future__ import annotations

from pathlib import Path

from onewrite_lab.witness import read_loss

from onewrite_cli.check.command import CheckOptions
from onewrite_cli.check.environment import RunSettings
from onewrite_cli.check.findings import judge
from onewrite_cli.check.seen import Seen, seen_at
from onewrite_cli.check.target import Target
from onewrite_cli.common.controls import request_controls
from onewrite_cli.common.exit_status import CouldNotRun
from onewrite_cli.common.outcome import Report
from onewrite_cli.common.run import Ran, run_command
from onewrite_cli.common.terminal import counted, fitted, progress

__all__ = ["check_client", "report_of"]


def check_client(options: CheckOptions, folder: Path) -> Report:
    """Run the command and judge it. Raises CouldNotRun."""
    secure = any("{https_url}" in part for part in options.command)
    target = Target(folder, tls=options.tls, secure=secure, proxy=options.proxy)
    try:
        return _Check(options, target, folder).run()
    finally:
        target.close()


def report_of(command: list[str], seen: Seen, runs: int) -> Report:
    """Without the reason why it may be inconclusive as a whole."""
    counts = runs, len(seen.requests), len(seen.connections)
    report = Report("onewrite check", command, seen.witness, *counts, judge(seen), seen.notes)
    report.control_ms = seen.controls.split_ms
    return report


class _Check:
    def __init__(self, options: CheckOptions, target: Target, folder: Path) -> None:
        self._options, self._target = options, target
        self._wanted = options.until or options.requests
        self._settings = RunSettings(target, folder, requests=self._wanted, body=options.body)
        self._ran: list[Ran] = []

    def run(self) -> Report:
        options, target = self._options, self._target
        with progress("the controls") as show:
            controls, before = request_controls(), read_loss()
            while self._again():
                show(f"{fitted(' '.join(options.command), 60)}: {target.requests} of {self._wanted} requests")
                self._run_once()
            resent = (read_loss() - before).total
            show("the controls again")
            controls += request_controls()
            target.settle()
        return self._report(seen_at(target, controls, resent))

    def _again(self) -> bool:
        """True if the command runs again: it ended well and too few requests have come, of which the last run brought some."""
        runs = len(self._ran)
        if not runs:
            return True
        count, wanted = self._target.requests, self._wanted
        if self._options.until or self._ran[-1].status != 0 or max(count, runs) >= wanted or count * 2 < runs:
            return False
        return (wanted - count) * 2 >= count / runs  # a run is not repeated for a few

    def _enough(self) -> bool:
        if self._target.requests < self._wanted:
            return False
        self._target.settle()  # the last request gets its answer
        return True

    def _run_once(self) -> None:
        options, sockets = self._options, self._target.sockets
        sockets.starting()
        try:
            ran = run_command(
                self._settings.arguments(options.command),
                self._settings.environment,
                timeout_s=options.timeout_s,
                show=options.show,
                started=sockets.started,
                enough=self._enough if options.until else None,
            )
        finally:
            sockets.started(None)
        if ran.status in (126, 127) and not self._target.requests:
            raise CouldNotRun(f"the command could not be run (status {ran.status}): {ran.output or 'it printed nothing'}")
        self._ran.append(ran)

    def _report(self, seen: Seen) -> Report:
        report = report_of(self._options.command, seen, len(self._ran))
        report.through = " through a proxy" if self._options.proxy else ""
        report.problem = self._problem(seen)
        if report.problem:
            output = next((ran.output for ran in self._ran if ran.status != 0 and ran.output), "")
            report.notes += [f"the command printed: {line}" for line in output.splitlines()]
        elif len(seen.requests) < self._wanted and not seen.tunnels:
            report.notes.append(f"{counted(len(seen.requests), 'request')} came, fewer than {self._wanted}")
        return report

    def _problem(self, seen: Seen) -> str | None:
        """The reason if the whole check is inconclusive, else None."""
        failed = next((ran for ran in self._ran if ran.status != 0), None)
        if seen.http2 and not seen.requests:
            return "the command speaks HTTP/2 from the first byte, which is not judged: let it speak HTTP/1.1"
        if seen.unreachable:
            return f"the proxy could not reach {seen.unreachable[0]}"
        if not seen.requests and not seen.tunnels:
            return f"no request came: {self._why_none(failed)}"
        if failed is None:
            return None
        if failed.status is not None:
            return f"the command ended with status {failed.status}"
        return f"the command was ended after {self._options.timeout_s:g} s; for one that does not end, say --until"

    def _why_none(self, failed: Ran | None) -> str:
        arrivals = [arrival for origin in self._target.origins for arrival in origin.arrivals]
        refused = [arrival.failure for arrival in arrivals if arrival.failure and arrival.failure.startswith("TLS")]
        if refused:
            return f"the command does not trust the tool's certificate ({refused[0]}): let it read ONEWRITE_CHECK_CA_FILE"
        if failed is not None and failed.status is not None:
            return f"the command ended with status {failed.status}"
        if arrivals:
            return "the command connected, and sent no whole request"
        if self._options.proxy:
            return "no connection came to the proxy: does the command follow HTTP_PROXY and HTTPS_PROXY?"
        return (
            "write {url} where the command takes its URL, or let it read ONEWRITE_CHECK_URL; "
            "for one that takes none, --proxy is its HTTP(S)_PROXY, and `onewrite watch` reads its sockets"
        )
