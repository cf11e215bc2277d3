"""The tables of spec/testdata are well formed. What they say is tested in each language."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from onewrite_conformance.contract.footprint import footprint_faults
from onewrite_conformance.contract.places import SPEC

FOLDER = SPEC / "testdata"
MODEL = yaml.safe_load((SPEC / "events.yaml").read_text())
LANGUAGES = {"python", "ruby", "node", "java"}


def rows(name: str, *keys: str) -> list[dict[str, Any]]:
    table = json.loads((FOLDER / name).read_text())
    assert set(table) == {"about", "rows", *keys}
    found: list[dict[str, Any]] = table["rows"]
    return found


RECORDS: dict[str, Any] = json.loads((FOLDER / "records.json").read_text())["records"]


def about(row: dict[str, Any]) -> str:
    return str(row.get("about") or row.get("record"))


@pytest.mark.parametrize("row", rows("redaction.json", "words"), ids=about)
def test_redaction(row: dict[str, str]) -> None:
    assert set(row) == {"url", "redacted", "about"}
    assert not re.search(r"\bpass\b", row["redacted"])
    assert row["url"].count("&") >= row["redacted"].count("&")


def test_each_secret_word_has_a_row() -> None:
    table = json.loads((FOLDER / "redaction.json").read_text())
    keys = [row["url"].lower() for row in table["rows"] if "REDACTED" in row["redacted"]]
    assert [word for word in table["words"] if not any(word in key for key in keys)] == []


@pytest.mark.parametrize("row", rows("causes.json"), ids=about)
def test_causes(row: dict[str, Any]) -> None:
    assert row["cause"] in {None, *(cause["name"] for cause in MODEL["causes"])}
    for count in ("segments_out", "retransmits"):
        assert row["after"][count] - row["before"][count] == row[count]
    assert (row["send_hold_ns"] or 0) <= row["wait_ns"]


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


FOOTPRINT = """
about: What onewrite touches
mechanisms:
  - {name: a.b, kind: replaced method, when: install, back: uninstall, why: It has no hook of its own.}
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("kind: replaced method", "kind: replaced method", None),
        ("kind: replaced method", "kind: magic", "magic"),
        ("back: uninstall", "back: someday", "someday"),
        (", back: uninstall", "", "back"),
        ("It has no hook of its own.", "word " * 26, "26 words"),
        ("mechanisms:", "others:", "mechanisms"),
    ],
)
def test_the_form_of_a_footprint(tmp_path: Path, old: str, new: str, said: str | None) -> None:
    (tmp_path / "python.yaml").write_text(FOOTPRINT.replace(old, new))
    faults = footprint_faults(tmp_path)
    assert bool(faults) == (said is not None)
    assert not said or any(said in fault for fault in faults)
