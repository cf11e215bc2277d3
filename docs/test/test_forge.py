"""Dependabot sees every manifest, no workflow cancels a run of main, and a release waits for Maven Central."""

from __future__ import annotations

import base64
import http.server
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MANIFESTS = {
    "pip": ["requirements*.txt", "pyproject.toml"],
    "npm": ["package.json"],
    "gomod": ["go.mod"],
    "maven": ["pom.xml"],
}


def tracked(*patterns: str) -> list[str]:
    out = subprocess.run(["git", "ls-files", "--", *patterns], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return out.splitlines()


@pytest.mark.parametrize("ecosystem", MANIFESTS)
def test_dependabot_sees_every_manifest(ecosystem: str) -> None:
    config = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text())
    seen = {folder for one in config["updates"] if one["package-ecosystem"] == ecosystem for folder in one["directories"]}
    files = tracked(*(f"*/{pattern}" for pattern in MANIFESTS[ecosystem]))
    found = {f"/{Path(file).parent}" for file in files}
    if ecosystem == "maven":  # a parent names its modules
        found = {folder for folder in found if not any(folder.startswith(f"{other}/") for other in found)}
    assert found - seen == set() and seen - found == set()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_run_on_main_is_never_cancelled(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    events = workflow[True]  # YAML reads the key `on` as true
    if "push" in events and "concurrency" in workflow:
        assert workflow["concurrency"]["cancel-in-progress"] in (False, "${{ github.event_name == 'pull_request' }}")


class Central(http.server.BaseHTTPRequestHandler):
    """Maven Central's publisher API, as far as a release uses it. `states` are given out one by one; the last one stays."""

    states: list[str] = []
    calls: list[str] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.calls.append(self.path)
        assert self.headers["Authorization"] == "Bearer " + base64.b64encode(b"user:word").decode()
        body = "id-1"
        if self.path.startswith("/status"):
            state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
            body = json.dumps({"deploymentState": state, "errors": {"pkg": ["no javadoc"]} if state == "FAILED" else {}})
        if self.path.startswith("/deployment"):
            self.states[:] = ["PUBLISHING", "PUBLISHED"]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def central() -> Iterator[str]:
    Central.calls = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Central)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def run(central: str, *arguments: str, wait_s: str = "30") -> subprocess.CompletedProcess[str]:
    if shutil.which("jq") is None or shutil.which("curl") is None:
        pytest.skip("curl and jq are not installed")
    env = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    env |= {"CENTRAL_API": central, "CENTRAL_USERNAME": "user", "CENTRAL_PASSWORD": "word", "CENTRAL_PAUSE_S": "0.05"}
    return subprocess.run(
        [str(ROOT / ".ci" / "central"), *arguments],
        env=env | {"CENTRAL_WAIT_S": wait_s}, capture_output=True, text=True, timeout=60, check=False,
    )


def test_a_bundle_is_uploaded_and_waits_for_its_validation(central: str, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.zip"
    bundle.write_bytes(b"PK")
    Central.states = ["PENDING", "VALIDATING", "VALIDATED"]
    done = run(central, "upload", str(bundle), "onewrite-v1")
    assert (done.returncode, done.stdout) == (0, "id-1\n"), done.stderr
    assert Central.calls[0] == "/upload?publishingType=USER_MANAGED&name=onewrite-v1"
    assert not any(call.startswith("/deployment") for call in Central.calls)

    Central.states = ["VALIDATING", "FAILED"]
    done = run(central, "upload", str(bundle), "onewrite-v1")
    assert done.returncode == 1 and "no javadoc" in done.stderr and not done.stdout

    Central.states = ["VALIDATING"]
    assert run(central, "upload", str(bundle), "onewrite-v1", wait_s="1").returncode == 2


def test_a_validated_deployment_is_published_once(central: str) -> None:
    Central.states = ["VALIDATED"]
    assert run(central, "publish", "id-1").returncode == 0
    assert Central.calls.count("/deployment/id-1") == 1
    assert run(central, "publish", "id-1").returncode == 0, "a job that runs again"
    assert Central.calls.count("/deployment/id-1") == 1
