"""The tables of spec/testdata: every language runs every row."""

from __future__ import annotations

import builtins
import importlib
import json
import pathlib
import struct
import typing

import pytest

import onewrite
from onewrite import _errors, mappers
from onewrite._timing import cause, hooks, kernel, record, redact

TABLES = pathlib.Path(__file__).parents[2] / "spec" / "testdata"
Row = dict[str, typing.Any]


def rows(name: str) -> list[typing.Any]:
    found = json.loads((TABLES / name).read_text())["rows"]
    return [pytest.param(row, id=row.get("about") or row.get("record")) for row in found]


RECORDS: dict[str, Row] = {
    name: one["record"] for name, one in json.loads((TABLES / "records.json").read_text())["records"].items()
}


def test_the_secret_words() -> None:
    assert sorted(redact.WORDS) == sorted(json.loads((TABLES / "redaction.json").read_text())["words"])


@pytest.mark.parametrize("row", rows("redaction.json"))
def test_redaction(row: Row) -> None:
    assert redact.redacted(row["url"]) == row["redacted"]


def reading(counters: Row) -> bytes:
    """struct tcp_info with these counters, at the offsets of linux/tcp.h."""
    info = bytearray(184)
    for offset, form, name in (
        (44, "=I", "last_data_sent_ms"),
        (100, "=I", "retransmits"),
        (156, "=I", "segments_out"),
        (176, "=Q", "rwnd_limited_us"),
    ):
        struct.pack_into(form, info, offset, counters.get(name, 0))
    return bytes(info)


@pytest.mark.parametrize("row", rows("causes.json"))
def test_causes(row: Row) -> None:
    nagle = row["writes"] > 1 and not row["nodelay"] and row["wait_ns"] >= cause.LONG_NS
    evidence, found = cause.judge(reading(row["before"]), reading(row["after"]), row["wait_ns"], True, nagle)
    assert found == row["cause"]
    for name in ("segments_out", "retransmits", "send_hold_ns"):
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


def timing(described: Row) -> onewrite.Timing:
    """A record as one that was noted would be."""
    began = described["started_at_mono_ns"]
    made = record.Call(hooks.Hooks(((None, None),)), described["method"], described["url"])
    one: Row = {}
    for index, one in enumerate(described["attempts"]):
        if index:
            made.next_attempt()
        at = {name: began + t_ns for name, t_ns in one["at"].items()}
        steps = [name.removesuffix("_start") for name in at if not hasattr(made, name) and name.endswith("_start")]
        made.steps = {step: (at.pop(f"{step}_start"), at.pop(f"{step}_end", 0)) for step in steps}
        for name, t_ns in at.items():
            setattr(made, name, t_ns)
        for name in ("status", "conn_id", "reused", "idle_ns", "conn_requests", "proxy", "bytes_received"):
            setattr(made, name, one.get(name))
        made._outcome = one["outcome"]
    for name in ("outcome", "error_kind", "error_phase", "started_at_unix_ns"):
        setattr(made, name, described.get(name))
    made.failed_in = made.error_phase
    made.started_at_mono_ns = began
    made.ended_at_mono_ns = began + described["total_ns"]
    evidence = kernel.KernelEvidence(**one["kernel"]) if "kernel" in one else None
    table = type(
        "FromTable", (onewrite.Timing,), {"__slots__": (), "_judged": lambda self: (evidence, one.get("cause"))}
    )
    made.__class__ = table  # type: ignore[assignment]
    return made


def like(found: typing.Any, wanted: typing.Any) -> bool:
    """Whether they are the same, numbers within a millionth."""
    if isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(like(found[name], value) for name, value in wanted.items())
    if isinstance(wanted, (int, float)):
        return bool(abs(found - wanted) < 1e-6)
    return bool(found == wanted)


@pytest.mark.parametrize("row", rows("mappers.json"))
def test_mappers(row: Row) -> None:
    made = timing(RECORDS[row["record"]])
    for name in ("otel_attributes", "otel_phases"):
        found = getattr(mappers, name)(made)
        assert like(found, row[name]), f"{name}: {found} and not {row[name]}"


@pytest.mark.parametrize("row", rows("text_form.json"))
def test_text_form(row: Row) -> None:
    assert str(timing(RECORDS[row["record"]])) == row["text"]
