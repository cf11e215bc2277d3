"""The same check in three formats, with the same exit status; and its files."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
import yaml

from conftest import CLIENT, onewrite
from onewrite_cli.common.exit_status import CouldNotRun
from onewrite_cli.common.outcome import Report
from onewrite_cli.common.report import Output
from onewrite_cli.common.rules import RULES
from onewrite_cli.explain import CAUSES, explain


@pytest.mark.parametrize("form", ["text", "json", "github"])
def test_the_exit_status_does_not_depend_on_the_format(form: str) -> None:
    assert onewrite("check", "-f", form, "--requests", "3", "--rule", "stall=off", "--", *CLIENT, "fail", "{url}").status == 2


def test_each_pair_of_format_and_file_is_taken_by_its_word(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("new/a.json", "b.txt", "c", "d.json")]
    outputs = [f"-o{files[0]}", f"-o{files[1]}", f"-ogithub={files[2]}", f"-otext={files[3]}"]
    done = onewrite("check", "-f", "json", *outputs, "--rule", "stall=off", "--", *CLIENT, "split", "{url}")
    assert done.data["requests"] == 20
    assert json.loads(files[0].read_text()) == json.loads(files[1].read_text()) == done.data
    assert "::warning title=OW101 " in files[2].read_text()
    assert files[3].read_text().startswith("WARNED: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.txt", "c", "d.json", "new"]


@pytest.mark.parametrize(
    "wrong",
    [
        ("-o", "FILE", "{url}"),
        ("--requets", "20", "-o", "FILE", "--", "true"),
        ("--requests", "x", "-o", "FILE", "--", "true"),
        ("--rule", "x=y", "-o", "FILE", "--", "true"),
        ("-o", "FILE", "-o", "junit=x", "--", "true"),
        ("-o", "FILE", "--", "/no/such/program"),
        ("-o", "FILE", "--", "python3", "FOLDER/./client.py"),
    ],
)
def test_no_file_is_touched_where_the_check_could_not_run(wrong: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "client.py"
    file.write_text("the only copy")
    done = onewrite("check", *(word.replace("FILE", str(file)).replace("FOLDER", str(tmp_path)) for word in wrong))
    assert (done.status, file.read_text(), len(list(tmp_path.iterdir()))) == (3, "the only copy", 1)


def test_what_is_no_file_is_written_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    onewrite("check", "-o", f"json={pipe}", "--", "true")
    reader.join()
    assert json.loads(read[0])["tool"] == "onewrite check"
    assert pipe.is_fifo()


def test_a_file_keeps_its_mode_and_one_that_may_not_be_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "report.json"
    file.write_text("precious")
    file.chmod(0o640)
    Output("json", file).write(Report("onewrite check", ["true"], "", 1, 0, 0, []))
    assert (json.loads(file.read_text())["command"], file.stat().st_mode & 0o777) == (["true"], 0o640)
    monkeypatch.setattr(os, "access", lambda place, _mode: place != file)  # for root no file is read-only
    with pytest.raises(CouldNotRun):
        Output("json", file).examine([])


def test_github_gets_annotations() -> None:
    done = onewrite("check", "--strict", "-f", "github", "--rule", "nodelay=warn", "--", *CLIENT, "split,nagle", "{url}")
    lines = done.out.splitlines()
    assert any(line.startswith("::error title=OW101 ") for line in lines)
    assert any(line.startswith("::warning title=OW102 ") for line in lines)


def test_explain_has_every_rule(capsys: pytest.CaptureFixture[str]) -> None:
    explain(None)
    listed = capsys.readouterr().out
    for rule in RULES:
        assert rule.id in listed
        explain(rule.id.lower())
        page = capsys.readouterr().out
        assert all(word in page for word in ("Decides:", "Cure:", "Seen by:"))
        explain(rule.name)
        assert capsys.readouterr().out == page


def test_explain_has_every_cause_of_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    named = yaml.safe_load((Path(__file__).resolve().parents[2] / "spec" / "events.yaml").read_text())["causes"]
    assert {one["name"] for one in named} | {"cork"} == set(CAUSES)
    for cause in CAUSES:
        explain(cause)
        assert capsys.readouterr().out.startswith(f"{cause}: ")
