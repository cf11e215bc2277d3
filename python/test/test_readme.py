"""The README's first program and the example run as they stand."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import typing

import onewrite

HERE = pathlib.Path(__file__).parent.parent
RECORDS = HERE.parent / "docs" / "records.md"


def run(*arguments: str, url: str) -> str:
    environment = {**os.environ, "ONEWRITE_EXAMPLE_URL": url}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=True, timeout=150
    ).stdout


def test_the_quick_start(tap: typing.Any) -> None:
    text = (HERE / "README.md").read_text()
    program = re.search(r"## Switch on\n+```python\n(.*?)```", text, re.DOTALL)
    assert program is not None
    server = tap()
    assert re.fullmatch(r"POST http://\S+ 200 in [\d.]+ ms: .*new conn 1\n", run("-c", program[1], url=server.url()))
    assert server.seen[0].segments == 1


def test_the_opentelemetry_program(tap: typing.Any) -> None:
    text = (HERE / "README.md").read_text()
    program = re.search(r"### OpenTelemetry\n.*?```python\n(.*?)```", text, re.DOTALL)
    assert program is not None
    server = tap()
    around = (
        "import os, urllib3\n"
        "from opentelemetry import trace\n"
        "from opentelemetry.sdk.trace import TracerProvider\n"
        "trace.set_tracer_provider(TracerProvider())\n"
        "with trace.get_tracer('test').start_as_current_span('call') as span:\n"
        "    urllib3.PoolManager().request('POST', os.environ['ONEWRITE_EXAMPLE_URL'], body=b'x')\n"
        "    print(sorted(name for name in span.attributes))\n"
    )
    printed = run("-c", program[1] + around, url=server.url())
    for name in ("onewrite.connect_ns", "onewrite.wait_ns", "onewrite.total_ns", "onewrite.conn_id"):
        assert f"'{name}'" in printed
    assert server.seen[0].segments == 1


def test_the_metrics_are_those_of_the_page(tap: typing.Any) -> None:
    from onewrite.opentelemetry import hook
    from telemetry import Telemetry

    text = RECORDS.read_text()
    rows = re.findall(r"^\| `([a-z_.]+)` \|.*\| (.*) \|$", text[text.index("| metric |") :], re.MULTILINE)
    telemetry = Telemetry()
    with onewrite.PoolManager(on_timing=hook(telemetry.meter_provider)) as http:
        http.request("GET", tap().url())
    found = telemetry.metrics()
    assert found.keys() == {name for name, _ in rows}
    for name, attributes in rows:
        for point in found[name]:
            assert point.attributes.keys() <= set(re.findall(r"`([a-z_.]+)`", attributes)), name
    telemetry.close()


def test_every_field_of_a_record_is_in_the_table(tap: typing.Any) -> None:
    text = RECORDS.read_text()
    fields = set(re.findall(r"`([a-z_]+)`", text[text.index("| field |") : text.index("Times are")]))
    missing = set(onewrite._record._FIELDS) - fields - {"started_at_unix_ns", "started_at_mono_ns"}
    assert missing == set()


def test_the_example(tap: typing.Any) -> None:
    server = tap()
    lines = run(str(HERE / "examples" / "post.py"), server.url(), url="").splitlines()
    assert len(lines) == 2
    assert "reused conn 1" in lines[1]


def test_every_option_is_in_the_table() -> None:
    text = (HERE / "README.md").read_text()
    for name in ("observe", "quickack"):
        assert f"| `{name}` | `ONEWRITE_{name.upper()}` |" in text


def test_the_version_is_one() -> None:
    version = (HERE.parent / "VERSION").read_text().strip()
    assert onewrite.__version__ == version
    assert f'version = "{version}"' in (HERE / "pyproject.toml").read_text()
