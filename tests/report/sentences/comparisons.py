"""Random pairs of sweeps for `hpcbench compare`, and an evaluation of each verdict by a few lines of pandas."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.stats

from hpcbench.analysis.cases.quantities import TIME
from hpcbench.analysis.studies.comparison import Comparison, compare
from hpcbench.collect.table import MetricColumn
from hpcbench.report.load.metrics import quantities_of
from hpcbench.report.terminal.comparison import in_words, summary
from tests.analysis.conftest import MEASURED, SETTINGS, USUAL, WHOLE, Row
from tests.report.sentences.truth import Values, close

METRICS = {
    "metric_rate_it_per_s": MetricColumn("rate", "it/s", "higher"),
    "metric_loss": MetricColumn("loss", "", "lower"),
    "metric_level": MetricColumn("level", "", None),
}
_BETTER = {"time_median_s": -1, "metric_rate_it_per_s": 1, "metric_loss": -1}
_CHANGES = (1.0, 1.0, 1.001, 0.998, 1.012, 1.05, 0.9, 1.5, 0.5)
_FEWEST, _LEVEL = 5, 0.01


class Pair(NamedTuple):
    """Two tables of runs, BASE and NEW, and the margin of `compare`."""

    base: pd.DataFrame
    new: pd.DataFrame
    margin: float
    has_metrics: bool


def random_pair(seed: int) -> Pair:
    rng = np.random.default_rng([1, seed])
    has_metrics, noise = bool(rng.random() < 0.3), float(rng.choice([0.0, 1e-3, 0.01, 0.1, 1.0]))
    sides: tuple[list[Row], list[Row]] = ([], [])
    faults = float(rng.choice([0.0, 0.0, 0.15]))
    for place in range(int(rng.integers(1, 7))):
        time_s, change, runs = 10.0 ** rng.uniform(-4, 1), float(rng.choice(_CHANGES)), int(rng.integers(1, 13))
        for number, rows in enumerate(sides):
            if rng.random() < 0.3 * faults:
                continue
            own = {**USUAL, **SETTINGS, "case": f"case-{place}", "case_index": place, "sweep": ("old", "new")[number]}
            own |= {"flops_per_item": 200 + int(rng.random() < 0.3 * faults)}
            count = runs if rng.random() < 0.7 else int(rng.integers(1, 13))
            centre = float(time_s) * change**number * float(rng.choice([1.0, 1.0, 0.0], p=[0.5, 0.49, 0.01]))
            with_interference = float(rng.choice([0.0, 0.5, 1.0], p=[0.7, 0.2, 0.1])) if faults else 0.0
            for repetition in range(count):
                rows.append(
                    _run(rng, own, repetition, centre, noise, faults, with_interference, has_metrics=has_metrics)
                )
    if not sides[0] or not sides[1]:
        return random_pair(seed + 1_000_000)
    old, now = (pd.DataFrame(rows).astype(dict.fromkeys(WHOLE, "Int64")) for rows in sides)
    return Pair(old, now, float(rng.choice([0.0, 0.01, 0.01, 0.1])), has_metrics)


def _run(
    rng: np.random.Generator,
    own: Row,
    repetition: int,
    centre: float,
    noise: float,
    faults: float,
    with_interference: float,
    *,
    has_metrics: bool,
) -> Row:
    if rng.random() < faults:
        lost = {**own, **dict.fromkeys(MEASURED), **dict.fromkeys(METRICS if has_metrics else ())}
        return {**lost, "run": repetition, "status": "failed", "error": "it broke", "times_s": np.array(())}
    times = centre * rng.lognormal(0, noise) * rng.lognormal(0, 0.01, int(rng.choice([1, 3])))
    noisy = rng.random() < with_interference
    verdict = {"interference": "interference" if noisy else "clean", "interference_causes": "cpu" if noisy else None}
    found: Row = {**own, **verdict, "run": repetition, "times_s": np.round(times, 9)}
    if has_metrics:
        found["metric_rate_it_per_s"] = None if rng.random() < faults else 1 / max(float(np.median(times)), 1e-9)
        found["metric_loss"] = float(rng.lognormal(0, noise)) - float(rng.random() < 0.01)
        found["metric_level"] = 1.0
    return found


def false_in_comparison(pair: Pair) -> Iterator[str]:
    metrics = quantities_of(METRICS if pair.has_metrics else {})
    found = compare(pair.base, pair.new, pair.margin, metrics.values(), ["experiment", "framework"])
    columns = [TIME.column, *(METRICS if pair.has_metrics else ())]
    sides = _values(pair.base, columns), _values(pair.new, columns)
    yield from _of_rows(found, pair, sides)
    for _, row in found.rows.iterrows():
        key = row["case"], row["quantity"]
        refusal = _refusal(*key, pair, sides)
        if pd.isna(row["ratio"]) != (refusal is not None):
            yield f"{key}: {row['verdict']}, {row['reason']}; not {refusal}"
        elif refusal is None:
            yield from _of_ratio(row, *(side[key] for side in sides), pair.margin)
            yield from _of_words(row, in_words(row, metrics))
        elif row["verdict"] != refusal[0] or not str(row["reason"]).startswith(refusal[1]):
            yield f"{key}: {row['verdict']}, {row['reason']}; not {refusal}"
    yield from _of_summary(found, summary(found))
    yield from _of_corrections(found, sides)


def _valid(rows: pd.DataFrame) -> pd.DataFrame:
    ended = rows[rows["status"] == "completed"]
    clean = ended[ended["interference"] != "interference"]
    return clean if len(clean) else ended


def _values(table: pd.DataFrame, columns: list[str]) -> dict[tuple[str, str], Values]:
    found = {}
    for case, rows in table.groupby("case"):
        for column in columns:
            valid = _valid(rows)
            numbers = valid["times_s"].map(np.median) if column == TIME.column else valid[column].dropna()
            if len(numbers):
                found[str(case), column] = numbers.to_numpy(dtype=np.float64)
    return found


def _of_rows(found: Comparison, pair: Pair, sides: tuple[Any, Any]) -> Iterator[str]:
    """Each case is there once for each quantity."""
    cases = {*pair.base["case"], *pair.new["case"]}
    if cases != {*found.rows["case"]} or found.rows.duplicated(["case", "quantity"]).any():
        yield f"cases {cases}, not {list(found.rows['case'])}"
    for case, column in {*sides[0]} & {*sides[1]}:
        rows = found.rows[found.rows["case"] == case]
        refused = rows["ratio"].isna().all() and len(rows) == 1
        if not refused and not (rows["quantity"] == column).any():
            yield f"{column} of {case} is missing"


def _of_ratio(row: pd.Series[Any], old: Values, now: Values, margin: float) -> Iterator[str]:
    word, log = row["verdict"], math.log(row["ratio"])
    about = f"{row['case']} {row['quantity']} {word}, ratio {row['ratio']}, {old} and {now}: {row['reason']}"
    if not close(row["ratio"], float(np.median(now) / np.median(old))):
        yield f"another ratio: {about}"
    if (row["base_runs"], row["new_runs"]) != (old.size, now.size):
        yield f"another number of runs: {about}"
    sign = _BETTER[row["quantity"]]
    if word in ("faster", "slower", "better", "worse"):
        improved = sign * log > 0
        if improved != (word in ("faster", "better")) or (word in ("faster", "slower")) != (
            row["quantity"] == TIME.column
        ):
            yield f"wrong direction: {about}"
        if abs(log) <= math.log1p(margin) or min(old.size, now.size) < _FEWEST:
            yield f"within the margin, or of few runs: {about}"
        if scipy.stats.mannwhitneyu(old, now, method="exact").pvalue > _LEVEL * 1.0001:
            yield f"the ranks do not differ: {about}"
    if word == "same" and (abs(log) > math.log1p(margin) * (1 + 1e-9) or min(old.size, now.size) < 2):
        yield f"beyond the margin, or of one run: {about}"
    if word == "inconclusive":
        yield from _of_doubt(row, old, now, margin, about)


def _of_doubt(row: pd.Series[Any], old: Values, now: Values, margin: float, about: str) -> Iterator[str]:
    """What is inconclusive is not plain to see, and the reason is true."""
    reason, log = str(row["reason"]), math.log(row["ratio"])
    clear = old.max() * (1 + margin) < now.min() or now.max() * (1 + margin) < old.min()
    if min(old.size, now.size) >= 8 and clear and abs(log) > 2 * math.log1p(margin) and row["p_value"] < 1e-6:
        yield f"it can be told: {about}"
    if "overlap" in reason and (old.max() < now.min() or now.max() < old.min()):
        yield f"they do not overlap: {about}"
    if "too few" in reason and min(old.size, now.size) >= _FEWEST:
        yield f"they are not too few: {about}"
    told = re.match(r"(\d+)(?: and (\d+))? runs?(?: per side)?", reason)
    if told and (int(told[1]), int(told[2] or told[1])) != (old.size, now.size):
        yield f"other numbers of runs: {about}"


def _of_words(row: pd.Series[Any], text: str) -> Iterator[str]:
    told = re.search(r"ratio ([\d.e+-]+)", text)
    if told is None or not math.isclose(float(told[1]), row["ratio"], rel_tol=0.006, abs_tol=0.0006):
        yield f"{row['ratio']}: {text}"
    limits = re.search(r"\(([\d.e+-]+) - ([\d.e+-]+)\)", text)
    if limits and not float(limits[1]) * 0.994 - 6e-4 <= row["ratio"] <= float(limits[2]) * 1.006 + 6e-4:
        yield f"the interval does not contain {row['ratio']}: {text}"


def _refusal(case: str, column: str, pair: Pair, sides: tuple[Any, Any]) -> tuple[str, str] | None:
    """Verdict and reason of what cannot be compared; None if it can be."""
    tables = [table[table["case"] == case] for table in (pair.base, pair.new)]
    if not all(map(len, tables)):
        return ("missing", "only in BASE") if len(tables[0]) else ("not compared", "only in NEW")
    timed, valid = [(case, TIME.column) in side for side in sides], [_valid(rows) for rows in tables]
    if not timed[0]:
        return "not compared", "not measured in BASE" + ("" if timed[1] else " nor in NEW")
    if not timed[1]:
        return "missing", "not measured in NEW"
    noisy = [name for name, rows in zip(("BASE", "NEW"), valid, strict=True) if (rows["interference"] != "clean").any()]
    if noisy:
        return "not compared", f"interference in every run of {' and of '.join(noisy)} "
    work = [rows["flops_per_item"].iloc[0] for rows in valid]
    if work[0] != work[1]:
        return "not compared", f"different workload: flops_per_item {work[0]} in BASE, {work[1]} in NEW"
    values = [side.get((case, column)) for side in sides]
    if values[0] is None or values[1] is None:
        return ("missing", "not measured in NEW") if values[1] is None else ("not compared", "not measured in BASE")
    if column == "metric_level":
        return "not compared", "the better direction is unknown"
    return None if min(values[0].min(), values[1].min()) > 0 else ("not compared", "no ratio (a value is 0 or less)")


def _of_summary(found: Comparison, text: str) -> Iterator[str]:
    told = {match[2]: int(match[1].replace(",", "")) for match in re.finditer(r"([\d,]+) ([a-z ]+?)(?=, | \()", text)}
    counts = found.rows["verdict"].value_counts().to_dict()
    if {word: told.get(word) for word in counts} != counts:
        yield f"{counts}: {text}"
    tests = re.search(r"over ([\d,]+) comparisons?", text)
    if tests is None or int(tests[1].replace(",", "")) != found.rows["p_value"].notna().sum():
        yield f"{found.rows['p_value'].notna().sum()} comparisons: {text}"


def _of_corrections(found: Comparison, sides: tuple[Any, Any]) -> Iterator[str]:
    """P-values are those of Welch's test of logarithms, corrected by Benjamini and Hochberg."""
    rows = found.rows[found.rows["p_value"].notna()]
    pairs = [[np.log(side[key]) for side in sides] for key in zip(rows["case"], rows["quantity"], strict=True)]
    noisy = [sum(each.std() for each in pair) > 1e-9 for pair in pairs]
    raw = [
        scipy.stats.ttest_ind(*pair, equal_var=False).pvalue if varies else float(abs(pair[0][0] - pair[1][0]) < 1e-12)
        for pair, varies in zip(pairs, noisy, strict=True)
    ]
    order = sorted(range(len(raw)), key=lambda place: -raw[place])
    lowest = 1.0
    for rank, place in enumerate(order):
        lowest = min(lowest, raw[place] * len(raw) / (len(raw) - rank))
        if abs(lowest - rows["p_value"].iloc[place]) > 1e-6 + 1e-3 * lowest:
            yield f"corrected p {lowest}, not {rows['p_value'].iloc[place]}: {rows['case'].iloc[place]}"
