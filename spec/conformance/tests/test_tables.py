"""The tables of spec/testdata are well formed. What they say is tested in each language."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from onewrite_conformance.checks.timing import _event_problems, _shape_problems, _share_problems
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


@pytest.mark.parametrize("row", rows("urls.json"), ids=about)
def test_urls(row: dict[str, str]) -> None:
    assert set(row) == {"url", "record", "about"}
    assert not re.search(r"pass|[?#]|//[^/]*@", row["record"])


@pytest.mark.parametrize("row", rows("causes.json"), ids=about)
def test_causes(row: dict[str, Any]) -> None:
    """The rule of events.yaml, once more: the tables of the languages are not their own proof."""
    before, after, wait = row["before"], row["after"], row["wait_ns"]
    for count in ("segments_out", "retransmits"):
        assert after[count] - before[count] == row[count]
    held = min(wait, max(0, wait - after["last_data_sent_ms"] * 1_000_000))
    unread = min(wait, max(0, after["last_data_recv_ms"] * 1_000_000 - after.get("read_after_ns", 0)))
    assert (row["send_hold_ns"], row["unread_ns"]) == (held, unread)
    kernel = {"send_hold_ns": held, "unread_ns": unread}
    assert list(_share_problems({"wait_ns": wait, "cause": row["cause"], "kernel": kernel})) == []
    if row["cause"] not in ("client", "server") and wait >= 20_000_000:
        closed = (after["rwnd_limited_us"] - before["rwnd_limited_us"]) * 1000 > held / 2
        nagle = row["writes"] > 1 and not row["nodelay"]
        names = ["peer_window"] * closed + ["retransmit"] * (row["retransmits"] > 0) + ["nagle_delayed_ack"] * nagle
        assert row["cause"] == (names[0] if names else None)


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


@pytest.mark.parametrize("name", RECORDS)
def test_records(name: str) -> None:
    record, at = RECORDS[name]["record"], RECORDS[name]["at"]
    events = [[each, record["started_at_mono_ns"] + after] for each, after in at.items()]
    assert list(_shape_problems(record)) == []
    assert list(_event_problems(record, events, early=False)) == []
    assert list(record) == [field for field in MODEL["record"] if field in record]


@pytest.mark.parametrize("row", [*rows("opentelemetry.json"), *rows("text_form.json")], ids=about)
def test_what_is_made_of_a_record(row: dict[str, Any]) -> None:
    assert set(row) in ({"record", "span", "metrics"}, {"record", "text"})
    record = RECORDS[row["record"]]["record"]
    for name, value in row.get("span", {}).items():
        field = name.removeprefix("onewrite.")
        assert value == record.get(field, record.get("kernel", {}).get(field)), name
    metrics = {metric["name"]: metric["attributes"] for metric in MODEL["opentelemetry"]["metrics"]}
    for name, metric in row.get("metrics", {}).items():
        assert set(metric["attributes"]) <= set(metrics[name])


def test_each_record_is_used() -> None:
    assert {row["record"] for row in rows("text_form.json")} == set(RECORDS)


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
        (", back: uninstall", "", "back"),
        ("mechanisms:", "others:", "mechanisms"),
    ],
)
def test_the_form_of_a_footprint(tmp_path: Path, old: str, new: str, said: str | None) -> None:
    (tmp_path / "python.yaml").write_text(FOOTPRINT.replace(old, new))
    faults = footprint_faults(tmp_path)
    assert bool(faults) == (said is not None)
    assert not said or any(said in fault for fault in faults)
