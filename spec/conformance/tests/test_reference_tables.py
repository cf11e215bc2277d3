"""The tables of spec/testdata are well formed, and the judge's own client does what they say."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
import yaml
from onewrite_lab.witness.tcpinfo import TcpInfo

from onewrite_conformance.contract.places import SPEC
from onewrite_conformance.contract.server_timing import parse, server_ns
from onewrite_conformance.reference.evidence import judge
from onewrite_conformance.reference.redact import redact

FOLDER = SPEC / "testdata"
MODEL = yaml.safe_load((SPEC / "events.yaml").read_text())
LANGUAGES = {"python", "ruby", "node", "java"}


def rows(name: str) -> list[dict[str, Any]]:
    table = json.loads((FOLDER / name).read_text())
    assert set(table) == {"about", "rows"}
    found: list[dict[str, Any]] = table["rows"]
    return found


RECORDS: dict[str, Any] = json.loads((FOLDER / "records.json").read_text())["records"]


def about(row: dict[str, Any]) -> str:
    return str(row.get("about") or row.get("record"))


@pytest.mark.parametrize("row", rows("redaction.json"), ids=about)
def test_redaction(row: dict[str, str]) -> None:
    assert set(row) == {"url", "redacted", "about"}
    assert redact(row["url"]) == row["redacted"]
    assert redact(row["redacted"]) == row["redacted"]
    assert "pass" not in row["redacted"]


@pytest.mark.parametrize("row", rows("causes.json"), ids=about)
def test_causes(row: dict[str, Any]) -> None:
    assert row["cause"] in {None, *(cause["name"] for cause in MODEL["causes"])}
    may_nagle = row["writes"] > 1 and not row["nodelay"]
    names = {"segments_out": "data_segs_out", "retransmits": "total_retrans"}
    start, now = (
        TcpInfo(**{names.get(name, name): value for name, value in row[moment].items()})
        for moment in ("before", "after")
    )
    judged = judge(start, now, row["wait_ns"], may_nagle)
    assert judged == (row["send_hold_ns"], row["cause"])
    assert now.data_segs_out - start.data_segs_out == row["segments_out"]
    assert now.total_retrans - start.total_retrans == row["retransmits"]


def test_each_cause_and_each_kind_has_a_row() -> None:
    assert {row["cause"] for row in rows("causes.json")} == {None, *(cause["name"] for cause in MODEL["causes"])}
    kinds = [row["kind"] for row in rows("error_kinds.json")]
    assert set(kinds) == {kind["name"] for kind in MODEL["error_kinds"]}


@pytest.mark.parametrize("row", rows("error_kinds.json"), ids=about)
def test_error_kinds(row: dict[str, Any]) -> None:
    assert set(row) - {"about", "kind"} <= LANGUAGES
    for language in LANGUAGES & set(row):
        for error in row[language]:
            known = {"name", "code"} if language == "node" else {"class"}
            assert known & set(error), (language, error)


@pytest.mark.parametrize("row", rows("server_timing.json"), ids=about)
def test_server_timing(row: dict[str, Any]) -> None:
    assert set(row) - {"wait_ns"} == {"about", "fields", "server_timing", "server_ns", "network_ns"}
    entries = parse(row["fields"])
    assert entries == row["server_timing"]
    server = server_ns(entries, row.get("wait_ns"))
    assert server == row["server_ns"]
    assert row["network_ns"] == (row["wait_ns"] - server or None if server else None)


@pytest.mark.parametrize("name", RECORDS)
def test_records(name: str) -> None:
    record = RECORDS[name]["record"]
    schema = json.loads((SPEC / "schemas" / "timing-v1.schema.json").read_text())
    jsonschema.validate(record, schema)
    order = [event["name"] for event in MODEL["events"]]
    for index, attempt in enumerate(record["attempts"]):
        at = attempt["at"]
        assert attempt["index"] == index
        assert sorted(at, key=order.index) == list(at)
        assert list(at.values()) == sorted(at.values())
        assert at["attempt_end"] <= record["total_ns"]
        assert set(attempt) <= {*MODEL["record"]["attempt"], "at", "server_timing_fields"}
        assert parse(attempt.get("server_timing_fields", [])) == attempt.get("server_timing", [])
        assert server_ns(attempt.get("server_timing", []), attempt.get("wait_ns")) == attempt.get("server_ns")
        assert attempt.get("network_ns") == (
            attempt["wait_ns"] - attempt["server_ns"] if "server_ns" in attempt else None
        )
        for phase in MODEL["phases"]:
            expected = at[phase["to"]] - at[phase["from"]] if {phase["from"], phase["to"]} <= set(at) else None
            assert attempt.get(f"{phase['name']}_ns") == expected, phase["name"]


@pytest.mark.parametrize("row", [*rows("mappers.json"), *rows("text_form.json")], ids=about)
def test_what_is_made_of_a_record(row: dict[str, Any]) -> None:
    made = {"otel_attributes", "otel_metrics", "otel_phases", "resource_timing", "har_timings"}
    assert set(row) in ({"record", *made}, {"record", "text"})


def test_each_record_is_used() -> None:
    used = {row["record"] for name in ("mappers.json", "text_form.json") for row in rows(name)}
    assert used == set(RECORDS)
