"""Runs cases against drivers and makes results of the observations."""

from __future__ import annotations

import random
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from onewrite_conformance.checks.outcome import judge
from onewrite_conformance.checks.verdict import Verdict
from onewrite_conformance.contract.cases import Case, Run, within
from onewrite_conformance.contract.requirements import Requirement
from onewrite_conformance.driver import Driver, DriverFault, DriverSkipped
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
        draw: int | None = None,
        sample: int | None = None,
        each_client: bool = False,
        trace: Callable[[str], None] | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        """`draw`: of each case one run, drawn by this seed; with `sample` of so many cases alone, with
        `each_client` of each case one run by each client."""
        self.adapter, self.requirements = adapter, requirements
        self.cases = sorted(cases, key=lambda case: sorted(case.env.items()))
        self.clients = clients
        self.only = only
        self.stock = stock
        self.timeout_s = timeout_s
        self.bases: dict[str, str] = {}  # base library and runtime, by client kind
        self._trace = trace
        self._drivers: dict[tuple[str, str], Driver | str | DriverFault] = {}
        self.by_path = {run.path: run for run in self.runs()}
        self.draw, self.sample, self.each_client = draw, sample, each_client

    # -- which runs ---------------------------------------------------------------------------------------

    def runs(self) -> Iterator[Run]:
        """All runs, stock's first within each case, for others are compared with them."""
        for case in self.cases:
            for client in self._clients_of(case):
                for run in case.runs(client):
                    if self._wanted(run):
                        yield run

    def _clients_of(self, case: Case) -> list[str]:
        stock = ["stock"] if self.stock and (case.matrix or "stock" in case.clients) else []
        chosen = stock + [client for client in case.clients if client != "stock"]
        chosen += self.adapter.seconds_of(case, chosen)
        return [client for client in chosen if self.clients is None or client in self.clients]

    def _wanted(self, run: Run) -> bool:
        if not self.only:
            return True
        return any(within(run.path, pattern) for pattern in self.only)

    def drawn(self) -> dict[str, list[Run]]:
        """The runs of each case in a random order, the least used combination of client, scheme and route first.

        The cases of one environment have the same client, for each client starts another driver.
        """
        chance = random.Random(f"{self.draw}/{self.adapter.name}")
        runs: dict[str, list[Run]] = {}
        for run in self.by_path.values():
            runs.setdefault(self._drawn_as(run), []).append(run)
        used: Counter[tuple[str, str, str]] = Counter()
        clients: dict[tuple[tuple[str, str], ...], str] = {}  # by environment
        drawn = chance.sample(list(runs), min(len(runs), self.sample or len(runs)))
        for one in (runs[case] for case in drawn):
            chance.shuffle(one)
            env = tuple(sorted(one[0].case.env.items()))
            one.sort(key=lambda run: (run.client != clients.get(env, run.client), used[run.combination]))
            used[one[0].combination] += 1
            if env:
                clients.setdefault(env, one[0].client)
        return {case: runs[case] for case in drawn}

    def _drawn_as(self, run: Run) -> str:
        """The name that a run shares with those of which it may be drawn."""
        return f"{run.case.id}/{run.client}" if self.each_client else run.case.id

    # -- running ------------------------------------------------------------------------------------------

    def results(self, paths: Sequence[str] | None = None) -> Iterator[Result]:
        """Judge every run, or those of `paths`, once. Of cases that are drawn: the first run that applies.

        Drivers with an environment of their own are ended with the runs that need them; `close` ends the others.
        """
        chosen = list(self.by_path.values() if paths is None else (self.by_path[path] for path in paths))
        tries = [[run] for run in chosen]
        if self.draw is not None:
            drawn = self.drawn()
            tries = [drawn[name] for name in dict.fromkeys(map(self._drawn_as, chosen)) if name in drawn]
        env: dict[str, str] = {}
        for runs in tries:
            if runs[0].case.env != env:
                env = runs[0].case.env
                self._end_drivers(keep="")
            results = (self._one(run) for run in runs)
            yield next(one for one in results if one.status != Status.NOT_APPLICABLE or one.path == runs[-1].path)
        self._end_drivers(keep="")

    def close(self) -> None:
        """End all drivers."""
        self._end_drivers()

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
            if self.draw is None:
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
        whole = not self.only and not self.clients and self.draw is None
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
        if run.client == "stock" and (run.case.same or run.case.env or run.case.open.get("adapter")):
            raise DriverSkipped("nothing to ask of a stock client")
        self._skip_early(run)
        driver = self._driver(run.client, run.case.env)
        self._need(run, driver)
        verdict = Verdict()
        if run.case.expect or run.case.example or not run.case.same:
            verdict = judge(play(run, driver, self._trace))
        if run.case.same:
            own_text = run.client in self.adapter.own_messages or "outcome" not in run.case.same
            facets = [*run.case.same, *([] if own_text else ["message"])]
            plays = PLAYS if self.draw is None else 1
            verdict.problems += compare(run, driver, self._driver("stock", {}), facets, plays, self._trace)
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

    def _skip_early(self, run: Run) -> None:
        """Start no process for an environment if a plain driver that runs lacks the kind or a capability."""
        plain = self._drivers.get((run.client, "")) if run.case.env else None
        if isinstance(plain, str):
            raise DriverSkipped(plain)
        if isinstance(plain, Driver):
            self._need(run, plain)

    @staticmethod
    def _need(run: Run, driver: Driver) -> None:
        missing = [need for need in run.capabilities() if need not in driver.capabilities]
        if missing:
            raise DriverSkipped(f"no capability {', '.join(missing)}")

    # -- driver processes ---------------------------------------------------------------------------------

    def _driver(self, client: str, env: dict[str, str]) -> Driver:
        key = (client, " ".join(f"{name}={value}" for name, value in sorted(env.items())))
        held = self._drivers.get(key)
        if isinstance(held, str):
            raise DriverSkipped(held)
        if isinstance(held, DriverFault):
            raise held  # it did not start the first time, and would not now
        if held is None or not held.alive:
            try:
                kind, its_env = self.adapter.driver_of(client)
                held = Driver(self.adapter.command, kind, env=its_env | env, timeout_s=self.timeout_s)
            except DriverSkipped as skipped:
                self._drivers[key] = str(skipped)
                raise
            except DriverFault as fault:
                self._drivers[key] = fault
                raise
            self._drivers[key] = held
            base = held.hello.get("base", {})
            self.bases[client] = f"{base.get('name')} {base.get('version')}, {held.hello.get('runtime')}"
        return held

    def _end_drivers(self, keep: str | None = None) -> None:
        for key, held in list(self._drivers.items()):
            if keep is not None and key[1] == keep:
                continue
            if isinstance(held, Driver):
                held.bye()
            del self._drivers[key]
