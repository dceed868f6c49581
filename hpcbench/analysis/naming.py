"""Cases in words: what tells them apart, what they share, and how a sentence names one."""

from __future__ import annotations

from typing import Any

import pandas as pd

from hpcbench.config.parameters import TAG
from hpcbench.node.planned import COMMAND

LONGEST = 60  # characters of a value in a sentence
# What often follows from something else that tells cases apart, and then says nothing new.
_OFTEN_DERIVED = ("environment", "model_options", "execution", "cpus_per_task", "gpus_per_task", "batch_size")


def varying(cases: pd.DataFrame, candidates: list[str]) -> list[str]:
    """Which of the columns tell the cases apart."""
    return [name for name in candidates if name in cases and cases[name].astype(str).nunique(dropna=False) > 1]


def telling_apart(cases: pd.DataFrame, candidates: list[str]) -> list[str]:
    """The columns, of those that may, by which a reader tells the cases apart."""
    shown = [name for name in varying(cases, candidates) if name != "framework_version"]
    if len(shown) > 1:  # what a command was made of says the same in fewer words
        shown = [name for name in shown if name != "command"]
    for derived in _OFTEN_DERIVED:
        if any(_follows(cases, derived, name) for name in shown if derived in shown and name != derived):
            shown.remove(derived)
    return shown


def _follows(cases: pd.DataFrame, derived: str, name: str) -> bool:
    """Whether each value of a column stands beside one value of another."""
    pairs = cases[[derived, name]].astype(str)
    return len(pairs.drop_duplicates()) == pairs[name].nunique()


def label(case: pd.Series[Any], shown: list[str]) -> str:
    """A case in words, as `nodes=2 batch_size=64`."""
    return " ".join(f"{plain(name)}={cell(case[name])}" for name in shown) or str(case["case"])


def phrase(case: pd.Series[Any], shown: list[str]) -> str:
    """A case as a sentence names it: `pytorch with intra_op_threads=2, nodes=1`."""
    framework = cell(case["framework"]) if "framework" in shown else ""
    others = ", ".join(f"{plain(name)}={_short(cell(case[name]))}" for name in shown if name != "framework")
    return " with ".join(filter(None, (framework, others))) or str(case["case"])


def title(cases: pd.DataFrame) -> str:
    """What cases of equal work share: their work, and the framework and device where they are the same."""
    first = cases.iloc[0]
    if first["framework"] == COMMAND:
        lines = cases["command"].unique()
        return f"{first['experiment']}: {lines[0] if len(lines) == 1 else 'commands'}"
    shared = [first[name] for name in ("framework", "device") if cases[name].nunique() == 1]
    work = [first["model"], first["task"], first["dtype"]]
    sizes = [f"batch size {first['batch_size']}"] if cases["batch_size"].nunique() == 1 else []
    return ", ".join([" ".join(work + shared), *sizes, f"{int(first['parameter_count']):,} parameters"])


def short_title(cases: pd.DataFrame, all_cases: pd.DataFrame) -> str:
    """What tells cases of equal work from all others: `lstm inference`."""
    first = cases.iloc[0]
    if first["framework"] == COMMAND:
        return str(first["experiment"])
    measured = all_cases[all_cases["time_median_s"].notna()]
    differing = varying(measured, ["model", "task", "dtype", "data", "target_accuracy", "math_mode"])
    told = [cell(first[name]) for name in differing]
    alike = measured[(measured[differing].astype(str) == first[differing].astype(str)).all(axis=1)]
    if alike["parameter_count"].nunique() > 1:
        told.append(f"with {int(first['parameter_count']):,} parameters")
    elif alike["flops_per_item"].nunique() > 1:
        told.append(f"with {int(first['flops_per_item']):,} operations an item")
    return " ".join(told)


def plain(column: str) -> str:
    """A column as its user wrote it: without what marks a tag."""
    return column.removeprefix(TAG)


def cell(value: Any) -> str:
    return "-" if value is None or value is pd.NA or value != value else str(value)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
