"""Whole results computed with our own statistics and with scipy's: the same words, numbers, verdicts and files."""

from __future__ import annotations

import io
import math
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.special
import scipy.stats
from pandas.testing import assert_frame_equal
from rich.console import Console
from scipy.optimize import nnls

from hpcbench.analysis.stats import distributions, equivalence, intervals, nonnegative_fits, rank_sum
from hpcbench.analysis.stats.change_points import change_points
from hpcbench.analysis.stats.equivalence import Pair, evaluate
from hpcbench.analysis.stats.intervals import Floats
from hpcbench.analysis.stats.quantiles import plausible_quantiles, quantiles
from hpcbench.analysis.studies.scaling_laws import AMDAHL, GUSTAFSON, USL, fit
from hpcbench.report.export.latex_markdown import FORMATS
from hpcbench.report.terminal.results import print_insights, print_report
from hpcbench.report.text.insights import insights
from tests.report.synthetic_results import SHAPES

CLOSE = 1e-10
SEEDS = range(30)


def exact_rank_sum(base: Floats, new: Floats) -> float:
    ranks = scipy.stats.rankdata(np.concatenate((base, new)), method="dense")
    old, now = ranks[: base.size], ranks[base.size :]
    larger = scipy.stats.mannwhitneyu(now - 0.5, old, alternative="greater", method="exact").pvalue
    smaller = scipy.stats.mannwhitneyu(now + 0.5, old, alternative="less", method="exact").pvalue
    return min(1.0, 2 * float(min(larger, smaller)))


SCIPYS: Mapping[Callable[..., Any], Callable[..., Any]] = {
    distributions.normal_cdf: scipy.special.ndtr,
    distributions.normal_quantile: scipy.special.ndtri,
    distributions.student_quantile: scipy.special.stdtrit,
    distributions.student_tail: lambda freedom, value: scipy.special.stdtr(freedom, -value),
    distributions.f_tail: scipy.special.fdtrc,
    distributions.binomial_cdf: lambda trials, chance: scipy.special.bdtr(np.arange(trials + 1), trials, chance),
    equivalence.false_discovery_adjusted: lambda values: scipy.stats.false_discovery_control(values).tolist(),
    nonnegative_fits.nonnegative_fits: lambda designs: np.array(
        [nnls(each, np.ones(len(each)))[0] for each in designs]
    ),
    rank_sum.rank_sum_p: exact_rank_sum,
}


@pytest.fixture
def with_scipy(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Counter[str]]:
    """Replaces our functions by scipy's wherever they are used; the result counts the calls."""

    def replace() -> Counter[str]:
        calls: Counter[str] = Counter()
        for own, other in SCIPYS.items():

            def counted(*given: Any, own: Any = own, other: Any = other) -> Any:
                calls[own.__name__] += 1
                return other(*given)

            for module in [each for name, each in sys.modules.items() if name.startswith("hpcbench.")]:
                if getattr(module, own.__name__, None) is own:
                    monkeypatch.setattr(module, own.__name__, counted)
        intervals._student_quantiles.cache_clear()
        return calls

    yield replace
    intervals._student_quantiles.cache_clear()


def report_of(name: str) -> tuple[str, str, pd.DataFrame]:
    """What `report` prints, its LaTeX table, and the table of `--csv`."""
    file = io.StringIO()
    results, console = SHAPES[name](), Console(file=file, width=200, highlight=False)
    print_report(results, 40, console)
    print_insights(insights(results), console)
    return file.getvalue(), FORMATS["latex"](results, 40), results.cases


@pytest.mark.parametrize("name", SHAPES)
def test_reports_are_the_same(name: str, with_scipy: Callable[[], Counter[str]]) -> None:
    *words, cases = report_of(name)
    calls = with_scipy()
    *expected, expected_cases = report_of(name)
    assert words == expected
    assert_frame_equal(cases, expected_cases, rtol=CLOSE, atol=0)
    assert name == "all failed" or calls["student_quantile"] or calls["nonnegative_fits"]


def comparisons() -> list[Any]:
    """Verdicts on 2 to 12 runs a side: with and without ties, equal, and far apart."""
    pairs = []
    for seed in SEEDS:
        generator = np.random.default_rng(seed)
        base, new = (generator.lognormal(0, 0.01, int(generator.integers(2, 13))) for _ in range(2))
        pairs += [Pair(base, new * ratio) for ratio in (1, 1.02, 1.1)]
        pairs.append(Pair(base.round(2), new.round(2) * 1.05))
    return evaluate(pairs)


def numbers(found: list[Any]) -> list[float]:
    """The numbers in tuples of numbers and tuples; None and words count, too."""
    flat = []
    for each in found:
        flat += numbers(list(each)) if isinstance(each, (tuple, list)) else [each]
    return flat


def same(found: list[Any], expected: list[Any]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(numbers(found), numbers(expected), strict=True):
        if isinstance(one, float) and not math.isnan(one):
            assert one == pytest.approx(other, rel=CLOSE)
        else:
            assert one == other or one is other or (math.isnan(one) and math.isnan(other))


def test_verdicts_are_the_same(with_scipy: Callable[[], Counter[str]]) -> None:
    found = comparisons()
    calls = with_scipy()
    same(found, comparisons())
    assert {"student_quantile", "student_tail", "rank_sum_p", "false_discovery_adjusted"} <= calls.keys()


def tails() -> list[Any]:
    found = []
    for seed in SEEDS:
        generator = np.random.default_rng(seed)
        sizes = generator.integers(20, 2000, int(generator.integers(1, 7)))
        runs = [generator.lognormal(generator.normal(0, 0.02), 0.1, size) for size in sizes.tolist()]
        found += [tuple(each) for each in quantiles(runs)]
        drawn = plausible_quantiles(runs, 0.9)
        found.append(None if drawn is None else tuple(drawn.tolist()))
    return found


def test_quantiles_have_the_same_intervals(with_scipy: Callable[[], Counter[str]]) -> None:
    found = tails()
    calls = with_scipy()
    same(found, tails())
    assert {"student_quantile", "binomial_cdf"} <= calls.keys()


def fits() -> list[Any]:
    found = []
    for seed in SEEDS:
        generator = np.random.default_rng(seed)
        processors = np.array([1.0, 2, 4, 8, 16])
        rates = processors / (1 + 0.03 * (processors - 1)) * generator.lognormal(0, 0.05, processors.size)
        draws = rates * generator.lognormal(0, 0.05, (100, processors.size))
        for law in (AMDAHL, GUSTAFSON, USL):
            fitted = fit(law, processors, rates, draws)
            assert fitted is not None
            found.append((fitted.error, *fitted.parameters.values()))
    return found


def test_scaling_laws_are_the_same(with_scipy: Callable[[], Counter[str]]) -> None:
    found = fits()
    calls = with_scipy()
    same(found, fits())
    assert calls["nonnegative_fits"] == 2 * 3 * len(SEEDS)


def changes() -> list[Any]:
    found = []
    for seed in SEEDS:
        generator = np.random.default_rng(seed)
        series = generator.lognormal(0, 0.02, int(generator.integers(20, 200)))
        series[series.size // 3 :] *= 1.05
        found += [tuple(each) for each in change_points([series])[0]]
    return found


def test_changes_of_a_history_are_the_same(with_scipy: Callable[[], Counter[str]]) -> None:
    found = changes()
    calls = with_scipy()
    same(found, changes())
    assert calls["normal_cdf"]
