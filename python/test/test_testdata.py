"""The tables of spec/testdata: every language runs every row."""

from __future__ import annotations

import builtins
import importlib
import json
import pathlib
import struct
import typing
import urllib.parse

import pytest
import urllib3

import onewrite
from onewrite import _errors, _kernel, _record
from onewrite._config import Scope

TABLES = pathlib.Path(__file__).parents[2] / "spec" / "testdata"
Row = dict[str, typing.Any]


def rows(name: str) -> list[typing.Any]:
    found = json.loads((TABLES / name).read_text())["rows"]
    return [pytest.param(row, id=row.get("about") or row.get("record")) for row in found]


RECORDS: dict[str, Row] = json.loads((TABLES / "records.json").read_text())["records"]


def reading(counters: Row) -> bytes:
    """struct tcp_info with these counters, at the offsets of linux/tcp.h."""
    info = bytearray(184)
    for offset, form, name in (
        (44, "=I", "last_data_sent_ms"),
        (52, "=I", "last_data_recv_ms"),
        (100, "=I", "retransmits"),
        (156, "=I", "segments_out"),
        (176, "=Q", "rwnd_limited_us"),
    ):
        struct.pack_into(form, info, offset, counters.get(name, 0))
    return bytes(info)


@pytest.mark.parametrize("row", rows("causes.json"))
def test_causes(row: Row) -> None:
    nagle = row["writes"] > 1 and not row["nodelay"]
    before, after = reading(row["before"]), reading(row["after"])
    read_after_ns = row["after"].get("read_after_ns", 0)
    evidence, found = _kernel.judge(before, after, row["wait_ns"], read_after_ns, True, nagle)
    assert found == row["cause"]
    for name in ("segments_out", "retransmits", "send_hold_ns", "unread_ns"):
        assert getattr(evidence, name) == row[name], name


def error(described: Row) -> BaseException:
    module, _, name = described["class"].rpartition(".")
    cls = getattr(importlib.import_module(module) if module else builtins, name, None)
    if cls is None:
        pytest.skip(f"this urllib3 has no {described['class']}")
    made: BaseException = cls.__new__(cls)
    made.args = tuple(error(one) if isinstance(one, dict) else one for one in described.get("args", ()))
    if "reason" in described:
        made.reason = error(described["reason"])  # type: ignore[attr-defined]
    return made


@pytest.mark.parametrize("row", rows("error_kinds.json"))
def test_error_kinds(row: Row) -> None:
    for described in row.get("python", ()):
        assert _errors.kind_of(error(described)) == row["kind"], described


def record_of(name: str) -> onewrite.Record:
    """A record as one that was noted would be."""
    described: Row = RECORDS[name]["record"]
    url = urllib.parse.urlsplit(described.get("url", ""))
    evidence = _kernel.Evidence(**described["kernel"]) if "kernel" in described else None

    class FromTable(onewrite.Record):
        def _judged(self) -> typing.Any:
            return evidence, described.get("cause")

    made = FromTable(Scope(), described["method"], (url.scheme, url.hostname, url.port), url.path)
    began = described["started_at_mono_ns"]
    for key, value in described.items():
        if (
            key not in ("url", "kernel", "cause", "idle_ns", "total_ns")
            and key.removesuffix("_ns") not in _record.PHASES
        ):
            setattr(made, key, value)
    for event, t_ns in RECORDS[name]["at"].items():
        setattr(made, event, began + t_ns)
    made._ended_at = began + described["total_ns"]
    if "idle_ns" in described:
        made._idle_since = began - described["idle_ns"]
    return made


@pytest.mark.parametrize("name", RECORDS)
def test_records(name: str) -> None:
    made, row = record_of(name), RECORDS[name]
    assert made.to_dict() == row["record"]
    began = row["record"]["started_at_mono_ns"]
    assert made.events == [(event, began + t_ns) for event, t_ns in row["at"].items()]


@pytest.mark.parametrize("row", rows("text_form.json"))
def test_text_form(row: Row) -> None:
    assert str(record_of(row["record"])) == row["text"]


@pytest.mark.parametrize("row", rows("urls.json"))
def test_urls(row: Row, recorded: list[onewrite.Record]) -> None:
    class NoConnection:
        def _get_conn(self, timeout: float | None = None) -> typing.Any:
            raise urllib3.exceptions.EmptyPoolError(self, "no connection is made")  # type: ignore[arg-type]

    http = urllib3.PoolManager(retries=False)
    http.pool_classes_by_scheme = {
        name: type("Pool", (NoConnection, pool), {}) for name, pool in http.pool_classes_by_scheme.items()
    }
    for owner in (http, urllib3.ProxyManager("http://127.0.0.1:1", retries=False)):
        with pytest.raises(urllib3.exceptions.HTTPError):
            owner.request("GET", row["url"], preload_content=False)
    assert {record.url for record in recorded} == {row["record"]}


@pytest.mark.parametrize("row", rows("opentelemetry.json"))
def test_opentelemetry(row: Row) -> None:
    pytest.importorskip("opentelemetry.sdk")
    from onewrite import opentelemetry
    from telemetry import Telemetry

    telemetry = Telemetry()
    with telemetry.tracer.start_as_current_span("GET"):
        opentelemetry.hook(telemetry.meter_provider)(record_of(row["record"]))
    (span,) = telemetry.spans()
    assert dict(span.attributes or {}) == row["span"]
    found = {
        name: {"value": points[0].value, "attributes": points[0].attributes}
        for name, points in telemetry.metrics().items()
    }
    assert found == row["metrics"]
    telemetry.close()
