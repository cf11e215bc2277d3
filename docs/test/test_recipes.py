"""The recipes run as they stand in docs/recipes.md, and each of their POSTs reaches the server in one segment."""

from __future__ import annotations

import re
import statistics
from pathlib import Path

import pytest
from snippets import LINE, PLACE, ROOT, RUNTIMES, TIMES, run

PAGE = (ROOT / "docs" / "recipes.md").read_text()
RECIPES = re.findall(r"<!-- recipe:(\S+) (\w+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)

# What a block takes from the application around it, and what shows that it worked.
AROUND = {
    "rails": (
        'require "active_support"; require "active_support/notifications"; require "logger"; require "net/http"\n'
        'module Rails; def self.logger = (@logger ||= Logger.new($stdout)); end\n',
        f'\nNet::HTTP.post(URI("{PLACE}/items"), "x")\n',
    ),
    "opentelemetry": (
        "from opentelemetry.sdk.metrics import MeterProvider\n"
        "from opentelemetry.sdk.metrics.export import InMemoryMetricReader\n"
        "from opentelemetry import metrics as _metrics\n"
        "reader = InMemoryMetricReader()\n_metrics.set_meter_provider(MeterProvider([reader]))\n"
        "import atexit\natexit.register(lambda: print(reader.get_metrics_data().to_json()))\n",
        "",
    ),
    "prometheus": (
        "import atexit, prometheus_client\natexit.register(lambda: print(prometheus_client.generate_latest().decode()))\n",
        "",
    ),
}
ONCE = {
    "opentelemetry": rf'"http.client.request.duration"(?s:.*?)"count": {TIMES}',
    "prometheus": rf'http_client_wait_seconds_count\{{method="POST"\}} {TIMES}.0',
}
EACH = {
    "spring": "200 OK",
    "logs": r'"attempts": ',
    "logs-ruby": r'"attempts":',
    "logs-node": r'"attempts":',
}


def test_every_code_block_is_a_recipe_that_runs() -> None:
    assert len(RECIPES) == len(re.findall(r"^```\w+$", PAGE, re.MULTILINE)) > 0
    assert {language for _, language, _ in RECIPES} == set(RUNTIMES)


@pytest.mark.parametrize(("name", "language", "code"), RECIPES, ids=[f"{one[1]}-{one[0]}" for one in RECIPES])
def test_recipe(name: str, language: str, code: str, tmp_path: Path) -> None:
    before, after = AROUND.get(name, ("", ""))
    printed, segments = run(language, before + code + after, tmp_path)
    assert statistics.mode(segments) == 1, segments
    if name in ONCE:
        assert re.search(ONCE[name], printed), printed[-2000:]
    else:
        assert len(re.findall(EACH.get(name, LINE), printed)) == TIMES, printed[-2000:]
