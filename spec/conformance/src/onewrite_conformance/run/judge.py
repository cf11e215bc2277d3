"""Runs cases against drivers and makes results of the observations."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from onewrite_conformance.checks.outcome import judge
from onewrite_conformance.checks.verdict import Verdict
from onewrite_conformance.contract.cases import Case, Run, within
from onewrite_conformance.contract.requirements import Requirement
from onewrite_conformance.driver import Driver, DriverFault, DriverSkipped, unknown_capabilities
from onewrite_conformance.run.adapters import Adapter
from onewrite_conformance.run.play import play
from onewrite_conformance.run.result import Result, Status
from onewrite_conformance.run.same import PLAYS, compare
from onewrite_conformance.run.settle import MOST, UNSETTLED, settle
from onewrite_conformance.run.syscalls import SYSCALL_CASE, syscall_result

__all__ = ["Judge"]

TRIES_OF_KNOWN = 3


class Judge:
    """Judges one adapter."""

    def __init__(
        self,
        adapter: Adapter,
        cases: list[Case],
        requirements: dict[str, Requirement],
        *,
        clients: list[str] | None = None,
        only: list[str] | None = None,
        stock: bool = True,
        drawn: bool = False,
        plays: int = PLAYS,
        trace: Callable[[str], None] | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        """`drawn`: not all runs are judged. `plays`: how often a script of SAME is played, at least."""
        self.adapter, self.requirements = adapter, requirements
        self.cases = sorted(cases, key=lambda case: sorted(case.env.items()))
        self.clients = clients
        self.only = only
        self.stock = stock
        self.timeout_s = timeout_s
        self.drawn, self.plays = drawn, plays
        self.bases: dict[str, str] = {}  # base library and runtime, by client kind
        self.can: dict[str, frozenset[str] | str] = {}  # capabilities by client, or why the driver lacks it
        self.warnings: list[str] = []  # of what drivers claim
        self._trace = trace
        self._drivers: dict[tuple[str, str], Driver | DriverFault] = {}
        self.by_path = {run.path: run for run in self._runs()}

    # -- which runs ---------------------------------------------------------------------------------------

    def _runs(self) -> Iterator[Run]:
        for case in self.cases:
            for client in self._clients_of(case):
                for run in case.at(self.adapter.limit_of(client)).runs(client):
                    if not self.only or any(within(run.path, pattern) for pattern in self.only):
                        yield run

    def _clients_of(self, case: Case) -> list[str]:
        chosen = [*(["stock"] if self.stock else []), "onewrite", "patched"]
        chosen += self.adapter.seconds_of(case, chosen)
        return [client for client in chosen if self.clients is None or client in self.clients]

    def meet(self, client: str) -> None:
        """Learn what a client can do, so that no driver is started in vain."""
        try:
            driver = self.driver(client, {})
            self.can[client] = driver.capabilities
            unknown = unknown_capabilities(driver.hello)
            self.warnings += [f"{self.adapter.name} {client}: unknown capability {name}" for name in unknown]
        except DriverSkipped as skipped:
            self.can[client] = str(skipped)
        except DriverFault:
            pass  # it shows again where a run is judged

    def capabilities(self, client: str) -> frozenset[str]:
        """What a client can do; nothing if its driver lacks it."""
        if client not in self.can:
            self.meet(client)
        can = self.can.get(client)
        return can if isinstance(can, frozenset) else frozenset()

    @property
    def own(self) -> list[str]:
        """The client kinds with the adapter in them that its driver has."""
        return [client for client in self.adapter.own if isinstance(self.can.get(client), frozenset)]

    @staticmethod
    def asks_stock(case: Case) -> bool:
        """Whether a stock client is judged by it: not where stock is compared, or an adapter has options."""
        return not (case.same or case.env or case.open.get("adapter"))

    def why_not(self, run: Run) -> str:
        """Why a run does not apply; empty if it does."""
        if run.client == "stock" and not self.asks_stock(run.case):
            return "nothing to ask of a stock client"
        if run.client not in self.can:
            self.meet(run.client)
        can = self.can.get(run.client, frozenset(run.capabilities()))
        if isinstance(can, str):
            return can
        missing = [need for need in run.capabilities() if need not in can]
        return f"no capability {', '.join(missing)}" if missing else ""

    # -- running ------------------------------------------------------------------------------------------

    def results(self, chosen: Iterable[list[Run]] | None = None) -> Iterator[Result]:
        """Judge every run, or of each of these lists the first that the driver does not skip.

        Drivers with an environment of their own are ended with the runs that need them; `close` ends the others.
        """
        env: dict[str, str] = {}
        for runs in ([run] for run in self.by_path.values()) if chosen is None else chosen:
            if runs[0].case.env != env:
                env = runs[0].case.env
                self._end_drivers(plain=False)
            results = (self._one(run) for run in runs)
            yield next(one for one in results if one.status != Status.NOT_APPLICABLE or one.path == runs[-1].path)
        self._end_drivers(plain=False)

    def close(self) -> None:
        """End all drivers."""
        self._end_drivers(plain=True)

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def finish(self, results: list[Result], say: Callable[[str], None] = lambda line: None) -> None:
        """Settle what failed, apply the known failures, and add the faults of their file.

        Call it when nothing else is being judged on this machine; `say` gets a line for each run that is judged again.
        """
        try:
            self._settle_all(results, say)
            for result in results:
                self._apply_known(result)
            if not self.drawn:
                self._confirm_stale()
        finally:
            self.close()
        results += self.stale()

    def _settle_all(self, results: list[Result], say: Callable[[str], None]) -> None:
        known = self.adapter.known
        open_ = [
            result
            for result in results
            if result.status in UNSETTLED and result.judged and known.find(result.path) is None
        ]
        if not self.adapter.settle or self._trace is not None or len(open_) > MOST:
            return
        for number, result in enumerate(open_, 1):
            say(f"{self.adapter.name}: {number}/{len(open_)} judged again, alone: {result.path}")
            self.close()  # a fresh process
            if result.path in self.by_path:
                run = self.by_path[result.path]
                settle(result, lambda run=run: self._one(run))  # type: ignore[misc]
            elif result.case == SYSCALL_CASE:
                settle(result, lambda kind=result.client: syscall_result(self.adapter, kind))  # type: ignore[misc]

    def _confirm_stale(self) -> None:
        """A known failure that passed is tried again before its line is called out of date."""
        for line in self.adapter.known.passing():
            for path in line.passed:
                tries = (self._one(self.by_path[path]) for _ in range(TRIES_OF_KNOWN) if path in self.by_path)
                if any(one.status in UNSETTLED for one in tries):
                    line.failed.append(path)
                    break

    def stale(self) -> list[Result]:
        """Faults of the known-failures file, as failing results. Without all runs nothing can be said of its lines."""
        whole = not self.only and not self.clients and not self.drawn
        faults = self.adapter.known.faults + (self.adapter.known.stale(set(self.by_path)) if whole else [])
        return [
            Result(self.adapter.name, "known-failures", "known-failures", "", "", "", "", "MUST", Status.STALE, [fault])
            for fault in faults
        ]

    def _one(self, run: Run) -> Result:
        """Judge once."""
        if self._trace is not None:
            self._trace(f"== {self.adapter.name} {run.path}")
        started = time.monotonic()
        result = Result(
            self.adapter.name,
            run.path,
            run.case.id,
            run.client,
            run.scheme,
            run.route,
            run.case.of,
            self.requirements[run.case.of].level if run.case.of in self.requirements else "MUST",
            Status.OK,
            title=run.case.title,
            # A plain command usually has a stock client alone.
            by_stock=self.adapter.guest and (self.adapter.name == "driver" or "stock" in (self.clients or ())),
        )
        try:
            self._judge(run, result)
        except DriverSkipped as skipped:
            result.status, result.notes = Status.NOT_APPLICABLE, [str(skipped)]
        except DriverFault as fault:
            result.status, result.problems = Status.FAULT, [str(fault)]
        except Exception:
            result.status, result.problems = Status.FAULT, [f"the judge itself failed: {traceback.format_exc()}"]
        result.base = self.bases.get(run.client, "")
        result.seconds = round(time.monotonic() - started, 4)
        return result

    def _judge(self, run: Run, result: Result) -> None:
        if reason := self.why_not(run):
            raise DriverSkipped(reason)
        driver = self.driver(run.client, run.case.env)
        verdict = Verdict()
        if run.case.expect or run.case.example or not run.case.same:
            verdict = judge(play(run, driver, self._trace))
        if run.case.same:
            own_text = run.client in self.adapter.own_messages or "outcome" not in run.case.same
            facets = [*run.case.same, *([] if own_text else ["message"])]
            ours, stock = partial(self.driver, run.client, run.case.env), partial(self.driver, "stock", {})
            found = compare(run, ours, stock, facets, self.plays, self._trace)
            verdict.problems += found.problems
            result.wavered = found.wavered
        if verdict.problems:
            result.status = Status.DEVIATES if result.level == "MUST" else Status.WARNS
        elif verdict.doubts:
            result.status = Status.CANNOT_TELL
        result.problems, result.notes = verdict.problems, verdict.doubts + verdict.notes

    def _apply_known(self, result: Result) -> None:
        if not result.judged:
            return
        line = self.adapter.known.find(result.path)
        if line is None:
            return
        if result.status in (Status.DEVIATES, Status.WARNS, Status.FAULT):
            line.failed.append(result.path)
            result.status = Status.KNOWN
            result.notes.append(f"known: {line.reason}")
        elif result.status == Status.OK:
            line.passed.append(result.path)

    # -- driver processes ---------------------------------------------------------------------------------

    def driver(self, client: str, env: dict[str, str]) -> Driver:
        key = (client, " ".join(f"{name}={value}" for name, value in sorted(env.items())))
        held = self._drivers.get(key)
        if isinstance(held, DriverFault):
            raise held  # it did not start the first time, and would not now
        if held is None or not held.alive:
            try:
                kind, its_env = self.adapter.driver_of(client)
                held = Driver(self.adapter.command, kind, env=its_env | env, timeout_s=self.timeout_s)
            except DriverFault as fault:
                self._drivers[key] = fault
                raise
            self._drivers[key] = held
            base = held.hello.get("base", {})
            self.bases[client] = f"{base.get('name')} {base.get('version')}, {held.hello.get('runtime')}"
        return held

    def _end_drivers(self, plain: bool) -> None:
        """End the drivers with an environment of their own, and with `plain` the others."""
        for key, held in list(self._drivers.items()):
            if key[1] or plain:
                if isinstance(held, Driver):
                    held.bye()
                del self._drivers[key]
