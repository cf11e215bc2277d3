"""Runs cases against drivers and turns what was seen into results."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from onewrite_conformance.cases import Case, Run
from onewrite_conformance.checks import Verdict, judge
from onewrite_conformance.driver import Driver, DriverFault, DriverSkipped, run_file
from onewrite_conformance.known import KnownFailures
from onewrite_conformance.places import LANGUAGES, ROOT
from onewrite_conformance.play import Observation, play
from onewrite_conformance.requirements import Requirement
from onewrite_conformance.results import Result, Status

__all__ = ["Adapter", "Judge", "adapters_of_checkout", "reference"]

TRIES = 3  # an unsteady count must come again so often before it fails
JUDGED_KINDS = ("onewrite", "patched", "control")
UNSETTLED = (Status.DEVIATES, Status.FAULT)


@dataclass
class Adapter:
    """A driver command with a name."""

    name: str
    command: list[str]
    known: KnownFailures = field(default_factory=lambda: KnownFailures(None))
    witness: bool = True  # whether the syscall witness looks at it as well
    settle: bool = True  # whether what fails is judged again; a mutant's failure is what one is after


def adapters_of_checkout(names: list[str] | None = None, root: Path = ROOT) -> list[Adapter]:
    """The adapters of this checkout that have a driver."""
    found = []
    for name in names or LANGUAGES:
        folder = root / name
        found.append(Adapter(name, run_file(folder), KnownFailures(folder / "known-failures.txt")))
    return found


def reference(mutant: str | None = None) -> Adapter:
    """The judge's own client, whole or with one thing broken."""
    command = [sys.executable, "-m", "onewrite_conformance.reference"]
    return Adapter(
        "reference", command + (["--break", mutant] if mutant else []), witness=mutant is None, settle=mutant is None
    )


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
        trace: Callable[[str], None] | None = None,
        timeout_s: float = 15.0,
    ) -> None:
        self.adapter, self.requirements = adapter, requirements
        self.cases = sorted(cases, key=lambda case: sorted(case.env.items()))
        self.clients = clients
        self.only = only
        self.stock = stock
        self.timeout_s = timeout_s
        self.bases: dict[str, str] = {}  # base library and runtime, by client kind
        self.kinds: list[str] = []  # the client kinds that this driver has, of those that are judged
        self._trace = trace
        self._drivers: dict[tuple[str, str], Driver | str | DriverFault] = {}
        self._stock_seen: dict[str, Observation] = {}

    @property
    def base(self) -> str:
        """What was judged, in words: the own client's base library before that of others."""
        return self.bases.get("onewrite") or next(iter(self.bases.values()), "no driver")

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
        chosen = stock + [client for client in case.clients if client in JUDGED_KINDS]
        return [client for client in chosen if self.clients is None or client in self.clients]

    def _wanted(self, run: Run) -> bool:
        if not self.only:
            return True
        return any(fnmatchcase(run.path, pattern) or fnmatchcase(run.case.id, pattern) for pattern in self.only)

    # -- running ------------------------------------------------------------------------------------------

    def results(self) -> Iterator[Result]:
        """Run everything; drivers are ended at the end."""
        env: dict[str, str] = {}
        try:
            for run in self.runs():
                if run.case.env != env:
                    env = run.case.env
                    self._end_drivers(keep="")  # those without an environment of their own stay
                yield self._one(run)
        finally:
            self._end_drivers()

    def stale(self) -> list[Result]:
        """Faults of the known-failures file, as failing results. Call it after a whole run."""
        names = {run.path for run in self.runs()}
        faults = self.adapter.known.faults + ([] if self.only else self.adapter.known.stale(names))
        return [
            Result(self.adapter.name, "known-failures", "known-failures", "", "", "", [], "MUST", Status.STALE, [fault])
            for fault in faults
        ]

    def _one(self, run: Run) -> Result:
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
            run.case.covers,
            self._level(run.case),
            Status.OK,
            title=run.case.title,
        )
        self._settle(run, result)
        result.base = self.bases.get(run.client, "")
        result.seconds = round(time.monotonic() - started, 4)
        self._apply_known(result)
        return result

    def _settle(self, run: Run, result: Result) -> None:
        """Judge; what fails is judged twice more, and passes only when both of these pass: a busy machine
        makes a run late once, a fault of the client shows again."""
        self._attempt(run, result)
        known = self.adapter.known.find(result.path) is not None
        if known or not self.adapter.settle or run.client not in JUDGED_KINDS or result.status not in UNSETTLED:
            return
        first = (result.status, result.problems, result.notes)
        for _ in range(TRIES - 1):
            self._attempt(run, result)
            if result.status != Status.OK:
                result.status, result.problems, result.notes = first
                return
        result.notes = [f"failed once and passed twice after: {'; '.join(first[1])}", *result.notes]

    def _attempt(self, run: Run, result: Result) -> None:
        result.status, result.problems, result.notes = Status.OK, [], []
        try:
            self._judge(run, result)
        except DriverSkipped as skipped:
            result.status, result.notes = Status.NOT_APPLICABLE, [str(skipped)]
        except DriverFault as fault:
            result.status, result.problems = Status.FAULT, [str(fault)]
        except Exception:
            result.status, result.problems = Status.FAULT, [f"the judge itself failed: {traceback.format_exc()}"]

    def _level(self, case: Case) -> str:
        levels = {self.requirements[name].level for name in case.covers if name in self.requirements}
        return "SHOULD" if levels and "MUST" not in levels else "MUST"

    def _judge(self, run: Run, result: Result) -> None:
        driver = self._driver(run.client, run.case.env)
        missing = [need for need in run.capabilities() if need not in driver.capabilities]
        if missing:
            raise DriverSkipped(f"no capability {', '.join(missing)}")
        verdict = self._played(run, driver)
        for _ in range(TRIES - 1):
            if verdict.problems or not verdict.unsteady:
                break
            earlier = verdict.unsteady
            verdict = self._played(run, driver)
            verdict.notes += [f"came once and not again: {text}" for text in earlier]
        problems = verdict.problems + verdict.unsteady
        if problems and run.client in JUDGED_KINDS[:2]:
            verdict.notes += self._stock_verdict(run)
        if problems:
            result.status = Status.DEVIATES if result.level == "MUST" else Status.WARNS
        elif verdict.doubts:
            result.status = Status.CANNOT_TELL
        elif verdict.apart:
            result.status = Status.NOT_APPLICABLE
        result.problems, result.notes = problems, verdict.doubts + verdict.apart + verdict.notes

    def _played(self, run: Run, driver: Driver) -> Verdict:
        seen = play(run, driver, self._trace)
        stock = None
        if run.client == "stock":
            self._stock_seen = {self._stock_key(run, None): seen}  # the case at hand is the only one that may ask
        elif {"stock_equal", "stock_not_worse"} & run.expect().keys():
            stock = self._stock_observation(run)
        return judge(seen, stock)

    def _stock_verdict(self, run: Run) -> list[str]:
        """What the stock client does in a case that failed: it tells whose behaviour it is."""
        seen = self._stock_observation(run)
        if seen is None:
            return []
        if set(run.capabilities()) - seen.capabilities:
            return ["stock cannot run this case"]
        problems = judge(seen).problems
        return [f"stock deviates as well: {problems[0]}" if problems else "stock does not deviate"]

    def _stock_key(self, run: Run, api: str | None) -> str:
        return f"{run.case.id}/{run.scheme}/{run.route}/{api}"

    def _stock_observation(self, run: Run) -> Observation | None:
        """The same run by the stock client, through the same API of the base library."""
        try:
            stock = self._driver("stock", {})
            apis = self._driver(run.client, run.case.env).hello.get("apis") or [None]
            stock_apis = stock.hello.get("apis") or [None]
            wanted = run.case.open.get("api", apis[0])
            api = wanted if wanted in stock_apis and wanted != stock_apis[0] else None
            key = self._stock_key(run, api)
            if key not in self._stock_seen:
                self._stock_seen[key] = play(Run(run.case, "stock", run.scheme, run.route), stock, self._trace, api)
        except (DriverSkipped, DriverFault):
            return None
        return self._stock_seen[key]

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

    def _driver(self, client: str, env: dict[str, str]) -> Driver:
        key = (client, " ".join(f"{name}={value}" for name, value in sorted(env.items())))
        held = self._drivers.get(key)
        if isinstance(held, str):
            raise DriverSkipped(held)
        if isinstance(held, DriverFault):
            raise held  # it did not start the first time; waiting for it hundreds of times tells no more
        if held is None or not held.alive:
            try:
                held = Driver(self.adapter.command, client, env=env, timeout_s=self.timeout_s)
            except DriverSkipped as skipped:
                self._drivers[key] = str(skipped)
                raise
            except DriverFault as fault:
                self._drivers[key] = fault
                raise
            self._drivers[key] = held
            if client in JUDGED_KINDS[:2] and client not in self.kinds:
                self.kinds.append(client)
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
