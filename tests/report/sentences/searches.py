"""Random searches of `hpcbench tune`, and an evaluation of each line of their results by the measurements."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from hpcbench.analysis.cases.quantities import TIME
from hpcbench.config.experiment import Experiment
from hpcbench.plan.case import Case
from hpcbench.report.terminal.tuning import headline, lines
from hpcbench.tuning.fidelity import Stage
from hpcbench.tuning.objective import Objective
from hpcbench.tuning.result import TuningResult
from hpcbench.tuning.search_space import Context
from hpcbench.tuning.tuner import Tuner
from tests.report.sentences.truth import RATIO, Values
from tests.tuning.made import case, measured, record

_CASES = tuple(case(intra_op_threads=threads) for threads in (None, 1, 2, 3, 4))
_ERRORS = ("job {n} was killed on node{n}", "the model needs a GPU")


class Run(NamedTuple):
    """One measurement of a search: the step time, or None and the error, in the order of time."""

    case: Case
    is_full: bool
    time_s: float | None
    error: str | None
    with_interference: bool


class Search(NamedTuple):
    """The configurations, the default first, the runs of a search and its result."""

    cases: tuple[Case, ...]
    runs: list[Run]
    result: TuningResult


def random_search(seed: int) -> Search:
    rng = np.random.default_rng([4, seed])
    cases = _CASES[: int(rng.integers(1, len(_CASES) + 1))]
    costs = {each.id: float(rng.choice([1.0, 1.0, 1.003, 1.3, 3.0, 0.7])) for each in cases}
    noise, failing = (
        float(rng.choice([0.0, 1e-3, 0.01, 0.1])),
        float(rng.choice([0.0, 0.0, 0.1, 1.0], p=[0.5, 0.2, 0.25, 0.05])),
    )
    noisy = float(rng.choice([0.0, 0.0, 0.3, 0.8]))
    measure = {"repetitions": int(rng.integers(1, 7)), "shuffle_seed": int(rng.integers(0, 100))}
    parameters = {"framework": "pytorch", "model": "lstm"}
    experiment = Experiment.model_validate({"name": "e", "parameters": parameters, "measure": measure})
    context = Context(cases, 0, ("intra_op_threads",) if len(cases) > 1 else ())
    tuner = Tuner([context], experiment, Objective(TIME), lambda *_: "", exhaustive=bool(rng.random() < 0.2))
    runs: list[Run] = []
    while (trial := tuner.ask()) is not None:
        fails, with_interference = rng.random() < failing, bool(rng.random() < noisy)
        error = str(rng.choice(np.array(_ERRORS))).format(n=int(rng.integers(0, 10**6))) if fails else None
        time_s = None if fails else costs[trial.case.id] * float(rng.lognormal(0, noise))
        made = {"error": {"type": "killed", "message": error, "last_lines": []}} if fails else {}
        found = record(time_s, verdict="interference" if with_interference else "clean", case_id=trial.case.id, **made)
        runs.append(Run(trial.case, trial.stage is Stage.FULL, time_s, error, with_interference))
        tuner.tell(measured(trial, found))
    return Search(cases, runs, tuner.results[0])


def false_in_search(search: Search) -> Iterator[str]:
    texts = list(lines(search.result, TIME))
    runs = search.runs[: search.result.measurements]  # those of the full grid come later
    whole = "\n".join(texts)
    noisy = re.search(r"noisy      (\d+) of (\d+) measurements?", whole)
    expected = sum(run.with_interference and run.error is None for run in runs), len(runs)
    if bool(noisy) != bool(expected[0]) or (noisy and (int(noisy[1]), int(noisy[2])) != expected):
        yield f"{expected} measurements with interference: {whole}"
    yield from _of_failures(search, whole)
    answer = search.result.answer
    if answer is None:
        if "no configuration could be measured" not in whole or headline(search.result, TIME)[:2] != "No":
            yield f"nothing was measured: {whole}"
        return
    yield from _of_choice(search, runs, whole, headline(search.result, TIME))
    beaten = re.search(r"^  beats      (\d+) of the (\d+) other measured", whole, re.MULTILINE)
    if beaten and not int(beaten[1]) <= int(beaten[2]) <= len({run.case.id for run in runs if run.time_s}) - 1:
        yield f"more than were measured: {whole}"


def _name(of: Case) -> str:
    threads = of.parameters.intra_op_threads
    return f"intra_op_threads={threads}" if threads else "framework defaults"


def _full(runs: list[Run], of: Case) -> Values:
    return np.array([run.time_s for run in runs if run.case.id == of.id and run.is_full and run.time_s is not None])


def _of_choice(search: Search, runs: list[Run], whole: str, sentence: str) -> Iterator[str]:
    """The chosen configuration, its value, and the gain over the default in the pairs that compare both."""
    default, told = search.cases[0], re.search(r"^  (best|keep) +(.+?)(?:: (.+))?$", whole, re.MULTILINE)
    if told is None:
        yield f"cannot be read: {whole}"
        return
    chosen = next((each for each in search.cases if _name(each) == told[2]), default)
    gain = re.search(rf"^  gain       {RATIO} faster than the default(.*)$", whole, re.MULTILINE)
    if bool(gain) != (chosen.id != default.id and "unknown" not in whole.partition("  gain")[2][:20]):
        yield f"a gain without another configuration, or none with one: {whole}"
    value = re.match(r"([\d.,]+) (s|ms|us|ns)\b", told[3] or "")
    factors = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
    if value and len(_full(runs, chosen)):
        times = _full(runs, chosen)
        seconds = float(value[1].replace(",", "")) * factors[value[2]]
        if not times.min() * 0.99 <= seconds <= times.max() * 1.01:
            yield f"the value of {told[2]} is not of {times}: {whole}"
    if gain:
        yield from _of_gain(float(gain[1].replace(",", "")), gain[4], _pairs(runs, chosen, default), whole)
        if not sentence.startswith(f"{_name(chosen)} is {gain[1]}x"):
            yield f"another headline, {sentence}: {whole}"
    elif chosen.id == default.id and "Best" in sentence:
        yield f"the default is best: {sentence}"
    yield from _of_kept(chosen, default, search, whole)


class _Pair(NamedTuple):
    chosen_s: float
    default_s: float
    with_interference: int


def _pairs(runs: list[Run], chosen: Case, default: Case) -> list[_Pair]:
    """The last measurements of two configurations one after the other, as long as there is nothing else."""
    pairs: list[_Pair] = []
    for one, two in zip(runs[-2::-2], runs[-1::-2], strict=False):
        by_case = {run.case.id: run for run in (one, two)}
        if {*by_case} != {chosen.id, default.id} or not (one.is_full and two.is_full):
            break
        ours, other = by_case[chosen.id].time_s, by_case[default.id].time_s
        if ours is not None and other is not None:
            pairs.append(_Pair(ours, other, one.with_interference + two.with_interference))
    return pairs


def _of_gain(gain: float, more: str, pairs: list[_Pair], whole: str) -> Iterator[str]:
    ratios = [pair.default_s / pair.chosen_s for pair in pairs]
    if not ratios:
        yield f"there is no pair: {whole}"
        return
    if not min(ratios) * 0.99 - 0.006 <= gain <= max(ratios) * 1.01 + 0.006:
        yield f"the gain is not of {ratios}: {whole}"
    if float(np.median(ratios)) <= 1 or len(ratios) < 3:
        yield f"not faster, {ratios}: {whole}"
    logs = np.log(ratios)
    if logs.std(ddof=1) > 1e-9 and logs.mean() / (logs.std(ddof=1) / math.sqrt(len(logs))) < 1:
        yield f"not significant, {ratios}: {whole}"
    noisy = re.search(r"\((\d+) of (\d+) runs", more)
    if not noisy and any(pair.with_interference for pair in pairs[:3]):
        yield f"interference without a word: {whole}"
    if noisy and 2 * int(noisy[1]) > int(noisy[2]):
        yield f"a gain of runs most of which had interference: {whole}"


def _of_kept(chosen: Case, default: Case, search: Search, whole: str) -> Iterator[str]:
    """A default that is kept is not clearly slower in every pair of its final comparison with the best candidate."""
    if chosen.id != default.id or search.result.answer is None or "had interference;" in whole:
        return
    told = re.search(r"in (\d+) pairs? with the default", whole)
    count = int(told[1]) if told else None if "no configuration seemed better" in whole else 0
    for other in search.cases[1:]:
        pairs = _pairs(search.runs[: search.result.measurements], other, default)[:count]
        if len(pairs) >= 4 and min(pair.default_s / pair.chosen_s for pair in pairs) > 1.5:
            yield f"{_name(other)} is faster in each pair: {whole}"


def _of_failures(search: Search, whole: str) -> Iterator[str]:
    """One cause is one line, by the first failure of each configuration."""
    first: dict[str, str] = {}
    for run in search.runs:
        if run.error is not None:
            first.setdefault(run.case.id, run.error)
    expected: dict[bool, int] = {}
    for error in first.values():
        expected["killed" in error] = expected.get("killed" in error, 0) + 1
    told: dict[bool, int] = {}
    for match in re.finditer(
        r"^  failed     .+?(?: and (\d+) other configurations?)?: (?!.*intra).*$", whole, re.MULTILINE
    ):
        told["was killed" in match[0]] = told.get("was killed" in match[0], 0) + 1 + int(match[1] or 0)
    count = len(re.findall(r"^  failed ", whole, re.MULTILINE))
    if search.result.grid is None and (told != expected or count != len(expected)):
        yield f"failures {expected}, not {told}: {whole}"
