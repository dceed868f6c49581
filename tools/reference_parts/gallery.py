"""Tables of results, from the files that tools/examples writes next to the pages of the gallery."""

from __future__ import annotations

import csv
from pathlib import Path

from reference_parts.tables import markdown_table

COMPARISON = Path(__file__).parents[2] / "docs" / "gallery" / "frameworks.csv"
Row = dict[str, str]


def framework_comparison() -> list[str]:
    """Return the throughput of each framework in items/s by network and task; the highest of each is bold."""
    with COMPARISON.open(encoding="utf-8", newline="") as file:
        cases = list(csv.DictReader(file))
    frameworks = list(dict.fromkeys(f"{case['framework']} {case['framework_version']}" for case in cases))
    works = sorted({f"{case['model']} {case['task']}" for case in cases}, key=_order)
    found = {
        (f"{case['framework']} {case['framework_version']}", f"{case['model']} {case['task']}"): case for case in cases
    }
    best = {work: max(_rate(found[framework, work]) for framework in frameworks) for work in works}
    rows = []
    for framework in sorted(frameworks):
        cells = [found[framework, work] for work in works]
        execution = cells[0]["execution"]
        rows.append(
            (f"{framework}, {execution}", *(_cell(case, best[work]) for case, work in zip(cells, works, strict=True)))
        )
    return markdown_table(("framework, execution", *works), rows)


def _order(work: str) -> tuple[int, str]:
    return ("resnet50", "lstm", "transformer").index(work.split()[0]), work


def _rate(case: Row) -> float:
    return float(case["throughput_items_per_s"])


def _cell(case: Row, best: float) -> str:
    """Return the throughput with its 95 % CI."""
    low, high = (float(case[f"throughput_items_per_s_ci_{end}"]) for end in ("low", "high"))
    rate = _number(_rate(case))
    return f"{f'**{rate}**' if _rate(case) == best else rate} [{_number(low)}, {_number(high)}]"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 20 else f"{value:.1f}"
