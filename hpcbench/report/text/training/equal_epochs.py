"""Accuracy after equal epochs as columns of text, for terminal and page, and as curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from hpcbench.analysis.cases.labels import telling_apart
from hpcbench.analysis.results import Results
from hpcbench.analysis.training import equal_epochs
from hpcbench.analysis.training.equal_epochs import ARM, DIFFERENCE, MARGIN, RUNS, accuracy_by_epoch
from hpcbench.collect.table import identifying_columns
from hpcbench.report.text.ranking import INTERVAL, columns_in_words
from hpcbench.report.text.text_columns import Column
from hpcbench.report.text.units import header_of
from hpcbench.util.text import plural

TITLE = "Accuracy after equal epochs"
RULE = (
    "Trainings on several ranks, compared with the same training on one rank that has the same batch size per rank, or "
    "the same global batch size, after the last epoch before any of these runs reached the target. "
    f"Differences below {MARGIN:g} count as equal. The CI is over seeds. With one seed, it "
    "is over runs, does not describe other seeds, and gives no verdict."
)
_Training = tuple[str, ...]  # sweep and cases
_ALWAYS = ("strategy", "ranks", "batch_size")
_IN_NAMES = ("averaging_period", "nodes", "cpus_per_task", "gpus_per_task", "launch")  # if they differ
_EQUAL, _N, _EPOCHS = 1, 2, 3  # Column.gives_way
_BATCH = {equal_epochs.EQUAL_PER_RANK: "batch per rank", equal_epochs.EQUAL_GLOBAL: "global batch"}


def equal_epochs_of(results: Results) -> pd.DataFrame:
    """Return the comparisons that the cases allow (see equal_epochs.equal_epochs)."""
    return equal_epochs.equal_epochs(results, identifying_columns(results.cases))


def equal_epochs_columns(results: Results, rows: pd.DataFrame) -> list[Column]:
    """Return the columns of the comparisons, with those that tell the rows apart."""
    shown = _telling_apart(results, rows)
    limits = tuple(map(_limits, rows[DIFFERENCE.limits[0]], rows[DIFFERENCE.limits[1]]))
    measured = [
        Column("equal", tuple(map(_BATCH.__getitem__, rows["equal_batch"])), _EQUAL, is_text=True),
        Column("epoch", tuple(map(str, rows["epoch"]))),
        Column("accuracy", _cells(rows["accuracy"], _accuracy)),
        Column("one rank", _cells(rows["base_accuracy"], _accuracy)),
        Column("difference", _cells(rows[DIFFERENCE.column], "{:+.4f}".format)),
        *([Column(INTERVAL, limits, is_interval=True)] if any(limits) else []),
        Column("n", tuple(map(_counted, rows["n"], rows["basis"])), _N, is_text=True),
        Column("verdict", tuple(map(_verdict, rows["verdict"], rows["basis"])), is_text=True),
        Column("epochs to target", tuple(map(_reached, rows["epochs_to_target"], rows["missed"])), _EPOCHS),
        Column("epochs, one rank", tuple(map(_reached, rows["base_epochs_to_target"], rows["base_missed"])), _EPOCHS),
    ]
    return [*columns_in_words(rows, [*shown, *_ALWAYS], measured), *measured]


def curves_of(results: Results, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the mean accuracy by epoch of each arm, in the form of `collect.curves`."""
    found: dict[_Training, pd.Series[float]] = {}
    labels: dict[_Training, str] = {}
    shown = _telling_apart(results, rows)
    several, apart = ([name for name in shown if (name in ARM) is of_arm] for of_arm in (False, True))
    for row in rows.to_dict("records"):
        of = "".join(f"{row[name]} " for name in several)
        others = "".join(f", {header_of(name)} {row[name]}" for name in apart if pd.notna(row[name]))
        name = f"{of}{row['strategy']}, {row['ranks']} ranks x {row['batch_size']}{others}"
        ranks = row["ranks"] if row["equal_batch"] == equal_epochs.EQUAL_GLOBAL else 1
        base = f"{of}{row['base_strategy']}, 1 rank x {row['batch_size'] * ranks}"
        for label, cases in ((base, "base_cases"), (name, "cases")):
            key = (row["sweep"], *row[cases])
            curve = accuracy_by_epoch(results, row, cases)
            if key not in found or len(curve) > len(found[key]):  # comparisons can end after different epochs
                found[key] = curve
            labels[key] = label
    names = _distinct(labels, results)
    frames = [
        pd.DataFrame(
            {"case": names[key], "name": "accuracy", "axis": "epoch", "step": curve.index, "value": curve.values}
        )
        for key, curve in found.items()
    ]
    return pd.concat(frames, ignore_index=True)


def _distinct(labels: Mapping[_Training, str], results: Results) -> dict[_Training, str]:
    """Return the labels, and with them the columns of ARM in which trainings with the same label differ."""
    cases = {(case["sweep"], case["case"]): case for case in results.cases.to_dict("records")}
    firsts = {key: cases[key[0], key[1]] for key in labels}
    told = {}
    for key, label in labels.items():
        alike = [firsts[other] for other, text in labels.items() if text == label]
        differing = [name for name in ARM if name in results.cases and len({str(case[name]) for case in alike}) > 1]
        told[key] = label + "".join(f", {header_of(name)} {firsts[key][name]}" for name in differing)
    return told


def _telling_apart(results: Results, rows: pd.DataFrame) -> list[str]:
    """Return the columns that tell the rows apart, in addition to strategy, ranks and batch size."""
    names = [name for name in identifying_columns(results.cases) if name not in ARM]
    return telling_apart(rows, [*names, *(name for name in _IN_NAMES if name in rows)])


def _cells(values: pd.Series[Any], written: Callable[[float], str]) -> tuple[str, ...]:
    return tuple(map(written, values))


def _accuracy(value: float) -> str:
    return f"{value:.4f}"


def _limits(low: Any, high: Any) -> str:
    return "" if pd.isna(low) or pd.isna(high) else f"{low:+.4f} - {high:+.4f}"


def _counted(count: int, basis: str) -> str:
    return plural(count, basis.removesuffix("s"))


def _verdict(verdict: str, basis: str) -> str:
    return f"{verdict} (one seed)" if basis == RUNS else verdict


def _reached(epochs: Any, missed: int) -> str:
    """Return the epochs to the target: `7`, `7, 1 missed`, `missed`."""
    if pd.isna(epochs):
        return "missed"
    return f"{epochs:g}, {missed} missed" if missed else f"{epochs:g}"
