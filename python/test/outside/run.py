"""Runs someone's test suite over stock, then in each way of a plugin here; new failures fail.

usage: run.py DIRECTORY PYTEST-ARGUMENT…   (with the interpreter of the environment that has the suite's needs)

A suite may fail on this machine for reasons of its own. Only what fails over onewrite and passes over
stock counts, once the flaky ones had a second chance.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent

#: Plugin and its ways; by default for urllib3 and what stands on it.
URLLIB3 = ("onewrite_under_test", ("installed", "timed", "own"))
HTTPX = ("onewrite_httpx_under_test", ("timed",))


def plugin_for(folder: str) -> tuple[str, tuple[str, ...]]:
    """What a suite is run over, by the name of its directory."""
    return HTTPX if pathlib.Path(folder).name.startswith("httpx-") else URLLIB3


def run(how: str, folder: str, arguments: list[str]) -> tuple[set[str], str]:
    """Return what failed, and pytest's last line."""
    environment = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
        environment.pop(name, None)
    environment.update(PYTHONPATH=str(HERE), ONEWRITE_UNDER_TEST=how)
    plugins = ["-p", "no:cacheprovider", "-p", "asgi_extensions"]
    if how != "stock":
        plugins += ["-p", plugin_for(folder)[0]]
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "--timeout", "120", *plugins]
    done = subprocess.run(
        [*command, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):  # 1: some failed; above that pytest could not do its work
        raise SystemExit(f"{how}: pytest ended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    failed = set(re.findall(r"^(?:FAILED|ERROR) (test\S*::.+?)(?: - .*)?$", done.stdout, re.MULTILINE))
    return failed, done.stdout.strip().splitlines()[-1]


def main(folder: str, arguments: list[str]) -> int:
    stock, said = run("stock", folder, arguments)
    print(f"stock      {said}", flush=True)
    found = 0
    for how in plugin_for(folder)[1]:
        failed, said = run(how, folder, arguments)
        new = failed - stock
        if new and len(new) < 20:
            new &= run(how, folder, [*sorted(new)])[0]
        print(f"{how:<10} {said}; {len(new)} fail here and not over stock", flush=True)
        for name in sorted(new):
            print(f"           {name}")
        found += len(new)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
