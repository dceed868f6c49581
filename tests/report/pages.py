"""A small report page, for tests of how it is rendered; none of its numbers was measured."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from hpcbench.report.html.page_model import (
    BEST,
    WITHIN_NOISE,
    Bar,
    Cell,
    Column,
    Command,
    DataQuality,
    Fact,
    Failure,
    Figure,
    Heading,
    Headline,
    Page,
    Ranking,
    Reproduction,
    RuleKept,
    System,
    Table,
    TableRow,
)

COLUMNS = (
    Column("case", "case"),
    Column("framework", "framework"),
    Column("intra_op_threads", "threads", "number"),
    Column("time_median_s", "time", "time"),
    Column("throughput_items_per_s", "throughput", "number", "items/s"),
    Column("peak_memory_bytes", "peak memory", "bytes", shown=False),
)
ROWS: tuple[tuple[Cell, ...], ...] = (
    ("a1", "pytorch", 2, 0.00906, 7062.0, 2**30),
    ("b2", "jax", 10, 0.0109, 5865.25, 3 * 2**29),
    ("c3", "mxnet", 1, None, None, None),
    ("d4", "jax", 2, 0.0000291, 1234567.0, 2**28),
)


def chart(**changes: Any) -> dict[str, Any]:
    """Bars, as `altair.Chart.to_dict` gives them."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.1.0.json",
        "data": {"name": "data-of-bars"},
        "datasets": {"data-of-bars": [{"framework": "pytorch", "rate": 7062}, {"framework": "jax", "rate": 5865}]},
        "mark": "bar",
        "height": 160,
        "encoding": {
            "x": {"field": "rate", "type": "quantitative", "title": "items per second"},
            "y": {"field": "framework", "type": "nominal"},
            "color": {
                "field": "framework",
                "type": "nominal",
                "scale": {"range": ["var(--series-1)", "var(--series-2)"]},
            },
            "tooltip": [{"field": "framework"}, {"field": "rate"}],
        },
        **changes,
    }


def figure(number: int = 1, **spec: Any) -> Figure:
    return Figure(f"bars-{number}", f"Bars {number}", "Medians of five runs.", "PyTorch is ahead.", chart(**spec))


def table(*rows: tuple[Cell, ...], columns: tuple[Column, ...] = COLUMNS) -> Table:
    return Table(columns, rows or ROWS)


def page(**changes: Any) -> Page:
    """A page that has something in each section, but for what is changed."""
    places = (
        TableRow(("pytorch", "9.06 ms"), Bar(0.9, 0.85, 1.0), BEST),
        TableRow(("jax", "10.9 ms"), Bar(0.8, 0.7, 0.9), WITHIN_NOISE),
        TableRow(("mxnet", "20 ms"), Bar(0.4)),
    )
    given: dict[str, Any] = {
        "title": "study-20261122-022252",
        "created_at": datetime(2026, 11, 22, 2, 40, tzinfo=timezone.utc),
        "table": table(),
        "subtitle": ("4 cases on laptop (AMD EPYC)",),
        "headlines": (Headline("PyTorch is the fastest: 9.06 ms a step.", details=("Of 4 cases.",)),),
        "notices": ("Each row stands for 100 cases.",),
        "rankings": (Ranking("mlp training", (Heading("framework", False), Heading("time")), places, "and 1 more"),),
        "figures": (figure(),),
        "failures": (Failure("timeout", "stopped after 60 s", 5, ("nodes=1", "nodes=2"), "jobs/study/12.out"),),
        "trust": DataQuality(
            (Fact("runs", "12"),),
            (RuleKept(2, "subsets", False, ("1 case did not complete",), "not kept"),),
            ("A note",),
        ),
        "machines": (System("n1", (Fact("processor", "AMD EPYC"),)),),
        "again": Reproduction(
            (Command("hpcbench sweep study.yaml", "The same once more:"),), (Fact("Python", "3.11.2"),)
        ),
    }
    return Page(**{**given, **changes})
