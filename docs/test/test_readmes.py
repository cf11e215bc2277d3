"""The four adapters' READMEs are built alike, and their options tables are what the contract says."""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

import configuration

HEADINGS = ["Install", "Use", "Timing", "Configuration", "What it changes, what it cannot", "Compatibility", "Development"]


@pytest.mark.parametrize("language", configuration.LANGUAGES)
def test_the_seven_headings_in_their_order(language: str) -> None:
    text = (configuration.ROOT / language / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == HEADINGS


@pytest.mark.parametrize("language", configuration.LANGUAGES)
def test_the_options_table_is_what_the_contract_says(language: str) -> None:
    path, wanted = configuration.readme(language)
    assert path.read_text(encoding="utf-8") == wanted


def test_a_stale_or_unmarked_readme_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configuration, "ROOT", tmp_path)
    for language in configuration.LANGUAGES:
        (tmp_path / language).mkdir()
        (tmp_path / language / "README.md").write_text(f"# x\n\n{configuration.BEGIN}old\n{configuration.END}")
    monkeypatch.setattr(configuration, "TARGET", tmp_path / "configuration.md")
    monkeypatch.setattr(sys, "argv", ["configuration.py", "--check"])
    assert configuration.main() == 1
    monkeypatch.setattr(sys, "argv", ["configuration.py"])
    assert configuration.main() == 0
    monkeypatch.setattr(sys, "argv", ["configuration.py", "--check"])
    assert configuration.main() == 0
    (tmp_path / "node" / "README.md").write_text("# no marks\n")
    with pytest.raises(ValueError, match="node/README.md must hold"):
        configuration.main()


ONE_LINE = {
    "python": "onewrite.opentelemetry.instrument()",
    "ruby": "Onewrite::OpenTelemetry.install",
    "node": "install({ listener: openTelemetry() })",
    "java": ".listenerFactory(OnewriteOpenTelemetry.create(",
}


@pytest.mark.parametrize("language", configuration.LANGUAGES)
def test_the_line_for_opentelemetry_is_that_of_the_recipes(language: str) -> None:
    """The recipe is run by test_recipes.py."""
    text = (configuration.ROOT / language / "README.md").read_text(encoding="utf-8")
    part = re.search(r"^### OpenTelemetry$(.*?)^##", text, re.DOTALL | re.MULTILINE)
    assert part is not None
    recipes = (configuration.ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
    assert ONE_LINE[language] in part[1] and ONE_LINE[language] in recipes


def test_the_recipe_for_micrometer_is_that_of_the_application() -> None:
    """`make -C java boot` runs the application."""
    source = (configuration.ROOT / "java/examples/boot/src/main/java/example/Application.java").read_text(encoding="utf-8")
    recipe = source.split("// recipe:")[1].partition("\n")[2].rpartition("    // end of the recipe")[0]
    assert textwrap.dedent(recipe) in (configuration.ROOT / "java/README.md").read_text(encoding="utf-8")
