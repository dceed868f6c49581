"""Tables of results, from the files that tools/examples writes next to the pages of the gallery."""

from __future__ import annotations

import csv
from pathlib import Path

from reference_parts.tables import markdown_table

COMPARISON = Path(__file__).parents[2] / "docs" / "gallery" / "frameworks.csv"
MODELS = ("resnet50", "lstm", "transformer")
TASKS = ("training", "inference")
Row = dict[str, str]


def framework_comparison() -> list[str]:
    """Return the throughput of each framework with its 95 % CI, by model and task; the highest is bold."""
    with COMPARISON.open(encoding="utf-8", newline="") as file:
        cases = {(_name(case), (case["model"], case["task"])): case for case in csv.DictReader(file)}
    works = [(model, task) for model in MODELS for task in TASKS]
    names = sorted({name for name, _ in cases})
    best = {work: max(_rate(cases[name, work]) for name in names) for work in works}
    rows = ((name, *(_cell(cases[name, work], best[work]) for work in works)) for name in names)
    return markdown_table(("framework, execution", *map(" ".join, works)), rows)


def _name(case: Row) -> str:
    return f"{case['framework']} {case['framework_version']}, {case['execution']}"


def _rate(case: Row) -> float:
    return float(case["throughput_items_per_s"])


def _cell(case: Row, best: float) -> str:
    rate, low, high = (_number(float(case[f"throughput_items_per_s{limit}"])) for limit in ("", "_ci_low", "_ci_high"))
    return f"{f'**{rate}**' if _rate(case) == best else rate} [{low}, {high}]"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 20 else f"{value:.1f}"
