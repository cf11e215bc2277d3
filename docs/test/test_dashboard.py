"""The dashboard and the rules ask for metrics and labels that the adapters export, and promtool accepts every expression."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from snippets import BASE_URL, ROOT, Around, recipe, run

DASHBOARD = json.loads((ROOT / "docs" / "dashboard" / "onewrite.json").read_text())
RULES_FILE = ROOT / "docs" / "dashboard" / "rules.yml"
RULES = [rule for group in yaml.safe_load(RULES_FILE.read_text())["groups"] for rule in group["rules"]]
PROMTOOL = ROOT / "build" / "prometheus" / "usr" / "bin" / "promtool"
CONTRACT = yaml.safe_load((ROOT / "spec" / "events.yaml").read_text())
needs_prometheus = pytest.mark.skipif(not PROMTOOL.exists(), reason="no Prometheus: make -C docs prometheus")

PANELS = {f"{panel['title']} {target['refId']}": target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", [])}
VARIABLES = {one["name"]: one["query"]["query"] for one in DASHBOARD["templating"]["list"] if one["type"] == "query"}
QUERIES = PANELS | VARIABLES | {rule.get("record") or rule["alert"]: rule["expr"] for rule in RULES}

PYTHON = Around(
    "import prometheus_client, urllib3\n"
    "from opentelemetry import metrics\n"
    "from opentelemetry.exporter.prometheus import PrometheusMetricReader\n"
    "from opentelemetry.sdk.metrics import MeterProvider\n"
    "metrics.set_meter_provider(MeterProvider([PrometheusMetricReader()]))\nhttp = urllib3.PoolManager()\n",
    post=f'\nhttp.request("POST", "{BASE_URL}/items", body=b"tea")\n',
    end="print(prometheus_client.generate_latest().decode())\n",
)
NODE = Around(
    "import { metrics } from '@opentelemetry/api'\n"
    "import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus'\n"
    "import { MeterProvider } from '@opentelemetry/sdk-metrics'\n"
    "const exporter = new PrometheusExporter({ preventServerStart: true })\n"
    "metrics.setGlobalMeterProvider(new MeterProvider({ readers: [exporter] }))\n",
    end="console.log(new PrometheusSerializer().serialize((await exporter.collect()).resourceMetrics))",
)


def names(expr: str) -> list[str]:
    """The patterns of metrics in an expression; a recorded series has a colon and is none."""
    plain = re.sub(r"\b(?:by|on)\s*\([^)]*\)", "", expr)
    quoted = r'__name__=~"([^"]+)"'
    return re.findall(quoted, plain) + re.findall(r"(?<![\w:])onewrite_\w+(?=[{\[])(?!:)", plain)


@pytest.mark.parametrize(("language", "name", "around"), [("python", "opentelemetry", PYTHON), ("node", "opentelemetry-node", NODE)])
def test_every_query_finds_what_the_real_exporter_exports(language: str, name: str, around: Around, tmp_path: Path) -> None:
    printed, _ = run(language, recipe(name), tmp_path, around)
    exported = dict(re.findall(r"^(onewrite_\w+)\{(.*)\} ", printed, re.MULTILINE))
    asked = {(where, pattern) for where, expr in QUERIES.items() for pattern in names(expr)}
    assert len({pattern for _, pattern in asked}) >= 3
    for where, pattern in sorted(asked):
        assert any(re.fullmatch(pattern, one) for one in exported), f"{where}: {pattern} is none of {sorted(exported)}"
    for edge in {edge for expr in QUERIES.values() for edge in re.findall(r'\ble="([^"]+)"', expr)}:
        assert f'le="{edge}"' in printed, edge


def test_every_label_and_cause_is_that_of_the_contract() -> None:
    attributes = {name.replace(".", "_") for metric in CONTRACT["opentelemetry"]["metrics"] for name in metric["attributes"]}
    causes = {one["name"] for one in CONTRACT["causes"]}
    for where, expr in QUERIES.items():
        found = re.findall(r'(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"', expr)
        grouped = {label.strip() for group in re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", expr) for label in group.split(",")}
        assert {label for label, _ in found} | grouped <= attributes | {"job", "le", "__name__"}, where
        for label, value in found:
            assert label != "onewrite_cause" or set(filter(None, value.split("|"))) <= causes, where


def promtool(*arguments: str | Path) -> None:
    done = subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_prometheus
def test_what_the_rules_fire_on() -> None:
    promtool("check", "rules", RULES_FILE)
    promtool("test", "rules", ROOT / "docs" / "test" / "rules_test.yml")


@needs_prometheus
def test_prometheus_reads_the_expression_of_every_panel(tmp_path: Path) -> None:
    rules: list[dict[str, Any]] = []
    for position, expr in enumerate(PANELS.values()):
        rules.append({"record": f"panel:{position}", "expr": expr.replace("$__rate_interval", "5m")})
    (tmp_path / "panels.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    promtool("check", "rules", tmp_path / "panels.yml")
