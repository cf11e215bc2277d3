"""The four adapters' READMEs are built alike: usage first, and the same line for OpenTelemetry as the recipes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = ("python", "ruby", "node", "java")
#: Headings that each README has, in this order; it may have others between them.
HEADINGS = ["Install", "Switch on", "See it", "Switch off", "Options", "Limits"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_headings_in_their_order(language: str) -> None:
    text = (ROOT / language / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert [name for name in re.findall(r"^## (.+)$", text, re.MULTILINE) if name in HEADINGS] == HEADINGS


def test_the_first_page_answers_in_its_order() -> None:
    """What it is, am I affected, what do I type, what does it cost, how is it installed and tried, what can it not do."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    order = ["Find it", "Am I affected?", "Cure it", "What it costs", "Install", "See it, test it", "Limits", "What to use instead"]
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == order
    status = text.partition("\n## ")[0]
    assert (ROOT / "VERSION").read_text().strip() in status and "not on the registries yet" in status


ONE_LINE = {
    "python": "onewrite.opentelemetry.instrument()",
    "ruby": "Onewrite::OpenTelemetry.install",
    "node": "install({ listener: openTelemetry() })",
    "java": ".listenerFactory(OnewriteOpenTelemetry.create(",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_line_for_opentelemetry_is_that_of_the_recipes(language: str) -> None:
    """The recipe is run by test_recipes.py."""
    recipes = (ROOT / "docs" / f"recipes-{language}.md").read_text(encoding="utf-8")
    assert ONE_LINE[language] in (ROOT / language / "README.md").read_text(encoding="utf-8") and ONE_LINE[language] in recipes
