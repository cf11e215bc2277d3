"""What `make setup`, `make demo`, `make test`, `make check` and `make nightly` run, as tables of steps."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable

from lanes import ROOT, Step

ADAPTERS = ("python", "ruby", "node", "java")
#: Steps side by side on two cores: more than cores, for most of them wait most of their time. A check has no suites of
#: others to fill the lanes with.
LANES = {"test": 3, "check": 4, "nightly": 3}
PARTS = ("spec", *ADAPTERS, "bench", "cli")
#: What belongs to no part: shell scripts, workflows, the README's table.
ROOT_LINT = "root"
#: The target for the adapter's own tests, where the part tests more: other base libraries, tracers, others' suites.
UNIT = {"python": "quick", "ruby": "quick", "java": "unit"}

#: What the set-up of a part installs, in the words of its progress line.
INSTALLS = {
    "spec": "judge: a virtual environment",
    "python": "Python: virtual environments with urllib3 2.x, 1.26, and urllib3's own suite",
    "ruby": "Ruby: Debian's gems, the net/http of other Rubies, JRuby, RBS",
    "node": "Node: undici and development packages",
    "java": "Java: dependencies, and the driver built",
    "bench": "bench: HAProxy and the harness",
    "cli": "command line tool: a virtual environment",
}


def make(part: str, *targets: str) -> tuple[str, ...]:
    """The command that makes `targets` in the folder `part`, or at the root for an empty name."""
    folder = ("-C", part) if part else ()
    return ("make", "-s", "--no-print-directory", *folder, *targets)


def setup() -> list[Step]:
    """Everything that tests, linters and benches of all parts need."""
    after = {"bench": ("spec",)}  # the harness lives in the judge's virtual environment
    # The longest first, so that nothing long is left over at the end.
    order = ("java", "python", "ruby", "spec", "node", "bench", "cli")
    return [Step(part, INSTALLS[part], make(part, "setup"), after=after.get(part, ())) for part in order]


def demo(languages: Iterable[str]) -> list[Step]:
    """What the demo needs and nothing else: the drivers of `languages`, HAProxy, and the harness."""
    says = {
        "java": "Java: dependencies, and the driver built",
        "python": "Python: a virtual environment with urllib3 and requests",
        "ruby": "Ruby from Debian, and JRuby 1.7",
        "node": "Node: undici",
    }
    drivers = [
        Step(one, says[one], make(one, "driver")) for one in ("java", "python", "ruby", "node") if one in languages
    ]
    return [
        *drivers[:1],
        Step("harness", "HAProxy from Debian, and the harness", make("bench", "harness-ready")),
        *drivers[1:],
    ]


def demo_packages(languages: Iterable[str]) -> list[str]:
    """Debian packages of the demo, asked for once, before all else: whoever is not root is told of all in one line."""
    of = {
        "java": ("openjdk-17-jdk-headless", "maven"),
        "ruby": ("ruby", "maven"),
        "node": () if shutil.which("node") and shutil.which("npm") else ("nodejs", "npm"),
    }
    haproxy = shutil.which("haproxy", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    needed = ["python3-venv", *(() if haproxy else ("haproxy",))]
    return list(dict.fromkeys([*needed, *(package for one in languages for package in of.get(one, ()))]))


def node_too_old() -> str:
    """What to say where neither this machine nor its Debian has a Node that undici runs on."""
    floor = json.loads((ROOT / "node" / "package.json").read_text())["engines"]["node"].lstrip(">=")
    said = _said("node", "--version") or _said("apt-cache", "policy", "nodejs").partition("Candidate:")[2]
    found = re.search(r"\d+(\.\d+)*", said)
    if found is None or _numbers(found[0]) >= _numbers(floor):
        return ""
    return (
        f"onewrite needs Node {floor} or newer, here is {found[0]}: take it from https://nodejs.org/en/download,"
        " or leave it out: make demo LANGUAGES=python,ruby,java"
    )


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _said(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


def lint(part: str) -> Step:
    if part == ROOT_LINT:
        return Step("lint-root", "lint: scripts, workflows, versions", make("", "lint-root"), idle=True)
    return Step(f"lint-{part}", f"lint: {part}", make(part, "lint"), idle=True)


def tests(part: str, target: str = "test", *, after: tuple[str, ...] = ()) -> Step:
    return Step(part, f"tests: {part}", make(part, target), after=after)


def timed(part: str) -> Step:
    """Those tests of a part that compare times."""
    return Step(f"{part}-test-timed", f"tests that compare times: {part}", make(part, "test-timed"), alone=True)


def package(part: str, *after: str) -> Step:
    """Build a part's packages and use them. `after`: steps that read or write what the build writes."""
    # The judge waits for Java's, which writes what a driver reads.
    return Step(f"package-{part}", f"packages: {part}", (".ci/package", part), idle=part != "java", after=after)


def test(*, whole: bool = False) -> list[Step]:
    """Everything, the longest first. The judge waits most of its time: linters and packages take what it leaves. Steps
    that compare times run alone, at the end. `whole`: the judge runs each case by all clients, schemes and routes."""
    before_judge = [
        tests("java"),
        tests("python"),
        tests("bench", "test-counted"),
        tests("docs", after=("java",)),  # its recipes run on the classes that Java's tests are building until then
        tests("spec"),
        package("java", "java", "docs", "bench", "spec"),  # what they read or write, the build writes
        tests("ruby"),
        tests("cli", "test-counted"),
        tests("node"),
    ]
    return [
        *before_judge,
        Step(
            "judge",
            "the judge: all cases against all adapters",
            make("spec", "judge" if whole else "judge-drawn"),
            after=tuple(step.name for step in before_judge),
        ),
        *(lint(part) for part in ("java", "node", "ruby", ROOT_LINT, "spec", "bench", "python", "cli", "docs")),
        Step("ci", "tests: what judges failed tests again", make(".ci", "test"), idle=True),
        package("spec"),
        package("cli", "package-spec"),
        package("python"),
        package("node", "lint-node"),
        package("ruby"),
        package("check", *(f"package-{part}" for part in (*ADAPTERS, "spec", "cli"))),
        timed("bench"),
        timed("cli"),
        Step("gate", "the demo's verdict", make("bench", "gate"), alone=True),
    ]


def nightly() -> list[Step]:
    """All of `test`, and what proves that we fit other versions and the suites of others."""

    def long(name: str, says: str, command: tuple[str, ...], *after: str) -> Step:
        return Step(name, says, command, after=("judge", *after), timeout_s=7200)

    return [
        *test(whole=True),
        *(
            long(f"more-{part}", f"what make test has one representative of: {part}", make(part, "test-nightly"), part)
            for part in ("python", "ruby", "docs")
        ),
        long("fuzz", "the judge: random scenarios", make("spec", "fuzz", "COUNT=1000")),
        long("site", "the documentation site", make("docs", "site"), "docs", "package-java"),
        long("boot", "applications of Spring Boot", make("java", "boot"), "site"),
        *(
            long(f"suites-{part}", f"suites of others in full: {part}", make(part, "suites"), f"lint-{part}")
            for part in ("python", "ruby", "node")
        ),
    ]


def changed() -> set[str]:
    """Folders at the root with changes that are not in the upstream branch, or not in HEAD where there is none."""

    def lines(*command: str) -> list[str]:
        done = subprocess.run(("git", *command), cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.splitlines() if done.returncode == 0 else []

    base = lines("merge-base", "HEAD", "@{upstream}") or ["HEAD"]
    files = lines("diff", "--name-only", base[0]) + lines("ls-files", "--others", "--exclude-standard")
    return {file.split("/")[0] if "/" in file else ROOT_LINT for file in files}


def check() -> list[Step]:
    """A quick look: unit tests of the four adapters, a hundred of the judge's cases, lint of what changed."""
    touched = {ROOT_LINT if one.startswith(".") else one for one in changed()}
    return [
        *(
            Step(part, f"unit tests: {part}", make(part, UNIT.get(part, "test")))
            for part in ("python", "java", "node", "ruby")
        ),
        *(lint(part) for part in (*PARTS, "docs", ROOT_LINT) if part in touched),
        # Java's tests build what its driver runs.
        Step("judge", "the judge: a hundred cases", make("spec", "judge-short"), after=("java",)),
    ]
