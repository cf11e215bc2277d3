"""The tables of spec/testdata are well formed, and the judge's own client does what they say."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
import yaml
from onewrite_lab.witness.tcpinfo import TcpInfo

from onewrite_conformance.contract.places import SPEC
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


def _last_open(at: dict[str, int], phase: dict[str, str]) -> bool:
    """Whether nothing came between the phase's beginning and the attempt's end."""
    times = [name for name in at if name not in ("attempt_end", "headers_end")]
    return times[-1] == phase["from"]


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
        assert set(attempt) <= {*MODEL["record"]["attempt"], "at"}
        for phase in MODEL["phases"]:
            failed = phase["name"] == record.get("error_phase") and attempt["outcome"] != "ok"
            end = at.get(phase["to"], at["attempt_end"] if failed or index + 1 < len(record["attempts"]) else None)
            started = phase["from"] in at and (end != at["attempt_end"] or phase["to"] in at or _last_open(at, phase))
            expected = end - at[phase["from"]] if started and end is not None else None
            assert attempt.get(f"{phase['name']}_ns") == expected, phase["name"]


@pytest.mark.parametrize("row", [*rows("mappers.json"), *rows("text_form.json")], ids=about)
def test_what_is_made_of_a_record(row: dict[str, Any]) -> None:
    made = {"otel_attributes", "otel_phases"}
    assert set(row) in ({"record", *made}, {"record", "text"})


def test_each_record_is_used() -> None:
    used = {row["record"] for name in ("mappers.json", "text_form.json") for row in rows(name)}
    assert used == set(RECORDS)
