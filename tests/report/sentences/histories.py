"""Random histories of sweeps for `hpcbench history`, and an evaluation of each sentence about changes."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.stats

from hpcbench.analysis.cases.quantities import THROUGHPUT, TIME, Quantity
from hpcbench.analysis.studies.history import FACTS, case_histories, points, shifts
from hpcbench.report.terminal.history import History, columns, line, remarks, summary
from tests.report.sentences.truth import Values

_BEGIN = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
_METRIC = Quantity("metric_loss", "loss")
_SHORTEST, _MARGIN, _SURE = 5, 1.01, 0.01
# Messages of two causes, with what differs between runs.
_CAUSES = ("job {n} was killed on node{n}", "cannot read /scratch/run-{n}/data.npz")


class Past(NamedTuple):
    """The runs of all sweeps in the order of time, and the quantity that is followed."""

    rows: list[dict[str, Any]]
    quantity: Quantity
    sweeps: list[str]


def random_past(seed: int) -> Past:
    rng = np.random.default_rng([2, seed])
    count, cases = int(rng.choice([1, 3, 9, 10, 14, 25, 40])), int(rng.integers(1, 5))
    noise, faults = float(rng.choice([0.0, 1e-3, 0.01, 0.1])), float(rng.choice([0.0, 0.0, 0.1]))
    quantity = [TIME, THROUGHPUT, _METRIC][int(rng.integers(0, 3))]
    steps = [{int(rng.integers(0, count)): float(rng.choice([1.02, 1.2, 0.5, 0.99]))} for _ in range(cases)]
    turns = {name: int(rng.integers(0, count + 1)) for name in FACTS}
    rows = []
    for number in range(count):
        facts = {name: f"{name} {1 + (number >= turn)}" for name, turn in turns.items()}
        for case, step in enumerate(steps):
            if rng.random() < 0.5 * faults:
                continue
            level = (case + 1) * math.prod(change for turn, change in step.items() if number >= turn)
            level *= float(rng.lognormal(0, noise)) * (rng.random() > 0.02 * faults)
            rows += [_run(rng, number, case, level, facts, faults) for _ in range(int(rng.integers(1, 4)))]
    return (
        Past(rows, quantity, list(dict.fromkeys(row["sweep"] for row in rows))) if rows else random_past(seed + 10**6)
    )


def _run(
    rng: np.random.Generator, number: int, case: int, level: float, facts: dict[str, str], faults: float
) -> dict[str, Any]:
    fails, noisy = rng.random() < faults, rng.random() < faults
    error = str(rng.choice(np.array(_CAUSES))).format(n=int(rng.integers(0, 10**6)))
    return {
        **facts,
        "sweep": f"nightly-{number:03}",
        "case": f"case-{case}",
        "run": 0,
        "started_at": (_BEGIN + datetime.timedelta(days=number)).isoformat(),
        "status": "failed" if fails else "completed",
        "error": error if fails else None,
        "warnings": None,
        "interference": "interference" if noisy else "clean",
        "times_s": np.array(()) if fails else np.array([level, level * 1.001, level * 0.999]),
        "items_per_step": 8,
        "metric_loss": None if fails else level,
        "work": (int(rng.random() < 0.3 * faults),),
        "on_gpus": False,
    }


def history_of(past: Past) -> History:
    """The history, as `hpcbench history` makes it."""
    found = case_histories(points(past.rows, past.quantity, intervals=False))
    found.sort(key=lambda each: each.case)
    moved = [shift for each in found for shift in shifts(each, past.quantity, {})]
    moved.sort(key=lambda shift: shift.after.started_at, reverse=True)
    cases = pd.DataFrame([{"case": each.case, "nodes": int(each.case[-1])} for each in found])
    return History("nightly", "cluster", past.sweeps, past.quantity, found, moved, cases, ["nodes"])


class Series(NamedTuple):
    """What the rows say of one case: its values of the latest workload, and the row that counts of each sweep."""

    values: pd.Series[float]
    first: pd.DataFrame
    other_work: int
    noisy: set[str]
    last: pd.DataFrame


def false_in_history(past: Past) -> Iterator[str]:
    history = history_of(past)
    rows = pd.DataFrame(past.rows)
    series = {str(case): _series(own, past) for case, own in rows.groupby("case")}
    lines = [line(history, shift).plain for shift in history.shifts]
    places: dict[str, list[int]] = {}
    for shift, text in zip(history.shifts, lines, strict=True):
        places.setdefault(shift.case, []).append(list(series[shift.case].values.index).index(shift.after.sweep))
        if not text.startswith(f"{shift.after.started_at[:10]} {shift.after.sweep} nodes={shift.case[-1]}: "):
            yield f"another sweep or case than {shift.after.sweep} {shift.case}: {text}"
    for shift, text in zip(history.shifts, lines, strict=True):
        yield from _of_change(series[shift.case], sorted(places[shift.case]), shift.after.sweep, text, past)
    for case, each in series.items():
        yield from _of_no_change(case, each, case in places, len(series))
    yield from _of_columns(history, series)
    yield from _of_remarks(remarks(history), series, past)
    yield from _of_summary(history, summary(history), series)


def _series(rows: pd.DataFrame, past: Past) -> Series:
    ended = rows[rows["status"] == "completed"]
    some = ended["sweep"].isin(ended.loc[ended["interference"] == "clean", "sweep"])
    valid = ended[(ended["interference"] == "clean") | ~some]
    of_run = valid["metric_loss"] if past.quantity == _METRIC else valid["times_s"].map(np.median)
    values = of_run.astype(float).groupby(valid["sweep"]).median()
    if past.quantity == THROUGHPUT:
        values = 8 / values[values > 0]
    first = valid.drop_duplicates("sweep").set_index("sweep").loc[values.index]
    same = first["work"] == first["work"].iloc[-1] if len(first) else first["work"].notna()
    noisy = {str(name) for name in valid.loc[~some, "sweep"]}
    last = rows[rows["sweep"] == rows["sweep"].iloc[-1]]
    return Series(values[same], first[same], int((~same).sum()), noisy, last)


def _of_change(series: Series, places: list[int], sweep: str, text: str, past: Past) -> Iterator[str]:
    """The ratio, the direction, the significance and the facts of a change between two others."""
    values, place = series.values.to_numpy(), list(series.values.index).index(sweep)
    bounds = [0, *places, len(values)]
    at = bounds.index(place)
    before, after = values[bounds[at - 1] : place], values[place : bounds[at + 1]]
    ratio = float(np.median(after) / np.median(before))
    told = re.search(r": ([\d.,e+-]+)x (?:\[(\S+), (\S+)\] )?(as much, )?(\w+)", text)
    if told is None:
        yield f"cannot be read: {text}"
        return
    more = past.quantity == THROUGHPUT
    words = ("better", "worse") if past.quantity == _METRIC else ("faster", "slower")
    if told[5] != words[(ratio > 1) != more] or bool(told[4]) != (past.quantity == _METRIC):
        yield f"wrong direction of {ratio}: {text}"
    shown = float(told[1].replace(",", ""))
    expected = ratio if past.quantity == _METRIC else max(ratio, 1 / ratio)
    if not math.isclose(shown, expected, rel_tol=0.006) and abs(shown - expected) > 0.0051:
        yield f"ratio {expected}: {text}"
    if told[2] and not float(told[2]) * 0.99 - 0.006 <= shown <= float(told[3]) * 1.01 + 0.006:
        yield f"the interval does not contain the ratio: {text}"
    if max(ratio, 1 / ratio) <= _MARGIN * (1 - 1e-12) or min(len(before), len(after)) < _SHORTEST:
        yield f"{before} and {after} do not differ by the margin, or are too few: {text}"
    if not _differ(values, place):
        yield f"not significant, {before} and {after}: {text}"
    near = series.values.index[max(0, place - _SHORTEST) : place + _SHORTEST]
    noisy = re.search(r"interference in all runs of (\d+) values?", text)
    if int(noisy[1] if noisy else 0) != sum(name in series.noisy for name in near):
        yield f"interference in {[name for name in near if name in series.noisy]}: {text}"
    yield from _of_facts(series, place, text)


def _differ(values: Values, place: int) -> bool:
    """Whether some values before and after a place differ in rank: the next five, ten, ..., or all."""
    reaches = [_SHORTEST * 2**power for power in range(6)] + [len(values)]
    pairs = [(values[max(0, place - one) : place], values[place : place + two]) for one in reaches for two in reaches]
    return min(scipy.stats.mannwhitneyu(*pair, method="exact").pvalue for pair in pairs) <= _SURE


def _of_facts(series: Series, place: int, text: str) -> Iterator[str]:
    """Facts of the sweeps before and after a change, by their first runs: all runs of a sweep have the same."""
    told = text.partition("; also changed: ")[2]
    rows = series.first.iloc[[place - 1, place]]
    for name in FACTS:
        old, now = rows[name]
        stays = series.first[name].iloc[place - _SHORTEST : place].nunique() == 1
        stays &= series.first[name].iloc[place : place + _SHORTEST].nunique() == 1
        expected = f"{'software' if name == 'software' else name} "
        shown = re.search(rf"(?:^|, ){re.escape(expected)}(?:{name} )?1 -> (?:{name} )?2", told)
        cut = name == "git_commit" and f"git_commit {old[:10]} -> {now[:10]}" in told
        if bool(shown or cut) != (old != now and (name != "nodes_used" or stays)):
            yield f"{name} {old}, then {now}: {text}"


def _of_no_change(case: str, series: Series, is_told: bool, cases: int) -> Iterator[str]:
    """A change that anybody sees is told: all values of the later half are beyond those of the first half."""
    values = series.values.to_numpy()
    half = len(values) // 2
    if is_told or half < 10 or not (values > 0).all():
        return
    low, high = sorted((values[:half], values[half:]), key=np.median)
    if low.max() * 1.05 < high.min():
        yield f"no change of {case}: {values}"


def _of_columns(history: History, series: dict[str, Series]) -> Iterator[str]:
    shown = {column.header: column.cells for column in columns(history, len(series), plain=True)}
    for place, case in enumerate(each.case for each in history.histories):
        values = series[case].values.to_numpy()
        if int(shown["sweeps"][place].replace(",", "")) != len(values):
            yield f"{len(values)} values of {case}: {shown['sweeps'][place]}"
        text = shown["ratio"][place]
        if len(values) and (values > 0).all():
            ratio = values[-1] / values[0]
            if not math.isclose(float(text.replace(",", "")), ratio, rel_tol=0.006, abs_tol=0.00051):
                yield f"ratio {ratio} of {case}: {text}"


def _of_remarks(texts: list[str], series: dict[str, Series], past: Past) -> Iterator[str]:
    whole = "\n".join(texts)
    expected: dict[tuple[str, int], int] = {}
    for case, each in series.items():
        name = f"nodes={case[-1]}"
        count = re.search(rf"left out: (\d+) sweeps? in which {name} has", whole)
        if int(count[1] if count else 0) != each.other_work:
            yield f"{each.other_work} sweeps of {case} have another workload: {texts}"
        if (f"detected in {name}: no ratio" in whole) != bool((each.values <= 0).any()):
            yield f"values of {case} of 0 or less: {texts}"
        gone = re.search(r"not in the latest sweep, \S+: (.+)", whole)
        is_gone = each.last["sweep"].iloc[0] != past.sweeps[-1]
        if is_gone != bool(gone and name in gone[1].split(", ")):
            yield f"{case} in the latest sweep: {texts}"
        if each.last["sweep"].iloc[0] not in (*each.values.index,) and (each.last["status"] != "completed").any():
            error = each.last.loc[each.last["status"] != "completed", "error"].iloc[0]
            key = each.last["sweep"].iloc[0], int("killed" in error)
            expected[key] = expected.get(key, 0) + 1
    told = {}
    for match in re.finditer(r"^failed (?:([\d,]+) cases|nodes=\d).*? in (nightly-\d+): (.+)$", whole, re.MULTILINE):
        told[match[2], int("killed" in match[3])] = int(match[1] or 1)
    if told != expected:
        yield f"failures {expected}, not {told}: {texts}"


def _fewest(cases: int) -> int:
    """The fewest values whose ranks can show a change in the middle, tested at each place of each of these cases."""
    count = 2 * _SHORTEST
    while 2 / math.comb(count, count // 2) * (count - 2 * _SHORTEST + 1) * max(cases, 1) > _SURE:
        count += 1
    return count


def _of_summary(history: History, text: str, series: dict[str, Series]) -> Iterator[str]:
    lengths = [len(each.values) for each in series.values() if bool((each.values > 0).all())]
    fewest = _fewest(sum(length >= 2 * _SHORTEST for length in lengths))
    judged = sum(length >= fewest for length in lengths)
    if not judged:
        if not re.match(rf"too few sweeps .* needs {fewest}$", text):
            yield f"no case has the {fewest} values of a change: {text}"
        return
    told = re.match(r"(no|[\d,]+) changes? in ([\d,]+) cases?", text)
    if told is None or int(told[2]) != judged or (0 if told[1] == "no" else int(told[1])) != len(history.shifts):
        yield f"{len(history.shifts)} changes in {judged} cases: {text}"
