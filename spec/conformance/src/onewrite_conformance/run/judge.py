"""Runs cases against drivers and makes results of the observations."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from onewrite_conformance.checks.outcome import judge
from onewrite_conformance.checks.verdict import Verdict
from onewrite_conformance.contract.cases import Case, Run, within
from onewrite_conformance.driver import Driver, DriverFault, DriverSkipped, unknown_capabilities
from onewrite_conformance.run.adapters import Adapter
from onewrite_conformance.run.play import play
from onewrite_conformance.run.result import Result, Status
from onewrite_conformance.run.same import compare

__all__ = ["Judge"]

MOST_AGAIN = 20  # more failures than this are not judged again: they are no bad luck
UNSETTLED = frozenset({Status.DEVIATES, Status.FAULT})


class Judge:
    """Judges one adapter."""

    def __init__(
        self,
        adapter: Adapter,
        cases: list[Case],
        *,
        clients: list[str] | None = None,
        only: list[str] | None = None,
        stock: bool = True,
        whole: bool = True,
        trace: Callable[[str], None] | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        """`whole`: all runs are judged, so that a known failure which does not show is stale."""
        self.adapter = adapter
        self.cases = sorted(cases, key=lambda case: sorted(case.env.items()))
        self.clients = clients
        self.only = only
        self.stock = stock
        self.timeout_s = timeout_s
        self.whole = whole and not only and not clients
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

    def learn_capabilities(self, client: str) -> None:
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
            self.learn_capabilities(client)
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
            self.learn_capabilities(run.client)
        can = self.can.get(run.client, frozenset(run.capabilities()))
        if isinstance(can, str):
            return can
        missing = [need for need in run.capabilities() if need not in can]
        return f"no capability {', '.join(missing)}" if missing else ""

    # -- running ------------------------------------------------------------------------------------------

    def results(self, paths: Iterable[str] | None = None) -> Iterator[Result]:
        """Judge every run, or those with these paths.

        Drivers with an environment of their own are ended with the runs that need them; `close` ends the others.
        """
        env: dict[str, str] = {}
        for path in self.by_path if paths is None else paths:
            run = self.by_path[path]
            if run.case.env != env:
                env = run.case.env
                self._end_drivers(plain=False)
            yield self._one(run)
        self._end_drivers(plain=False)

    def close(self) -> None:
        """End all drivers."""
        self._end_drivers(plain=True)

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def finish(self, results: list[Result], say: Callable[[str], None] = lambda line: None) -> None:
        """Judge what failed once more, apply the known failures, and add the faults of their file.

        Call it when nothing else is being judged on this machine; `say` gets a line for each run that is judged again.
        """
        try:
            self._judge_again(results, say)
            for result in results:
                self._apply_known(result)
        finally:
            self.close()
        results += self.stale()

    def _judge_again(self, results: list[Result], say: Callable[[str], None]) -> None:
        """What fails again fails; what does not is unsteady. Of a known failure, what passes must pass again."""
        open_ = [one for one in results if one.judged and one.path in self.by_path and self._is_open(one)]
        if not self.adapter.again or self._trace is not None or len(open_) > MOST_AGAIN:
            return
        for number, result in enumerate(open_, 1):
            say(f"{self.adapter.name}: {number}/{len(open_)} judged again, alone: {result.path}")
            self.close()  # a fresh process
            again = self._one(self.by_path[result.path])
            if result.status == Status.OK:
                result.status, result.problems = again.status, again.problems
            elif again.status not in UNSETTLED:
                result.unsteady = (result.problems or [result.status])[0]
                result.status, result.problems, result.notes = again.status, [], again.notes

    def _is_open(self, result: Result) -> bool:
        known = self.adapter.known.find(result.path) is not None
        return result.status == Status.OK if known else result.status in UNSETTLED

    def stale(self) -> list[Result]:
        """Faults of the known-failures file, as failing results. Without all runs nothing can be said of its lines."""
        faults = self.adapter.known.faults + (self.adapter.known.stale(set(self.by_path)) if self.whole else [])
        return [
            Result(self.adapter.name, "known-failures", "known-failures", "", "", "", "", Status.STALE, [fault])
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
        if self._trace is not None:
            self._trace(f"-> {result.status}: {'; '.join(result.problems + result.notes)}")
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
            verdict.problems += compare(run, ours, stock, facets, self._trace)
        if verdict.problems:
            result.status = Status.DEVIATES
        elif verdict.doubts:
            result.status = Status.CANNOT_TELL
        result.problems, result.notes = verdict.problems, verdict.doubts + verdict.notes

    def _apply_known(self, result: Result) -> None:
        if not result.judged:
            return
        line = self.adapter.known.find(result.path)
        if line is None:
            return
        if result.status in UNSETTLED:
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
