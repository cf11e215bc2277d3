"""The pages are plain English, and the checker of it sees what is not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

import prose


@pytest.mark.parametrize("path", prose.pages(), ids=lambda path: str(path.relative_to(prose.ROOT)))
def test_a_page_is_plain(path: Path) -> None:
    assert prose.complaints(path) == []


def test_comments_are_plain() -> None:
    assert [fault for path in prose.code() for fault in prose.comment_faults(path)] == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", '"""It was told once."""\n'),
        ("a.py", "x = 1\n# It was\n# told once.\ny = 2\n"),
        ("a.js", "// It was told once.\n"),
        ("A.java", "/**\n * It was told\n * once.\n */\nclass A {}\n"),
        ("a.rb", "# frozen_string_literal: true\n\n# It was told once.\n"),
    ],
)
def test_a_comment_that_is_not_plain_is_seen(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    (fault,) = prose.comment_faults(tmp_path / name)
    assert fault.endswith('"told": name the act: reported, logged, passed: It was told once.')


def test_code_in_a_comment_is_one_word(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text("/** Calls `a b c " + "d " * 40 + "`. */\nconst text = 'it was told'\n")
    assert prose.comment_faults(tmp_path / "a.js") == []


def test_all_pages_together_have_no_more_words_than_planned() -> None:
    assert sum(map(prose.words, prose.pages())) <= prose.ALL


def test_a_long_page_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Ten words of prose are in this short sentence here. " * 181 + "\n```\n" + "code " * 500 + "\n```\n")
    assert prose.words(page) == 1810
    assert prose.complaints(page) == [f"{page}: 1810 words, 1800 are the most"]


def faults(text: str) -> list[str]:
    return [fault for one in prose.sentences(text) for fault in one.faults()]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("word " * 31 + "end.", "32 words"),
        ("It stalls if it splits, when Nagle is on, because it waits; that is so while the peer, which delays, waits.", "8 clauses"),
        ("Who has it, stalls.", 'begins with "Who"'),
        ("**What is left** stays.", 'begins with "What"'),
        ("- One that splits,\n  stalls.", 'begins with "One that"'),
        ("It is\ntold once.", '"told": name the act: reported, logged, passed'),
        ("| a | What is left |", 'begins with "What"'),
    ],
)
def test_what_is_not_plain_is_seen(text: str, fault: str) -> None:
    assert faults(text) == [fault]


@pytest.mark.parametrize(
    "text",
    [
        "word " * 30,
        "Who stalls? What is it?",
        "```\nWho has told it\n```\n",
        "`told` and `what\nis told` are code.",
        "| " + "word " * 40 + " |",
        "| [What is left](page.md) |",
        "<!-- measured:x -->\nWho was told.\n<!-- /measured:x -->",
        "One. " * 20 + "E.g. version 7.50.2 of curl, e.g. from Debian, is one sentence.",
        "> It **MUST** " + "word " * 46,
        "# What is left\n\n[What](a.md) is in a heading?",
        "\n".join(["- " + "word " * 16] * 4),
        " · ".join(["word " * 10] * 4),
    ],
)
def test_what_is_plain_passes(text: str) -> None:
    assert faults(text) == []


def test_a_complaint_names_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n```\ncode\n```\n\nPlain.\n\nIt was told.\n")
    assert prose.main([str(page)]) == 1
    assert f"{page}:9: " in capsys.readouterr().err
    page.write_text("Plain.\n")
    assert prose.main([str(page)]) == 0
    assert prose.main([str(tmp_path / "gone.md")]) == 2
