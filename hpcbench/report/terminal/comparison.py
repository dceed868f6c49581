"""A comparison of two sweeps on a terminal: worst first, with a summary; plain text in a pipe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
from rich.console import Console
from rich.text import Text

from hpcbench.analysis.cases.labels import label, telling_apart
from hpcbench.analysis.cases.quantities import TIME, WALL_TIME, Quantity
from hpcbench.analysis.stats.equivalence import FALSE_DISCOVERY_RATE, FASTER, INCONCLUSIVE, SLOWER
from hpcbench.analysis.studies.comparison import BETTER, MISSING, NOT_COMPARED, WORSE, Comparison
from hpcbench.core.run_spec import COMMAND
from hpcbench.core.samples import PROBED
from hpcbench.report.text.counts import print_omitted
from hpcbench.report.text.numbers import column_format, factor, formatter, percent
from hpcbench.report.text.ranking import INTERVAL, columns_in_words, heading
from hpcbench.report.text.text_columns import Column, as_table

Metrics = Mapping[str, Quantity]  # metrics of commands, by column

_STYLES = {SLOWER: "red", WORSE: "red", INCONCLUSIVE: "yellow", FASTER: "green", BETTER: "green", MISSING: "red"}


def print_comparison(
    comparison: Comparison,
    candidates: list[str],
    metrics: Metrics,
    top: int,
    console: Console,
) -> None:
    """Print at most `top` rows with a ratio and `top` without a verdict; `candidates` are columns to identify cases."""
    rows = comparison.rows
    shown = telling_apart(rows, candidates)
    console.print(Text(f"{comparison.new} (NEW) compared to {comparison.base} (BASE)", style="italic"), soft_wrap=True)
    compared = rows[rows["ratio"].notna()]
    if len(compared):
        console.print(as_table(columns_of(compared.head(top), shown, metrics)))
        print_omitted(len(compared) - top, console, "--json")
    doubtful = rows[rows["verdict"].isin([INCONCLUSIVE, MISSING, NOT_COMPARED])]
    for _, row in doubtful.head(top).iterrows():
        word = (row["verdict"], _STYLES.get(row["verdict"], ""))
        console.print(Text.assemble(word, f" {named(row, shown, metrics)}: {row['reason']}"), soft_wrap=True)
    print_omitted(len(doubtful) - top, console, "--json")
    _print_notes(comparison, console)
    console.print(summary(comparison), soft_wrap=True)


def summary(comparison: Comparison) -> str:
    """Return one line with the counts of the verdicts and the rule."""
    rule = f"margin {percent(comparison.margin)}, false discovery rate {percent(FALSE_DISCOVERY_RATE)}"
    tests = int(comparison.rows["p_value"].notna().sum())
    over = "1 comparison" if tests == 1 else f"{tests:,} comparisons"
    return f"{verdicts_in_words(comparison)} ({rule} over {over} by Benjamini and Hochberg, 95 % CI)"


def verdicts_in_words(comparison: Comparison) -> str:
    """Return the counts of the verdicts, worst first: `1 slower, 2 same`."""
    return ", ".join(f"{count:,} {word}" for word, count in comparison.counts().items()) or "nothing compared"


def in_words(row: pd.Series[Any], metrics: Metrics) -> str:
    """Return `29.1 ms in BASE, 30.1 ms in NEW, ratio 1.034 (1.021 - 1.047)`, and the reason if there is one."""
    if pd.isna(row["ratio"]):
        return str(row["reason"])
    base, new = (_written(row, name, metrics) for name in ("base_median", "new_median"))
    text = f"{base} in BASE, {new} in NEW, ratio {factor(row['ratio'])}"
    text += f" ({_interval(row)})" if _interval(row) else ""
    return text if pd.isna(row["reason"]) else f"{text}; {row['reason']}"


def quantity_of(row: pd.Series[Any], metrics: Metrics) -> Quantity:
    """Return the quantity of a row: one of `metrics`, or the time, which is the wall time of a command."""
    is_whole = row["framework"] == COMMAND and pd.isna(row[PROBED])
    return metrics.get(row["quantity"], WALL_TIME if is_whole else TIME)


def columns_of(rows: pd.DataFrame, shown: list[str], metrics: Metrics) -> list[Column]:
    """Return the table of rows with a ratio; `shown` are the columns that identify cases."""
    each = [row for _, row in rows.iterrows()]
    quantities = [quantity_of(row, metrics) for row in each]
    columns: list[Column] = []
    if any(quantity != TIME for quantity in quantities):
        columns.append(Column("quantity", tuple(map(heading, quantities)), is_text=True))
    columns += _medians(rows, quantities)
    columns += [Column("ratio", tuple(map(factor, rows["ratio"]))), Column(INTERVAL, tuple(map(_interval, each)))]
    counts = list(zip(rows["base_runs"], rows["new_runs"], strict=True))
    same = all(old == new for old, new in counts)
    runs = tuple(str(old) if old == new else f"{old}, {new}" for old, new in counts)
    columns.append(Column("n" if same else "n BASE, NEW", runs))
    styles = tuple(_STYLES.get(verdict, "") for verdict in rows["verdict"])
    columns.append(Column("verdict", tuple(rows["verdict"]), is_text=True, styles=styles))
    return [*columns_in_words(rows, shown, columns), *columns]


def named(row: pd.Series[Any], shown: list[str], metrics: Metrics) -> str:
    """Return the name of a row in a sentence: its case, and its quantity unless that is the time."""
    quantity = quantity_of(row, metrics)
    return label(row, shown) if quantity == TIME else f"{label(row, shown)} {heading(quantity)}"


def _medians(rows: pd.DataFrame, quantities: list[Quantity]) -> Iterator[Column]:
    """Yield the columns BASE and NEW, with the unit of the quantity unless there are several."""
    sides = [rows[f"{side}_median"].tolist() for side in ("base", "new")]
    unit, only = column_format(quantities[0], pd.Series([*sides[0], *sides[1]], dtype="float64"))
    alike = len(set(quantities)) == 1
    written = [only if alike else formatter(quantity) for quantity in quantities]
    for side, values in zip(("BASE", "NEW"), sides, strict=True):
        cells = tuple(write(value) for write, value in zip(written, values, strict=True))
        yield Column(f"{side} ({unit})" if alike and unit else side, cells)


def _written(row: pd.Series[Any], name: str, metrics: Metrics) -> str:
    return formatter(quantity_of(row, metrics))(row[name])


def _interval(row: pd.Series[Any]) -> str:
    limits = row["ratio_ci_low"], row["ratio_ci_high"]
    return "" if pd.isna(limits[0]) else " - ".join(map(factor, limits))


def notes(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Yield what else differs between the sweeps, and what is odd about them: a level and a sentence each."""
    for name, (base, new) in comparison.versions.items():
        yield "", f"{name}: {base} in BASE, {new} in NEW"
    for kind, differing in (("machines", comparison.machines), ("settings", comparison.settings)):
        for name, (base, new) in differing.items():
            yield "warning", f"{name} is {base} in BASE and {new} in NEW: the ratios also compare the {kind}"
    for warning in comparison.warnings:
        yield "warning", warning


def _print_notes(comparison: Comparison, console: Console) -> None:
    for level, sentence in notes(comparison):
        console.print(Text.assemble((level, "yellow"), ": " if level else "", sentence), soft_wrap=True)
