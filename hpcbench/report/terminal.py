"""The table of cases on a terminal: best first, failures below, plain text in a pipe."""

from __future__ import annotations

from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hpcbench.analysis.summary import COMPLETED, differing_work, varying, work_groups

METRICS = {  # column: smaller is better
    "time_median_s": True,
    "throughput_items_per_s": False,
    "speedup": False,
    "peak_memory_bytes": True,
}


def print_report(cases: pd.DataFrame, candidates: list[str], metric: str, top: int, console: Console) -> None:
    """Print ranked cases, the first `top` of each kind; `candidates` are the columns that may tell them apart."""
    shown = [name for name in varying(cases, candidates) if name != "framework_version"]
    groups = work_groups(cases)
    measured = sorted(set(groups[groups >= 0]))
    for number in measured:
        alike = cases[groups == number]
        memory = ["peak_memory_bytes"] if metric == "peak_memory_bytes" else []
        console.print(_table(alike.head(top), varying(alike, shown) + memory, _title(alike)))
        _say_more(len(alike) - top, console)
    for warning, count in cases["warnings"].value_counts().items():
        counted = f" ({count} cases)" if count > 1 else ""
        console.print(Text.assemble(("warning", "yellow"), f": {warning}{counted}"), soft_wrap=True)
    if (cases["repetitions"] == 1).any():
        console.print("Where n is 1, the interval is of that one run's samples and says nothing about the next run.")
    if len(measured) > 1:
        console.print(f"Ranked apart, because their work differs in: {', '.join(differing_work(cases))}.")
    failed = cases[cases["status"] != COMPLETED]
    for _, case in failed.head(top).iterrows():
        label = " ".join(f"{name}={_cell(case[name])}" for name in shown) or case["case"]
        reason = f": {case['error']} (log: {case['log']})" if case["error"] else ""
        console.print(Text.assemble((case["status"], "red"), f" {label}{reason}"), soft_wrap=True)
    _say_more(len(failed) - top, console)


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


def _table(cases: pd.DataFrame, shown: list[str], title: str) -> Table:
    table = Table(title=Text(title), title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name in shown:
        table.add_column(name.removesuffix("_bytes").replace("_", " "), justify="right", overflow="fold")
    for name in ("time", "95 % interval", "items/s", "speedup", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    for _, case in cases.iterrows():
        low, high = case["time_ci_low_s"], case["time_ci_high_s"]
        interval = "" if pd.isna(low) else f"{duration(low)} - {duration(high)}"
        speedup = "" if pd.isna(case["speedup"]) else f"{case['speedup']:.2f}x"
        table.add_row(
            *(Text(_memory(case[name]) if name.endswith("_bytes") else _cell(case[name])) for name in shown),
            duration(case["time_median_s"]),
            interval,
            f"{case['throughput_items_per_s']:,.1f}",
            speedup,
            str(case["repetitions"]),
        )
    return table


def duration(seconds: float) -> str:
    """Seconds with the unit that fits: `1.23 s`, `29.1 ms`, `4.56 us`."""
    for factor, unit in ((1e-9, "ns"), (1e-6, "us"), (1e-3, "ms")):
        if seconds < 999.5 * factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:.0f} s"


def _memory(size: Any) -> str:
    if pd.isna(size):
        return "-"
    return f"{size / 2**30:.3g} GiB" if size >= 2**30 else f"{size / 2**20:.3g} MiB"


def _cell(value: Any) -> str:
    return "-" if value is None or value is pd.NA or value != value else str(value)
