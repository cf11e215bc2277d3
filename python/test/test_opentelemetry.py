"""What onewrite.opentelemetry reports, beside the instrumentations that people run."""

from __future__ import annotations

import subprocess
import sys
import typing

import pytest
import urllib3

import onewrite
import onewrite.httpx

pytest.importorskip("opentelemetry.sdk")
from onewrite import opentelemetry as of_onewrite
from telemetry import Telemetry


@pytest.fixture
def telemetry() -> typing.Iterator[Telemetry]:
    made = Telemetry()
    yield made
    made.close()


def instrumented(name: str, provider: typing.Any) -> typing.Any:
    module = pytest.importorskip(f"opentelemetry.instrumentation.{name}")
    names = {"urllib3": "URLLib3Instrumentor", "requests": "RequestsInstrumentor", "httpx": "HTTPXClientInstrumentor"}
    one = getattr(module, names[name])()
    one.instrument(tracer_provider=provider)
    return one


def get(name: str, url: str) -> None:
    if name == "urllib3":
        urllib3.PoolManager().request("GET", url)
    else:
        getattr(pytest.importorskip(name), "get")(url)  # noqa: B009


@pytest.mark.parametrize("first", ["onewrite", "tracer"])
@pytest.mark.parametrize("name", ["urllib3", "requests", "httpx"])
def test_phases_are_on_the_span_of_the_instrumentation(
    name: str, first: str, telemetry: Telemetry, tap: typing.Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(variable, raising=False)
    server = tap()
    hook = of_onewrite.hook(telemetry.meter_provider)
    made: list[typing.Any] = []
    steps: dict[str, typing.Callable[[], object]] = {
        "onewrite": lambda: (onewrite.httpx if name == "httpx" else onewrite).install(on_timing=hook),
        "tracer": lambda: made.append(instrumented(name, telemetry.tracer_provider)),
    }
    for step in (first, *(steps.keys() - {first})):
        steps[step]()
    try:
        get(name, server.url("/a"))
    finally:
        onewrite.uninstall()  # first: an instrumentation does not find its wrapper below another one
        onewrite.httpx.uninstall()
        made[0].uninstrument()
    (span,) = telemetry.spans()
    attributes = dict(span.attributes or {})
    assert attributes["http.method" if "http.method" in attributes else "http.request.method"] == "GET"
    if name == "httpx":
        return  # its span ends with the head of the answer, and the record with its body
    assert attributes["onewrite.reused"] is False
    assert {"onewrite.connect_ns", "onewrite.send_ns", "onewrite.wait_ns", "onewrite.total_ns"} <= attributes.keys()
    assert telemetry.metrics()["onewrite.wait.duration"][0].count == 1
    assert telemetry.metrics()["onewrite.requests"][0].attributes["onewrite.reused"] is False


def test_the_span_of_the_server_that_asks_is_left_alone(telemetry: Telemetry, tap: typing.Any) -> None:
    from opentelemetry.trace import SpanKind

    onewrite.install(on_timing=of_onewrite.hook(telemetry.meter_provider))
    with telemetry.tracer.start_as_current_span("GET /", kind=SpanKind.SERVER):
        urllib3.PoolManager().request("GET", tap().url())
    assert not telemetry.spans()[0].attributes
    assert telemetry.metrics()["onewrite.requests"][0].value == 1


def test_requests_of_exporters_are_not_reported(telemetry: Telemetry, tap: typing.Any) -> None:
    from opentelemetry.instrumentation.utils import suppress_instrumentation

    onewrite.install(on_timing=of_onewrite.hook(telemetry.meter_provider))
    with suppress_instrumentation():
        urllib3.PoolManager().request("GET", tap().url())
    assert telemetry.metrics() == {}


def test_a_refused_connection_and_a_method_of_ones_own(telemetry: Telemetry, tap: typing.Any) -> None:
    before = onewrite.status()["hook_errors"]
    onewrite.install(on_timing=of_onewrite.hook(telemetry.meter_provider))
    with telemetry.tracer.start_as_current_span("GET"), pytest.raises(urllib3.exceptions.HTTPError):
        urllib3.PoolManager(retries=False).request("GET", "http://127.0.0.1:1/")
    assert set(telemetry.spans()[0].attributes or {}) == {"onewrite.connect_ns", "onewrite.total_ns"}
    assert telemetry.metrics() == {}
    urllib3.PoolManager().request("MINE", tap().url())
    (point,) = telemetry.metrics()["onewrite.wait.duration"]
    assert point.attributes["http.request.method"] == "_OTHER"
    assert 0.035 in point.edges
    assert onewrite.status()["hook_errors"] == before


def test_without_the_api_the_error_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "import onewrite\n"
        "try: import onewrite.opentelemetry\n"
        "except onewrite.UnsupportedBaseError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert 'pip install "onewrite[opentelemetry]"' in done.stdout
