"""The share of each parameter in the variation of a quantity, tested against the variation between runs.

The method is an analysis of variance of ranks (Conover and Iman, 1981, "Rank transformations as a bridge between
parametric and nonparametric statistics", The American Statistician 35), with runs as replicates, robust to
outliers and skew; with one factor it is the test of Kruskal and Wallis (1952). Workloads are blocks: ranks are within a
workload (Mack and Skillings, 1980, "A Friedman-type rank test for main effects in a two-factor ANOVA", JASA 75). See
anova.py for the sums.

The rank transform is unreliable for interactions: with two strong effects, it can create or hide one (Thompson, 1991,
"A note on the rank transform for interactions", Biometrika 78). So an interaction must also be significant for the
logarithms, where multiplicative factors do not interact.

P-values have a Bonferroni correction for the number of factors, or of pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from hpcbench.analysis.cases.case_table import Row, by_case, valid_rows
from hpcbench.analysis.cases.quantities import THROUGHPUT, Quantity
from hpcbench.analysis.cases.run_values import logarithmic_costs, rises, value_of_run
from hpcbench.analysis.cases.workloads import work_groups
from hpcbench.analysis.stats import anova
from hpcbench.analysis.stats.anova import CaseMeans, Sum
from hpcbench.analysis.stats.factor_levels import MAX_LEVELS, Codes, Factor, crossed, factor_of, joined
from hpcbench.analysis.stats.intervals import Floats
from hpcbench.analysis.stats.paired_effects import Contrast, Effect, effects, largest_contrast

SIGNIFICANCE = 0.01
_ROUNDING = 1e-9  # relative error of sums of squares and of p-values
MIN_REPEATS = 4  # fewest degrees of freedom of the noise
MAX_FACTORS = 8  # factors of the joint model

_KEYS = ["sweep", "case"]


class Share(NamedTuple):
    """The fraction of the variation, 0 to 1, that a factor or an interaction explains, and its p-value.

    A share that is `beyond_noise` but not significant may be due to other factors. If `enough_repetitions` is False, no
    difference can be significant.
    """

    factors: tuple[Factor, ...]  # one, or two for an interaction
    share: float
    p_value: float
    effects: tuple[Effect, ...] = ()  # for one factor: pairs of levels within a workload, the largest effect first
    contrast: Contrast | None = None  # for an interaction
    beyond_noise: bool = False
    enough_repetitions: bool = True

    @property
    def name(self) -> str:
        """Return the names of the factors."""
        return " and ".join(factor.name for factor in self.factors)

    @property
    def is_significant(self) -> bool:
        """Return whether the p-value is at most SIGNIFICANCE."""
        return self.p_value <= SIGNIFICANCE


@dataclass(frozen=True)
class Importance:
    """The shares of parameters in the variation of a quantity.

    Shares are of the variation of ranks within a workload; parameters that change the workload are listed in
    `changes_work` without a share. `together` is the share of all factors without interactions: in a full design the
    sum of their shares, otherwise including variation that cannot be attributed to one factor. `noise` is the share of
    the variation between runs of a case. `reason` explains why there are no shares.
    """

    cases: int
    repetitions: int
    quantity: Quantity = THROUGHPUT
    factors: tuple[Share, ...] = ()  # strongest first
    interaction: Share | None = None  # the strongest significant one
    together: float = 0.0
    noise: float = 0.0
    changes_work: tuple[str, ...] = ()  # factors
    left_out: tuple[tuple[str, str], ...] = ()  # columns and reasons
    reason: str | None = None


def importance(
    cases: pd.DataFrame, repetitions: pd.DataFrame, names: Sequence[str], quantity: Quantity = THROUGHPUT
) -> Importance:
    """Return the shares of the columns `names` in the variation of a quantity of the measured cases.

    `names` include the columns of the workload.

    `cases` and `repetitions` are the tables of a report; only valid runs with a value are used.
    """
    data = _Data.of(cases, repetitions, names, quantity)
    known = Importance(len(data.values), sum(map(len, data.values)), quantity)
    if known.cases < 2:
        return _nothing(known, "fewer than two cases were measured")
    if known.repetitions - known.cases < MIN_REPEATS:
        counted = f"{known.repetitions} of {known.cases} cases"
        return _nothing(
            known, f"too few runs to estimate the noise: {counted}, and {MIN_REPEATS} more than cases are needed"
        )
    if np.unique(data.work).size == known.cases:
        return _nothing(known, "each workload has one case")
    factors, left_out = _factors(data, names)
    if not factors:
        return _nothing(known, "all cases have the same parameters", left_out)
    return _explained(data, factors, left_out)


def _nothing(known: Importance, reason: str, left_out: Sequence[tuple[str, str]] = ()) -> Importance:
    return replace(known, left_out=tuple(left_out), reason=reason)


class _Data(NamedTuple):
    """The measured cases, and `values`: for each case, the quantity of each run (see value_of_run).

    `costs` are the logarithms of the quantity of the cases, of which smaller ones are better; `columns` are the codes
    of the possible factors, `work` the workloads.
    """

    cases: pd.DataFrame
    values: list[Floats]
    costs: Floats
    columns: dict[str, Codes]
    work: Codes
    quantity: Quantity

    @classmethod
    def of(cls, cases: pd.DataFrame, repetitions: pd.DataFrame, names: Sequence[str], quantity: Quantity) -> _Data:
        timed = cases[cases["time_median_s"].notna()]
        rows = by_case(repetitions)
        found = [_values(rows[key], quantity) for key in zip(timed["sweep"], timed["case"], strict=True)]
        measured, values = timed[[each.size > 0 for each in found]], [each for each in found if each.size]
        columns = {name: pd.factorize(measured[name].astype(object))[0] + 1 for name in names}
        costs, work = logarithmic_costs(measured, quantity), np.array(work_groups(measured), dtype=np.intp)
        return cls(measured, values, costs, columns, work, quantity)

    def alike_but_for(self, factor: Factor) -> Codes:
        """Return a code per case, equal for cases of one workload that differ at most in the columns of the factor."""
        others = (codes for name, codes in self.columns.items() if name not in factor.names)
        return reduce(crossed, others, self.work)

    def is_changed_by(self, factor: Factor) -> bool:
        """Return whether the workload determines the level of the factor."""
        return np.unique(crossed(factor.codes, self.work)).size == np.unique(self.work).size


def _values(rows: list[Row], quantity: Quantity) -> Floats:
    """Return the known values of the valid runs of a case."""
    values = np.array([value_of_run(row, quantity) for row in valid_rows(rows)], dtype=np.float64)
    return values[np.isfinite(values)]


def _factors(data: _Data, names: Sequence[str]) -> tuple[list[Factor], list[tuple[str, str]]]:
    """Return the factors, with determined columns merged, and the columns that cannot be used, with reasons.

    Columns that vary only between workloads are merged separately, since within a workload any factor determines them.
    """
    found, left_out = [], []
    for name in dict.fromkeys(names):
        factor = factor_of(name, data.cases[name])
        if len(factor.levels) > MAX_LEVELS:
            left_out.append((name, f"{len(factor.levels)} values that are not numbers, more than {MAX_LEVELS}"))
        elif len(factor.levels) > 1:
            found.append(factor)
    within = [factor for factor in found if not data.is_changed_by(factor)]
    between = [factor for factor in found if data.is_changed_by(factor)]
    return [*joined(within, data.work), *joined(between)], left_out


def _explained(data: _Data, found: list[Factor], left_out: list[tuple[str, str]]) -> Importance:
    values = np.concatenate(data.values)
    cases = np.repeat(np.arange(len(data.values)), [values.size for values in data.values])
    ranks = _Variation(*_ranked(values, cases, data.work))
    changing = tuple(factor.name for factor in found if data.is_changed_by(factor))
    factors = ranks.strongest(found)
    weaker = [(factor.name, f"explains less than the {len(factors)} parameters shown") for factor in found]
    known = {*changing, *(factor.name for factor in factors)}
    left_out += [each for each in weaker if each[0] not in known]
    interaction = _interaction(data, factors, ranks, values, cases)
    shares = []
    for factor in factors:
        if factor.name in changing:
            continue
        effect = ranks.effect((factor,), factors, interaction.factors if interaction else ())
        if effect.sum.freedom:
            seen = effects(data.costs, data.values, data.alike_but_for(factor), factor, rises=rises(data.quantity))
            part, chance = ranks.part(effect.sum), effect.chance(len(found))
            beyond = effect._replace(noise=ranks.noise).chance(len(found)) <= SIGNIFICANCE
            smallest = _smallest_p_value(factor.codes[cases], data.work[cases])
            enough = len(found) * smallest <= SIGNIFICANCE * (1 + _ROUNDING)
            shares.append(Share((factor,), part, chance, tuple(seen), beyond_noise=beyond, enough_repetitions=enough))
        else:
            left_out.append((factor.name, "determined by the other parameters"))
    return Importance(
        len(data.values),
        values.size,
        data.quantity,
        tuple(sorted(shares, key=lambda each: -each.share)),
        interaction,
        ranks.part(ranks.explained(factors)),
        ranks.part(ranks.data.noise),
        changing,
        tuple(left_out),
    )


def _smallest_p_value(levels: Codes, work: Codes) -> float:
    """Return the smallest two-sided p-value that an exact permutation test can have with these runs.

    It has this value if the ranks of the levels do not overlap in any workload. Without an effect, all assignments of
    the levels to the runs of each workload are equally likely.
    """
    runs = pd.DataFrame({"work": work, "level": levels})
    of_workloads, of_levels = runs.groupby("work").size(), runs.groupby(["work", "level"]).size()
    ways = _log_factorials(of_workloads) - _log_factorials(of_levels)
    return min(1.0, 2 * math.exp(-ways))


def _log_factorials(counts: pd.Series[int]) -> float:
    """Return the logarithm of the product of the factorials."""
    return math.fsum(math.lgamma(count + 1) for count in counts)


def _interaction(data: _Data, factors: list[Factor], ranks: _Variation, values: Floats, cases: Codes) -> Share | None:
    """Return the strongest interaction that is significant for ranks and logarithms, if any."""
    if values.min() <= 0:
        return None
    logs = _Variation(anova.case_means(np.log(values), cases, data.work), 0.0)
    pairs = list(combinations(factors, 2))
    in_ranks = [(pair, ranks.effect(pair, factors)) for pair in pairs]
    strongest_first = sorted(in_ranks, key=lambda each: -each[1].sum.squares)
    for pair, effect in strongest_first:
        chance = effect.chance(len(pairs))
        if chance <= SIGNIFICANCE:
            chance = max(chance, logs.effect(pair, factors).chance(len(pairs)))
        if chance <= SIGNIFICANCE:
            return Share(pair, ranks.part(effect.sum), chance, contrast=_contrast(data, *pair))
    return None


def _contrast(data: _Data, one: Factor, other: Factor) -> Contrast | None:
    """Return the larger of the contrasts of each factor over the levels of the other; None without pairs."""
    ways = [largest_contrast(data.costs, data.alike_but_for(one), one, other)]
    ways.append(largest_contrast(data.costs, data.alike_but_for(other), other, one))
    return max((way for way in ways if way), key=lambda way: way.gain / way.other_gain, default=None)


class _Effect(NamedTuple):
    """The sum of squares of an effect, and the sum against which it is tested."""

    sum: Sum
    noise: Sum

    def chance(self, looked_at: int) -> float:
        """Return the p-value with a Bonferroni correction for `looked_at` tests."""
        return min(1.0, looked_at * anova.f_test(self.sum, self.noise))


class _Variation(NamedTuple):
    """The variation within workloads; `hidden` is the sum of squares that ties remove from the noise."""

    data: CaseMeans
    hidden: float

    @property
    def noise(self) -> Sum:
        """Return the noise between runs of a case, ties included."""
        return self.data.noise._replace(squares=self.data.noise.squares + self.hidden)

    def part(self, of: Sum) -> float:
        return of.squares / self.data.total if self.data.total > 0 else 0.0

    def explained(self, factors: Sequence[Factor], pair: Sequence[Factor] = ()) -> Sum:
        """Return the sum of squares that factors and the interaction of a pair explain."""
        both = [crossed(pair[0].codes, pair[1].codes)] if pair else []
        single = [factor.codes for factor in factors if all(factor is not one for one in pair)]
        return anova.explained(self.data, [*both, *single])

    def effect(self, of: Sequence[Factor], factors: Sequence[Factor], pair: Sequence[Factor] = ()) -> _Effect:
        """Return the effect of a factor beyond the others and `pair`, or of an interaction beyond all factors.

        It is tested against the noise between runs. The effect of an unbalanced factor may include interactions
        that are not in the model: then it must also exceed the residual variation between cases.
        """
        if len(of) == 1:
            others = [factor for factor in factors if factor is not of[0]]
            apart = pair if all(one is not of[0] for one in pair) else ()
            whole, beyond, alone = self.explained(factors, apart), self.explained(others, apart), self.explained(of)
        else:
            whole, beyond, pair = self.explained(factors, of), self.explained(factors), of
            alone = self.explained(of, of).beyond(self.explained(of))
        found = whole.beyond(beyond)
        left = self.data.between.beyond(self.explained(factors, pair))
        balanced = abs(alone.squares - found.squares) <= _ROUNDING * self.data.total
        return _Effect(found, self.noise if balanced or left.mean < self.noise.mean else left)

    def strongest(self, factors: list[Factor]) -> list[Factor]:
        """Return the MAX_FACTORS factors that explain most by themselves in excess of noise, in their given order."""
        if len(factors) <= MAX_FACTORS:
            return factors
        alone = [self.explained([factor]) for factor in factors]
        beyond = [each.squares - each.freedom * self.data.noise.mean for each in alone]
        places = sorted(range(len(factors)), key=lambda place: -beyond[place])[:MAX_FACTORS]
        return [factors[place] for place in sorted(places)]


def _ranked(values: Floats, cases: Codes, work: Codes) -> tuple[CaseMeans, float]:
    """Return the statistics of the scaled ranks of runs within workloads, and the squares lost to ties.

    The loss counts as noise, which makes the test conservative: breaking the ties would hardly give a larger p-value.
    """
    groups = pd.Series(values).groupby(work[cases])
    sizes = groups.transform("size")
    ranks = (groups.rank() - (sizes + 1) / 2) / sizes
    tied = pd.DataFrame({"work": work[cases], "value": values, "size": sizes}).groupby(["work", "value"])["size"]
    counts, sizes_of = tied.size().to_numpy(dtype=np.float64), tied.first().to_numpy(dtype=np.float64)
    lost = ((counts**3 - counts) / sizes_of**2).sum() / 12
    return anova.case_means(ranks.to_numpy(dtype=np.float64), cases, work), float(lost)
