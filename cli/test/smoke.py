"""Sends with the installed `onewrite` what a user would try first; run in an empty environment by `make package-smoke`."""

from __future__ import annotations

import json
import subprocess
import sys

#: Packages take the processor time that other steps of `make test` leave.
LIMIT_S = 600

SPLIT = """
import http.client, sys
from urllib.parse import urlsplit
connection = http.client.HTTPConnection(urlsplit(sys.argv[1]).netloc)
for _ in range(20):
    connection.request("POST", "/", b"x" * 200)
    connection.getresponse().read()
"""
ONE = SPLIT.replace('connection.request("POST", "/", b"x" * 200)', 'connection.request("GET", "/")')


def check(program: str, *options: str) -> tuple[int, dict[str, str]]:
    command = ["onewrite", "check", "-f", "json", *options, "--", sys.executable, "-c", program, "{url}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    return done.returncode, {finding["rule"]: finding["state"] for finding in json.loads(done.stdout)["findings"]}


status, states = check(SPLIT, "--strict")
assert (status, states["OW101"]) == (1, "found"), (status, states)
status, states = check(ONE, "--rule", "stall=off")
assert status == 0, (status, states)
said = subprocess.run(["onewrite", "explain", "OW101"], capture_output=True, text=True, timeout=LIMIT_S, check=True).stdout
assert "Cure:" in said
refused = subprocess.run(["onewrite", "doctor", "http://127.0.0.1:1/"], capture_output=True, timeout=LIMIT_S, check=False)
assert refused.returncode == 3
version = subprocess.run(["onewrite", "--version"], capture_output=True, text=True, timeout=LIMIT_S, check=True).stdout
print(f"{version.strip()}: http.client is found to split, a GET is not")
