"""The recipes run as they stand in docs/recipes-*.md, and their POSTs reach the server in one segment."""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
from pathlib import Path

import pytest
import yaml
from onewrite_lab import certificates
from snippets import BASE_URL, LINE, ROOT, RUNTIMES, TIMES, Around, recipes, run

# The real SDK and a real instrumentation.
SDK = """
import requests
from opentelemetry import metrics, trace
from opentelemetry.instrumentation.requests import RequestsInstrumentor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

_reader, _spans, _tracers = InMemoryMetricReader(), InMemorySpanExporter(), TracerProvider()
_tracers.add_span_processor(SimpleSpanProcessor(_spans))
metrics.set_meter_provider(MeterProvider([_reader]))
trace.set_tracer_provider(_tracers)
RequestsInstrumentor().instrument()
_session = requests.Session()
"""
EXPORTED = """
_ended = _spans.get_finished_spans()
print("spans with a wait:", sum("onewrite.wait_ns" in one.attributes for one in _ended), "of", len(_ended))
print(_reader.get_metrics_data().to_json())
"""

NODE_SDK = """
import { context as _context, metrics as _metrics, trace as _trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'

const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3600_000 })
const spans = new InMemorySpanExporter()
_context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
_metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }))
_trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: spans })] }))

// A span of the program's around each call. Those of instrumentations have ended when a record is there.
const stock = globalThis.fetch
globalThis.fetch = (...call) => _trace.getTracer('program').startActiveSpan('call', async (span) => {
  const text = await (await stock(...call)).text()
  await new Promise(setImmediate)
  span.end()
  return new Response(text)
})
"""
NODE_EXPORTED = """
await reader.forceFlush()
const ended = spans.getFinishedSpans()
console.log('spans with a wait:', ended.filter((one) => 'onewrite.wait_ns' in one.attributes).length, 'of', ended.length)
console.log(JSON.stringify(exporter.getMetrics().map((one) => one.scopeMetrics)))
"""

# What a block takes from the application around it, and how its figures come out.
AROUND = {
    "rails": Around(
        'require "active_support"; require "active_support/notifications"; require "logger"; require "net/http"\n'
        "module Rails; def self.logger = (@logger ||= Logger.new($stdout)); end\n",
        post=f'\nNet::HTTP.post(URI("{BASE_URL}/items"), "x")\n',
    ),
    # The signal switches off, in the process that gets it.
    "rails-switch": Around(end='Process.kill("USR2", Process.pid)\nsleep 0.01 while Onewrite.status[:installed]\nputs "switched off"\n'),
    # Without the setting Boot would start a server, because WebFlux is there.
    "spring-boot": Around('System.setProperty("spring.main.web-application-type", "none");\n'),
    "opentelemetry": Around(SDK, post=f'\n_session.post("{BASE_URL}/items", json={{"name": "tea"}})\n', end=EXPORTED),
    "opentelemetry-ruby": Around(
        'require "net/http"; require "opentelemetry-sdk"; require "opentelemetry-metrics-sdk"\n'
        "OpenTelemetry::SDK.configure\n"
        "READER = OpenTelemetry::SDK::Metrics::Export::InMemoryMetricPullExporter.new\n"
        "OpenTelemetry.meter_provider.add_metric_reader(READER)\n",
        post=f'\nNet::HTTP.post(URI("{BASE_URL}/items"), "x")\n',
        end="READER.pull\nREADER.metric_snapshots.each { |one| p one.name, one.data_points }\n",
    ),
    "opentelemetry-node": Around(NODE_SDK, end=NODE_EXPORTED),
    "opentelemetry-java": Around(
        "var reader = io.opentelemetry.sdk.testing.exporter.InMemoryMetricReader.create();\n"
        "io.opentelemetry.sdk.OpenTelemetrySdk.builder()"
        ".setMeterProvider(io.opentelemetry.sdk.metrics.SdkMeterProvider.builder().registerMetricReader(reader).build())"
        ".buildAndRegisterGlobal();\n",
        end="reader.collectAllMetrics().forEach(System.out::println);",
    ),
    "prometheus": Around(end="import prometheus_client\nprint(prometheus_client.generate_latest().decode())\n"),
    "prometheus-ruby": Around(
        # Its text format is for the files of several processes. One process reads its registry.
        end='puts "http_client_wait_seconds #{wait.get({ method: "POST" })}"\n',
    ),
    "prometheus-node": Around(
        "import { register as _register } from 'prom-client'\n",
        end="process.stdout.write(await _register.metrics())",
    ),
}
ONCE = {
    "rails-switch": rf"(?:{LINE}[^\n]*\n){{{TIMES}}}switched off",
    "opentelemetry": rf'spans with a wait: {TIMES} of {TIMES}\n(?s:.*?)"onewrite.wait.duration"(?s:.*?)"count": {TIMES}',
    "opentelemetry-ruby": rf"onewrite.wait.duration(?s:.*?)count={TIMES}",
    "opentelemetry-node": rf'spans with a wait: {TIMES} of {TIMES}\n(?s:.*?)"name":"onewrite.wait.duration"(?s:.*?)"count":{TIMES}',
    "opentelemetry-java": rf"name=onewrite.wait.duration(?s:.*?)getCount={TIMES}",
    "prometheus": rf'http_client_wait_seconds_count\{{method="POST"\}} {TIMES}.0',
    "prometheus-ruby": rf"http_client_wait_seconds .*5=>{TIMES}.0",
    "prometheus-node": rf'http_client_wait_seconds_count\{{method="POST"\}} {TIMES}',
}
#: The names that every language exports, except for those of failures and long waits, which a recipe does not make.
METRICS = {one["name"]: one for one in yaml.safe_load((ROOT / "spec" / "events.yaml").read_text())["opentelemetry"]["metrics"]}
EXPECTED = {word for name, one in METRICS.items() for word in (name, *one["attributes"])} - {"error.type", "onewrite.cause"} | {"0.035"}
#: httpx writes head and body apart, as in stock; it sets TCP_NODELAY itself.
TIMED_ALONE = {"openai"}
EACH = {
    "context": r"order 17 \d+",
}


RECIPES = recipes()
#: One of each runtime; `make nightly` runs all.
FIRST = {language: name for name, language, _ in reversed(RECIPES)}
MARKED = [
    pytest.param(*one, id=f"{one[1]}-{one[0]}", marks=() if FIRST[one[1]] == one[0] else pytest.mark.nightly) for one in RECIPES
]


def test_every_code_block_is_a_recipe_that_runs() -> None:
    blocks = [line for page in (ROOT / "docs").glob("recipes-*.md") for line in re.findall(r"^```\w+$", page.read_text(), re.MULTILINE)]
    assert len(RECIPES) == len(blocks) > 0
    assert {language for _, language, _ in RECIPES} == set(RUNTIMES)


@pytest.mark.parametrize(("name", "language", "code"), MARKED)
def test_recipe(name: str, language: str, code: str, tmp_path: Path) -> None:
    each = EACH.get(name, LINE)
    until = "" if name in ONCE else each
    printed, segments = run(language, code, tmp_path, AROUND.get(name), until=until)
    if name not in TIMED_ALONE:
        assert statistics.mode(segments) == 1, segments
    if name in ONCE:
        assert re.search(ONCE[name], printed), printed[-2000:]
        if name.startswith("opentelemetry"):
            assert {name for name in EXPECTED if name not in printed} == set()
    else:
        assert len(re.findall(each, printed)) == TIMES, printed[-2000:]


#: Clients whose pipeline gets its codec after onewrite was applied.
LATE = {name: code for name, _, code in RECIPES if name in {"aws", "armeria"}}


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which Java trusts the tap."""
    if not shutil.which("keytool"):
        pytest.skip("java is not installed")
    store = tmp_path_factory.mktemp("tls") / "trust.p12"
    where = ["-file", certificates.shared().ca_file, "-keystore", str(store), "-storepass", "password"]
    subprocess.run(["keytool", "-importcert", "-noprompt", *where], check=True, capture_output=True)
    return {"JAVA_TOOL_OPTIONS": f"-Djavax.net.ssl.trustStore={store} -Djavax.net.ssl.trustStorePassword=password"}


@pytest.mark.nightly
@pytest.mark.parametrize(("scheme", "size"), [("http", 20_000), ("https", 200)])
@pytest.mark.parametrize("name", sorted(LATE))
def test_one_segment_where_stock_has_two(name: str, scheme: str, size: int, trusted: dict[str, str], tmp_path: Path) -> None:
    code = LATE[name].replace('"tea"', f'"x".repeat({size})')
    modes = []
    for disabled in ("true", "false"):
        (tmp_path / disabled).mkdir()
        _, segments = run("java", code, tmp_path / disabled, scheme=scheme, more={"ONEWRITE_DISABLED": disabled, **trusted})
        modes.append(statistics.mode(segments))
    assert modes == [2, 1]
