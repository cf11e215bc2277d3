"""The dashboard and the rules name metrics that exist, and a Prometheus that scrapes a real program answers them."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
DASHBOARD = json.loads((ROOT / "docs" / "dashboard" / "onewrite.json").read_text())
RULES_FILE = ROOT / "docs" / "dashboard" / "rules.yml"
RULES = [rule for group in yaml.safe_load(RULES_FILE.read_text())["groups"] for rule in group["rules"]]
RECORDED = {rule["record"] for rule in RULES if "record" in rule}
PYTHON = ROOT / "docs" / ".venv" / "bin" / "python"
PROMETHEUS = ROOT / "build" / "prometheus" / "usr" / "bin"
#: Labels that Prometheus adds to what it scrapes.
SCRAPED = {"job", "instance"}
#: What no client sees on loopback, where nothing is lost.
NOT_HERE = {("onewrite_cause", "retransmit")}
DEADLINE_S = 90

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="the recipes' environment is not here: make -C docs recipes-setup")
needs_prometheus = pytest.mark.skipif(not (PROMETHEUS / "prometheus").exists(), reason="no Prometheus: make -C docs prometheus")


@dataclass(frozen=True)
class Query:
    """An expression of PromQL, as it stands in a file."""

    where: str
    expr: str


def dashboard_queries() -> list[Query]:
    panels = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
    return [Query(f"{panel['title']} {target['refId']}", target["expr"]) for panel in panels for target in panel["targets"]]


def rule_queries() -> list[Query]:
    return [Query(rule.get("record") or rule["alert"], rule["expr"]) for rule in RULES]


def variable_queries() -> list[Query]:
    return [Query(one["name"], one["query"]["query"]) for one in DASHBOARD["templating"]["list"] if one["type"] == "query"]


QUERIES = [*dashboard_queries(), *rule_queries()]
WORDS = {"sum", "by", "rate", "increase", "histogram_quantile", "and", "or", "on", "vector", "label_values"}


@dataclass(frozen=True)
class Named:
    """The names in an expression: metrics with their labels and values, and labels to group by."""

    metrics: dict[str, list[tuple[str, str, str]]]
    grouped: set[str]


def named(expr: str) -> Named:
    """Read an expression as far as these two files use PromQL; a word that is neither known nor a metric is seen as a metric."""
    grouped: set[str] = set()
    # The exporter for Node leaves the unit out, so the files ask for both names; the program here has the one with the unit.
    expr = re.sub(r'\{__name__=~"(\w+)\(_seconds\)\?(\w+)"(?:, )?', r"\1_seconds\2{", expr)

    def groups(match: re.Match[str]) -> str:
        grouped.update(label.strip() for label in match[2].split(","))
        return ""

    rest = re.sub(r"\b(by|on)\s*\(([^)]*)\)", groups, expr)
    if (label := re.fullmatch(r"label_values\((.*), (\w+)\)", rest)) is not None:
        rest, _ = label[1], grouped.add(label[2])
    found: dict[str, list[tuple[str, str, str]]] = {}
    for name, selector in re.findall(r"([a-zA-Z_:][\w:]*)(?:\s*\{([^}]*)\})?", re.sub(r"\[[^\]]*\]", "", rest)):
        if name in WORDS:
            continue
        matchers = re.findall(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"', selector)
        assert ", ".join(f'{label}{sign}"{value}"' for label, sign, value in matchers) == selector.strip(), selector
        found.setdefault(name, []).extend(matchers)
    return Named(found, grouped)


def test_the_reader_of_expressions() -> None:
    read = named('sum by (a, b) (rate(m_total{c="1", d=~"$d"}[5m])) / on (a) r:m:rate5m > 0 and histogram_quantile(0.5, x_bucket)')
    assert read.metrics == {"m_total": [("c", "=", "1"), ("d", "=~", "$d")], "r:m:rate5m": [], "x_bucket": []}
    assert read.grouped == {"a", "b"}
    both = named('rate({__name__=~"m(_seconds)?_count", c="1"}[5m])')
    assert both.metrics == {"m_seconds_count": [("c", "=", "1")]}
    assert named('label_values(m{job=~"$job"}, host)') == Named({"m": [("job", "=~", "$job")]}, {"host"})


# -- a program, and a Prometheus that scrapes it --------------------------------------------------------------


class Well(BaseHTTPRequestHandler):
    """Answers in one write, after 30 ms where it is asked to think."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/think":
            time.sleep(0.03)
        status = "404 Not Found" if self.path == "/missing" else "200 OK"
        self.close_connection = self.path == "/close"
        close = "Connection: close\r\n" if self.close_connection else ""
        self.wfile.write(f"HTTP/1.1 {status}\r\n{close}Content-Length: 2\r\n\r\nok".encode())

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        pass


class Slow(Well):
    """Does not read a body for a while."""

    def do_POST(self) -> None:
        time.sleep(0.12)
        self.do_GET()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    address_family = socket.AF_INET
    receive_buffer = 0

    def server_bind(self) -> None:
        if self.receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.receive_buffer)
        super().server_bind()


class SmallWindow(Server):
    receive_buffer = 4096


@contextlib.contextmanager
def serving(kind: type[Server], handler: type[Well]) -> Iterator[int]:
    server = kind(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextlib.contextmanager
def refusing_port() -> Iterator[int]:
    """A port that is taken, so that no other server gets it, and on which nobody listens."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


@contextlib.contextmanager
def started(command: list[str | Path], **more: Any) -> Iterator[subprocess.Popen[str]]:
    env = {key: value for key, value in os.environ.items() if not key.startswith("ONEWRITE_") and not key.lower().endswith("_proxy")}
    env["PYTHONPATH"] = str(ROOT / "python" / "src")
    process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, text=True, **more)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=30)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


@pytest.fixture(scope="module")
def program() -> Iterator[int]:
    """The port of a program that makes requests of every sort."""
    with serving(Server, Well) as well, serving(SmallWindow, Slow) as slow, refusing_port() as refusing:
        urls = [f"http://127.0.0.1:{well}", f"http://localhost:{well}", f"http://127.0.0.1:{slow}/", f"http://127.0.0.1:{refusing}/"]
        command = [PYTHON, ROOT / "docs" / "test" / "dashboard_program.py", *urls]
        with started(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            yield int(process.stdout.readline())


def text_of(url: str) -> str:
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=10) as answer:
        text: str = answer.read().decode()
        return text


@pytest.fixture(scope="module")
def exported(program: int) -> dict[str, list[dict[str, str]]]:
    """The program's export after its last request: labels by the name of the sample."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        found: dict[str, list[dict[str, str]]] = {}
        for line in text_of(f"http://127.0.0.1:{program}/metrics").splitlines():
            sample = re.match(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? ", line)
            if sample is not None:
                found.setdefault(sample[1], []).append(dict(re.findall(r'(\w+)="([^"]*)"', sample[2] or "")))
        causes = {labels.get("onewrite_cause") for labels in found.get("onewrite_wait_duration_seconds_count", ())}
        if {"nagle_delayed_ack", "server", "peer_window"} <= causes or time.monotonic() > deadline:
            return found
        time.sleep(0.5)


@pytest.fixture(scope="module")
def prometheus(program: int, exported: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a Prometheus on loopback that scrapes the program every second and evaluates the rules."""
    folder = tmp_path_factory.mktemp("prometheus")
    settings = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(RULES_FILE)],
        "scrape_configs": [{"job_name": "shop", "static_configs": [{"targets": [f"127.0.0.1:{program}"]}]}],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(settings))
    command = [PROMETHEUS / "prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
               "--log.level=error"]  # fmt: skip
    deadline = time.monotonic() + DEADLINE_S
    while True:
        port = free_port()
        with started([*command, f"--web.listen-address=127.0.0.1:{port}"], cwd=folder) as process:
            # It ends where another program took the port meanwhile.
            while process.poll() is None and time.monotonic() < deadline:
                try:
                    text_of(f"http://127.0.0.1:{port}/-/ready")
                except OSError:
                    time.sleep(0.1)
                    continue
                yield f"http://127.0.0.1:{port}/api/v1"
                return
        assert time.monotonic() < deadline, "Prometheus does not start"


def asked(prometheus: str, expr: str) -> list[dict[str, Any]]:
    """The series that the expression has a number for."""
    for variable, value in (("$__rate_interval", "10s"), ("$job", ".*"), ("$host", ".*")):
        expr = expr.replace(variable, value)
    answer = json.loads(text_of(f"{prometheus}/query?{urllib.parse.urlencode({'query': expr})}"))
    assert answer["status"] == "success", answer
    found: list[dict[str, Any]] = answer["data"]["result"]
    return [series for series in found if not math.isnan(float(series["value"][1]))]


def until(prometheus: str, expr: str) -> list[dict[str, Any]]:
    """The same, waiting until there are some: the last bucket of a rate takes two scrapes."""
    deadline = time.monotonic() + DEADLINE_S
    while not (found := asked(prometheus, expr)) and time.monotonic() < deadline:
        time.sleep(0.5)
    return found


# -- names ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", [*QUERIES, *variable_queries()], ids=lambda query: query.where)
def test_every_name_in_a_query_exists(query: Query, exported: dict[str, list[dict[str, str]]]) -> None:
    read = named(query.expr)
    assert read.metrics
    known = set(SCRAPED)
    for metric, matchers in read.metrics.items():
        if metric in RECORDED:
            known |= labels_of_recorded(metric)
            continue
        assert metric in exported, f"no metric {metric}"
        labels = {label for one in exported[metric] for label in one}
        known |= labels
        for label, sign, value in matchers:
            assert label in labels | SCRAPED, f"{metric} has no label {label}"
            if sign == "=" and (label, value) not in NOT_HERE:
                assert any(one.get(label) == value for one in exported[metric]), f'{metric} never has {label}="{value}"'
    assert read.grouped <= known, read.grouped - known


def labels_of_recorded(metric: str) -> set[str]:
    """The labels that a recording rule keeps: its name begins with them."""
    rule = next(rule for rule in RULES if rule.get("record") == metric)
    labels = named(rule["expr"]).grouped
    assert metric.startswith("_".join(sorted(labels, key=metric.index)) + ":"), metric
    return labels


def test_a_name_that_does_not_exist_is_found(exported: dict[str, list[dict[str, str]]]) -> None:
    for expr in ("sum(onewrite_wait_seconds_count)", 'onewrite_requests_total{reused="true"}',
                 'onewrite_requests_total{onewrite_reused="yes"}', "sum by (host) (onewrite_requests_total)"):  # fmt: skip
        with pytest.raises(AssertionError):
            test_every_name_in_a_query_exists(Query("", expr), exported)


def test_what_is_exported_is_what_the_contract_names(exported: dict[str, list[dict[str, str]]]) -> None:
    wanted = {}
    for metric in yaml.safe_load((ROOT / "spec" / "events.yaml").read_text())["opentelemetry"]["metrics"]:
        ending = {"histogram": "_seconds_count", "counter": "_total", "updowncounter": ""}[metric["kind"]]
        wanted[metric["name"].replace(".", "_") + ending] = {one.replace(".", "_") for one in metric["attributes"]}
        if "edges" in metric:
            edges = {float(one["le"]) for one in exported[metric["name"].replace(".", "_") + "_seconds_bucket"]}
            assert edges == {*metric["edges"], math.inf}
    ours = {name: rows for name, rows in exported.items() if rows[0].get("otel_scope_name") == "onewrite"}
    counts = {name: rows for name, rows in ours.items() if not name.endswith(("_bucket", "_sum", "_created"))}
    scope = {"otel_scope_name", "otel_scope_version", "otel_scope_schema_url"}
    assert {name: {label for row in rows for label in row} - scope for name, rows in counts.items()} == wanted


# -- Node, whose exporter leaves the unit out of names ----------------------------------------------------------

NODE = ROOT / "node"
needs_node = pytest.mark.skipif(
    not (NODE / "node_modules" / "@opentelemetry" / "exporter-prometheus").exists(), reason="no exporter for Node: make -C node setup"
)


@pytest.fixture(scope="module")
def exported_by_node() -> dict[str, list[str]]:
    """The samples of the real exporter for Node: their labels by name."""
    command = ["node", "--no-warnings", ROOT / "docs" / "test" / "dashboard_program.mjs"]
    env = {key: value for key, value in os.environ.items() if not key.startswith("ONEWRITE_") and not key.lower().endswith("_proxy")}
    done = subprocess.run(command, cwd=NODE, env=env, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = {}
    for name, labels in re.findall(r"^([a-zA-Z_:][\w:]*)\{(.*)\} ", done.stdout, re.MULTILINE):
        found.setdefault(name, []).append(labels)
    return found


def names_asked(expr: str) -> list[str]:
    """The patterns of names of exported metrics; recorded series have a colon."""
    return re.findall(r'__name__=~"([^"]+)"', expr) + re.findall(r"(?<![\w:])onewrite_\w+(?=[{\[])(?!:)", expr)


@needs_node
def test_every_query_finds_what_node_exports(exported_by_node: dict[str, list[str]]) -> None:
    asked = {(query.where, name) for query in [*QUERIES, *variable_queries()] for name in names_asked(query.expr)}
    assert {name for _, name in asked} >= {"onewrite_wait_duration(_seconds)?_count", "onewrite_requests_total"}
    for where, name in sorted(asked):
        assert any(re.fullmatch(name, one) for one in exported_by_node), f"{where}: {name}"
    assert "onewrite_wait_duration_seconds_count" not in exported_by_node, "the exporter has a unit now: the files need one name alone"
    for edge in {edge for query in QUERIES for edge in re.findall(r'\ble="([^"]+)"', query.expr)}:
        assert any(f'le="{edge}"' in labels for labels in exported_by_node["onewrite_wait_duration_bucket"]), edge


# -- answers ----------------------------------------------------------------------------------------------------


@needs_prometheus
@pytest.mark.parametrize("query", dashboard_queries(), ids=lambda query: query.where)
def test_every_panel_has_data(query: Query, prometheus: str) -> None:
    assert until(prometheus, query.expr)


@needs_prometheus
@pytest.mark.parametrize("rule", [rule for rule in RULES if "record" in rule], ids=lambda rule: rule["record"])
def test_every_recording_rule_records(rule: dict[str, Any], prometheus: str) -> None:
    assert until(prometheus, rule["record"])


@needs_prometheus
def test_the_figures_are_those_of_the_program(prometheus: str) -> None:
    """One host stalls, the other does not; one request of many makes a connection."""

    def by_host(name: str) -> dict[str, float]:
        found = asked(prometheus, f"job_server_address:onewrite_{name}")
        return {one["metric"]["server_address"]: float(one["value"][1]) for one in found}

    deadline = time.monotonic() + DEADLINE_S
    while True:
        names = ("stalls:rate5m", "wait_35ms_to_50ms:ratio_rate5m", "reuse:ratio_rate5m")
        stalls, shape, reuse = (by_host(name) for name in names)
        # A rate takes two scrapes with requests between them.
        there = stalls.get("localhost") and {"localhost", "127.0.0.1"} <= shape.keys() & reuse.keys()
        if there or time.monotonic() > deadline:
            break
        time.sleep(0.5)
    assert set(stalls) == {"localhost"} and stalls["localhost"] > 0
    assert shape["localhost"] > shape["127.0.0.1"]  # on a busy machine a stall may take longer than 50 ms
    assert reuse["localhost"] > reuse["127.0.0.1"] > 0.5
    pending = json.loads(text_of(f"{prometheus}/alerts"))["data"]["alerts"]
    told = {(one["labels"]["alertname"], one["labels"]["server_address"]) for one in pending}
    assert ("HttpClientStalls", "localhost") in told
    assert ("HttpClientStalls", "127.0.0.1") not in told


@needs_prometheus
@pytest.mark.parametrize("arguments", [("check", "rules", RULES_FILE), ("test", "rules", ROOT / "docs" / "test" / "rules_test.yml")],
                         ids=["check", "test"])  # fmt: skip
def test_promtool_accepts_the_rules(arguments: tuple[str, str, Path]) -> None:
    done = subprocess.run([PROMETHEUS / "promtool", *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# -- the dashboard's form ----------------------------------------------------------------------------------------

MODEL = """
import json, sys
from grafana_foundation_sdk.cog import encoder, plugins
from grafana_foundation_sdk.models.dashboard import Dashboard
plugins.register_default_plugins()
print(encoder.JSONEncoder().encode(Dashboard.from_json(json.load(sys.stdin))))
"""


def test_grafana_knows_every_field() -> None:
    """Read into Grafana's own model and written again, nothing is lost."""
    done = subprocess.run([PYTHON, "-c", MODEL], input=json.dumps(DASHBOARD), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert list(lost(DASHBOARD, json.loads(done.stdout))) == []


def lost(given: Any, made: Any, path: str = "") -> Iterator[str]:
    if isinstance(given, dict) and isinstance(made, dict):
        for key, value in given.items():
            yield from lost(value, made.get(key), f"{path}.{key}")
    elif isinstance(given, list) and isinstance(made, list) and len(given) == len(made):
        for position, (one, other) in enumerate(zip(given, made, strict=True)):
            yield from lost(one, other, f"{path}[{position}]")
    elif given != made:
        yield f"{path}: {given} became {made}"


def test_panels_do_not_overlap() -> None:
    cells: dict[tuple[int, int], str] = {}
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert (x, y) not in cells, (panel["title"], cells[x, y])
                cells[x, y] = panel["title"]
    assert max(x for x, _ in cells) == 23
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
