"""The table of cases on a terminal: best first, failures below, plain text in a pipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hpcbench.analysis.cost import RANKED as COSTS
from hpcbench.analysis.latency import INFERENCE, PERCENTILES, short_name
from hpcbench.analysis.statistics import FEWEST_TO_RESAMPLE
from hpcbench.analysis.summary import differing_work, varying, work_groups
from hpcbench.collect.table import MetricColumn
from hpcbench.config.metrics import interval_columns
from hpcbench.config.parameters import TAG
from hpcbench.monitor.interference import DISTURBED
from hpcbench.node.catalog import TIME_TO_ACCURACY
from hpcbench.node.outcomes import COMPLETED
from hpcbench.node.planned import COMMAND

METRICS = {  # column: smaller is better
    "time_median_s": True,
    "throughput_items_per_s": False,
    "speedup": False,
    "peak_memory_bytes": True,
    **dict.fromkeys(COSTS, True),
    **dict.fromkeys(PERCENTILES, True),
}
TAIL = "time_p99_s"  # of inference, beside the median
MOST_COLUMNS = 10_000

_MEMORY = ("peak_memory_bytes", "peak_device_bytes")


def telling_apart(cases: pd.DataFrame, candidates: list[str]) -> list[str]:
    """The columns, of those that may, by which a reader tells the cases apart."""
    shown = [name for name in varying(cases, candidates) if name != "framework_version"]
    if len(shown) > 1:  # what a command was made of says the same in fewer words
        shown = [name for name in shown if name != "command"]
    return shown


def label(case: pd.Series[Any], shown: list[str]) -> str:
    """A case in words, as `nodes=2 batch_size=64`."""
    return " ".join(f"{name.removeprefix(TAG)}={cell(case[name])}" for name in shown) or str(case["case"])


def print_report(
    cases: pd.DataFrame,
    shown: list[str],
    metric: str,
    top: int,
    console: Console,
    metrics: Mapping[str, MetricColumn] | None = None,
) -> None:
    """Print ranked cases, the first `top` of each kind; `shown` are the columns that tell them apart."""
    groups = work_groups(cases)
    measured = sorted(set(groups[groups >= 0]))
    for number in measured:
        alike = cases[groups == number]
        own = varying(alike, shown) + ([metric] if metric in ("peak_memory_bytes", *COSTS) else [])
        commands = alike.iloc[0]["framework"] == COMMAND
        title = _title_of_commands(alike) if commands else _title(alike)
        console.print(Text(title, style="italic"), soft_wrap=True)
        best, tail = alike.head(top), [metric] if metric in PERCENTILES else []
        console.print(_commands(best, own, tail, metrics or {}) if commands else _models(best, own, tail, console))
        _say_more(len(alike) - top, console)
    for warning, count in cases["warnings"].value_counts().items():
        counted = f" ({count} cases)" if count > 1 else ""
        console.print(Text.assemble(("warning", "yellow"), f": {warning}{counted}"), soft_wrap=True)
    _say_of_autocorrelation(cases, console)
    if len(measured) > 1:
        differing = ", ".join(differing_work(cases))
        console.print(f"Ranked apart, because their work differs in: {differing}.", soft_wrap=True)
    failed = cases[cases["status"] != COMPLETED]
    for _, case in failed.head(top).iterrows():
        log = "" if pd.isna(case["log"]) else f" (log: {case['log']})"
        reason = "" if pd.isna(case["error"]) else f": {case['error']}{log}"
        console.print(Text.assemble((case["status"], "red"), f" {label(case, shown)}{reason}"), soft_wrap=True)
    _say_more(len(failed) - top, console)


def _say_of_autocorrelation(cases: pd.DataFrame, console: Console) -> None:
    """Whose intervals it widens. Those of two to five repetitions rest on their medians alone."""
    by_samples = (cases["repetitions"] == 1) | (cases["repetitions"] >= FEWEST_TO_RESAMPLE)
    correlated = by_samples & (cases["effective_samples"].astype(float) < cases["samples"].astype(float))
    if correlated.any():
        counted = "1 case" if correlated.sum() == 1 else f"{correlated.sum():,} cases"
        console.print(
            f"Samples of {counted} are autocorrelated: the interval takes them for fewer ones that are independent; "
            "the column effective_samples of --csv says for how many.",
            soft_wrap=True,
        )


def _say_more(count: int, console: Console) -> None:
    if count > 0:
        console.print(f"... and {count:,} more: see them all with --top, or in the file of --csv")


def _title(cases: pd.DataFrame) -> str:
    """What all of these cases share: their work, and the framework and device where they are the same."""
    first = cases.iloc[0]
    shared = [first[name] for name in ("framework", "device") if cases[name].nunique() == 1]
    work = [first["model"], first["task"], first["dtype"]]
    sizes = [f"batch size {first['batch_size']}"] if cases["batch_size"].nunique() == 1 else []
    return ", ".join([" ".join(work + shared), *sizes, f"{int(first['parameter_count']):,} parameters"])


def _title_of_commands(cases: pd.DataFrame) -> str:
    lines = cases["command"].unique()
    return f"{cases.iloc[0]['experiment']}: {lines[0] if len(lines) == 1 else 'commands'}"


def table_with(shown: list[str]) -> Table:
    """A table that begins with these columns."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in shown:
        header = name.removeprefix(TAG).replace("_", " ")
        header = header.removesuffix(" bytes") if name in _MEMORY else header
        table.add_column(Text(header), justify="right", overflow="fold")
    return table


def _commands(cases: pd.DataFrame, shown: list[str], tail: list[str], metrics: Mapping[str, MetricColumn]) -> Table:
    """Commands with their metrics and the time that they took; nothing is said of work that nobody knows."""
    table = table_with(shown)
    measured = {column: metric for column, metric in metrics.items() if cases[column].notna().any()}
    headers = [f"{metric.name}\n{metric.unit}".replace("_", " ") for metric in measured.values()]
    for name in (*(part for header in headers for part in (header, "95 % interval")), "time", *map(short_name, tail)):
        table.add_column(Text(name), justify="right", no_wrap=True)
    if not measured:
        table.add_column("95 % interval", justify="right", no_wrap=True)
    _add_counts(table, cases)
    for _, case in cases.iterrows():
        cells = [figure(case[column]) for column in measured]
        limits = [interval_columns(column) for column in measured]
        intervals = [_between(case[low], case[high], figure) for low, high in limits]
        table.add_row(
            *(Text(_shown(case, name)) for name in shown),
            *(cell for pair in zip(cells, intervals, strict=True) for cell in pair),
            duration(case["time_median_s"]),
            *(duration(case[name]) for name in tail),
            *([] if measured else [_between(case["time_ci_low_s"], case["time_ci_high_s"], duration)]),
            *_counts(case, cases),
        )
    return table


def _add_counts(table: Table, cases: pd.DataFrame) -> None:
    """Columns for `n`, the repetitions that the numbers are of, and for the disturbed ones, where there are any."""
    for name in ("n", *(["disturbed"] if (cases["disturbed"] > 0).any() else [])):
        table.add_column(name, justify="right", no_wrap=True)


def _counts(case: pd.Series[Any], cases: pd.DataFrame) -> list[str]:
    """As `4` and `2 left out`, or `6` and `6 used`, where nothing else was measured."""
    if not (cases["disturbed"] > 0).any():
        return [str(case["repetitions"])]
    used = "used" if case["interference"] == DISTURBED else "left out"
    return [str(case["repetitions"]), f"{case['disturbed']} {used}" if case["disturbed"] else ""]


def _shown(case: pd.Series[Any], name: str) -> str:
    if name in COSTS:
        return figure(case[name])
    return _memory(case[name]) if name in _MEMORY else cell(case[name])


def _between(low: Any, high: Any, written: Callable[[float], str]) -> str:
    return "" if pd.isna(low) else f"{written(low)} - {written(high)}"


def _models(cases: pd.DataFrame, shown: list[str], tail: list[str], console: Console) -> Table:
    """Models, with the tail of inference where it is known and no word of the table has to be broken for it."""
    if not tail and cases.iloc[0]["task"] == INFERENCE and cases[TAIL].notna().any():
        table = _table(cases, shown, [TAIL])
        wide = console.options.update(max_width=MOST_COLUMNS)
        if console.measure(table, options=wide).minimum <= console.width:
            return table
    return _table(cases, shown, tail)


def _table(cases: pd.DataFrame, shown: list[str], tail: list[str]) -> Table:
    table = table_with(shown)
    learning = cases.iloc[0]["task"] == TIME_TO_ACCURACY
    rate = ("epochs", "accuracy") if learning else ("items/s",)
    for name in ("time", "95 % interval", *map(short_name, tail), *rate, "speedup"):
        table.add_column(name, justify="right", no_wrap=True)
    _add_counts(table, cases)
    for _, case in cases.iterrows():
        speedup = "" if pd.isna(case["speedup"]) else f"{case['speedup']:.2f}x"
        reached = (f"{case['epochs']:g}", f"{case['accuracy']:.4f}") if learning else ()
        items = case["throughput_items_per_s"]
        table.add_row(
            *(Text(_shown(case, name)) for name in shown),
            duration(case["time_median_s"]),
            _between(case["time_ci_low_s"], case["time_ci_high_s"], duration),
            *(duration(case[name]) for name in tail),
            *(reached or ("-" if pd.isna(items) else f"{items:,.1f}",)),
            speedup,
            *_counts(case, cases),
        )
    return table


def figure(value: float) -> str:
    """Four digits, or the whole part where that is longer: `0.01234`, `12.35`, `12,346`."""
    if pd.isna(value):
        return "-"
    return f"{value:,.0f}" if 9999.5 <= abs(value) < 1e15 else f"{value:,.4g}"


def duration(seconds: float) -> str:
    """Seconds with the unit that fits: `1.23 s`, `29.1 ms`, `4.56 us`; a dash where they are not known."""
    if pd.isna(seconds):
        return "-"
    for factor, unit in ((1e-9, "ns"), (1e-6, "us"), (1e-3, "ms")):
        if seconds < 999.5 * factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:.0f} s"


def _memory(size: Any) -> str:
    if pd.isna(size):
        return "-"
    return f"{size / 2**30:.3g} GiB" if size >= 2**30 else f"{size / 2**20:.3g} MiB"


def cell(value: Any) -> str:
    return "-" if value is None or value is pd.NA or value != value else str(value)
