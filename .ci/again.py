"""Runs tests by themselves: failed ones, to judge them again; or each file and class, to see that it stands alone."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import ParseError

from lanes import Lanes, Step
from reports import Case, read, reports_of

#: A failed test must pass so often.
TIMES = 3
#: More failed tests are not judged again: the run is red anyway.
MOST = 10
LIMIT_S = 600


@dataclass(frozen=True)
class Suite:
    """Tests that one target of a Makefile runs, and their report."""

    folder: str
    target: str
    report: Path

    def cases(self) -> list[Case]:
        return [case for file in reports_of(self.report) for case in read(file)]

    @property
    def units(self) -> list[str]:
        """What `alone` takes to run each file or class alone: "" where one run does so, as Surefire's with EACH=1.

        Those of which all tests were skipped are left out.
        """
        if not self.report.exists():
            return [""]
        return sorted({case.unit for case in self.cases() if case.kind != "skipped"})

    def alone(self, test: str, logs: Path) -> bool:
        """Run one test, file or class, nothing else running. Whether something passed and nothing failed."""
        reports = logs / "again"
        shutil.rmtree(reports, ignore_errors=True)
        environment = ("EACH=1", f"TEST={test}", f"ONEWRITE_REPORTS={reports}")
        command = ("make", "-s", "--no-print-directory", "-C", self.folder, self.target)
        step = Step(
            "again",
            f"alone: {self.report.stem}: {test or 'each class'}",
            ("env", "-u", "JUDGED", *environment, *command),
            timeout_s=LIMIT_S if test else 4 * LIMIT_S,
        )
        (outcome,) = Lanes([step], logs).run()
        kinds = {case.kind for file in reports.rglob("*.xml") for case in read(file)}
        return outcome.status == 0 and "passed" in kinds and not kinds & {"failed", "unsteady"}


def suites(reports: Path) -> list[Suite]:
    """The suites that left a readable report in this folder."""
    found = []
    for file in sorted(reports.glob("*.target")):
        folder, target = file.read_text().splitlines()
        suite = Suite(folder, target, file.with_suffix(".xml"))
        try:
            suite.cases()
        except ParseError:
            continue  # the summary says so
        found.append(suite)
    return found


def judge(reports: Path, logs: Path) -> set[Case]:
    """Judge every failed test again. Return those that passed each time."""
    failed = [(suite, case) for suite in suites(reports) for case in suite.cases() if case.kind == "failed"]
    if len(failed) > MOST:
        print(f"{len(failed)} tests failed: too many to judge them again")
        return set()
    return {case for suite, case in failed if all(suite.alone(case.id, logs) for _ in range(TIMES))}


def keep(unsteady: Iterable[Case], file: Path) -> None:
    """Write one line of JSON per unsteady test, for a workflow to collect."""
    seed = os.environ.get("SEED")
    lines = (
        json.dumps({"report": one.report, "test": one.id, "first_failure": one.text, "seed": seed}) for one in unsteady
    )
    file.write_text("".join(f"{line}\n" for line in lines))


def each(reports: Path, logs: Path) -> list[str]:
    """Run each file and class of the reports alone. Return those that failed."""
    wrong = []
    for suite in suites(reports):
        for unit in suite.units:
            if not suite.alone(unit, logs):
                wrong.append(f"{suite.report.stem}: {unit or 'a class'}")
    return wrong
