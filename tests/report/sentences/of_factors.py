"""What is false about the sentences on factors."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd

from hpcbench.analysis.results import Results
from hpcbench.analysis.studies.importance import Importance
from hpcbench.report.text.importance_sentences import sentences as of_importance
from hpcbench.report.text.insights import importances
from tests.report.sentences.truth import BETTER, RATIO, Key, Truth


def of_factors(results: Results, truth: Truth) -> Iterator[str]:
    for found in importances(results):
        if found.reason:
            continue
        texts = of_importance(found)
        keys = _cases_of(results, found, truth)
        yield from _of_shares(found, texts, keys, truth)
        names = [name for name in results.shown if name in truth.rows]
        for text in texts:
            yield from _of_effect(text, found, keys, names, truth)
            yield from _of_noise(text, found, keys, names, truth)
            yield from _of_few(text, found, keys, truth)


def _cases_of(results: Results, found: Importance, truth: Truth) -> list[Key]:
    of = {"speedup": "throughput_items_per_s"}  # speedups over different bases have no common scale
    ranked = [(work.cases, results.ranked_by(work).column) for work in results.workloads]
    works = [cases for cases, column in ranked if of.get(column, column) == found.quantity.column]
    keys = [key for cases in works for key in zip(cases["sweep"], cases["case"], strict=True)]
    return [key for key in keys if truth.runs_of(key, found.quantity.column).size]


def _of_shares(found: Importance, texts: list[str], keys: list[Key], truth: Truth) -> Iterator[str]:
    """The noise is what differs between the ranks of runs of a case, and shares are parts of the same whole."""
    column = found.quantity.column
    if column in ("peak_memory_bytes",) or column.startswith("time_p"):
        return
    rows = [(truth.workload(key), key, value) for key in keys for value in truth.per_item(key, column)]
    frame = pd.DataFrame(rows, columns=["work", "key", "value"])
    groups = frame.groupby("work")["value"]
    frame["rank"] = (groups.rank() - (groups.transform("size") + 1) / 2) / groups.transform("size")
    total = (frame["rank"] ** 2).sum()
    noise = ((frame["rank"] - frame.groupby("key")["rank"].transform("mean")) ** 2).sum()
    told = next(int(match[1]) for text in texts if (match := re.match(r"Noise between runs is (\d+) %", text)))
    if total > 0 and abs(told - 100 * noise / total) > 0.51:
        yield f"noise is {100 * noise / total} %, not {told} %"
    shares = [float(match[1]) for text in texts if (match := re.search(r" explains? (\d+) % of the variation", text))]
    if sum(shares) + told > 100 + len(shares) + 1:
        yield f"more than the whole: {texts}"
    if found.quantity.title not in "".join(texts):
        yield f"not about {found.quantity.title}: {texts}"


def _pairs(
    factor: str, levels: tuple[str, str], keys: list[Key], names: list[str], truth: Truth, column: str
) -> list[tuple[Key, Key]]:
    """Pairs of cases of one workload that differ in the levels of a factor, and what goes with it, alone."""
    first, _, more = factor.partition(" (with ")
    own = [
        each if each in truth.rows else f"param_{each}" for each in [first, *filter(None, more.rstrip(")").split(", "))]
    ]
    others = [name for name in names if name not in own]

    def level(key: Key) -> str:
        value = truth.case(key)[own[0]]
        return "unset" if pd.isna(value) else f"{value:g}" if isinstance(value, float) else str(value)

    def rest(key: Key) -> tuple[object, ...]:
        return truth.workload(key), *(str(truth.case(key)[name]) for name in others)

    better, worse = ([key for key in keys if level(key) == each] for each in levels)
    known = {rest(key): key for key in worse if truth.value(key, column) > 0}
    return [(key, known[rest(key)]) for key in better if rest(key) in known and truth.value(key, column) > 0]


def _of_effect(text: str, found: Importance, keys: list[Key], names: list[str], truth: Truth) -> Iterator[str]:
    column = _measured(found)
    told = re.match(rf"(.+?) explains \d+ % of .*?: (\S+) instead of (\S+) is {RATIO} (\w+) \((.+)\)", text)
    if told is None or column.startswith("time_p"):
        return
    if "values in" in told[1]:
        return  # bins
    pairs = _pairs(told[1], (told[2], told[3]), keys, names, truth, column)
    count = 1 if told[8] == "one pair" else int(re.search(r"of ([\d,]+) pairs", told[8])[1].replace(",", ""))  # type: ignore[index]
    sign = BETTER.get(column, -1)
    values = [[_speed(truth, key, column) for key in pair] for pair in pairs]
    logs = sorted(sign * math.log(one / two) for one, two in values)
    if len(logs) != count:
        yield f"{len(logs)} pairs: {text}"
        return
    ratio = math.exp(float(np.median(logs)))
    shown = float(told[4].replace(",", ""))
    if not math.isclose(shown, ratio, rel_tol=0.006) and abs(shown - ratio) > 0.0051:
        yield f"ratio {ratio}: {text}"
    if (
        told[5]
        and not float(told[5].replace(",", "")) * 0.99 - 0.006 <= ratio <= float(told[6].replace(",", "")) * 1.01
    ):
        yield f"the interval does not contain {ratio}: {text}"
    if told[7] != found.quantity.better or ratio <= 1:
        yield f"not {told[7]}: {text}"


def _speed(truth: Truth, key: Key, column: str) -> float:
    value = truth.value(key, column)
    if column == "throughput_items_per_s" and math.isnan(value):
        return 1 / truth.value(key, "time_median_s")
    return value


def _measured(found: Importance) -> str:
    return "throughput_items_per_s" if found.quantity.column == "speedup" else found.quantity.column


def _factors_in(text: str, begin: str, found: Importance, truth: Truth) -> Iterator[tuple[str, str]]:
    """Yield each factor that a sentence names, and its column; none if the truth does not have the runs' values."""
    told = re.match(rf"{begin} .+?: (.+)\.$", text)
    if told is None or _measured(found).startswith("time_p") or _measured(found) == "peak_memory_bytes":
        return
    for factor in re.split(r", (?![^(]*\))", told[1]):
        first = factor.partition(" (")[0]
        yield factor, first if first in truth.rows else f"param_{first}"


def _of_noise(text: str, found: Importance, keys: list[Key], names: list[str], truth: Truth) -> Iterator[str]:
    """What is said to be possibly noise must not be clear to the eye: every pair apart, far and in one direction."""
    column = _measured(found)
    for factor, own in _factors_in(text, "Possibly only noise in the", found, truth):
        levels = list(dict.fromkeys("unset" if pd.isna(value) else str(value) for value in truth.rows[own]))
        for one, two in combinations(levels, 2):
            pairs = _pairs(factor, (one, two), keys, names, truth, column)
            runs = [len(truth.runs_of(key, column)) for pair in pairs for key in pair]
            signs = {np.sign(_speed(truth, a, column) - _speed(truth, b, column)) for a, b in pairs}
            apart = all(not truth.overlaps(a, b, column) for a, b in pairs)
            whole = 2 * len(pairs) == len(keys) and len(truth.measured) == len(keys)
            if len(pairs) >= 4 and min(runs) >= 4 and len(signs) == 1 and apart and whole:
                yield f"{factor} differs in each of {len(pairs)} pairs: {text}"


def _of_few(text: str, found: Importance, keys: list[Key], truth: Truth) -> Iterator[str]:
    """Runs are too few if, of all orders of the runs in the workloads, more than 1 % separate the levels."""
    column = _measured(found)
    begin = "Too few runs to distinguish an effect from noise in the"
    for factor, own in _factors_in(text, begin, found, truth):
        orders = 1
        for work in {truth.workload(key) for key in keys}:
            runs = Counter[str]()
            for key in keys:
                if truth.workload(key) == work:
                    runs[str(truth.case(key)[own])] += len(truth.runs_of(key, column))
            orders *= math.factorial(runs.total()) // math.prod(map(math.factorial, runs.values()))
        if 2 / orders <= 0.01 / (len(found.factors) + len(found.left_out) + len(found.changes_work)):
            yield f"one of {orders} orders separates the levels of {factor}: {text}"
