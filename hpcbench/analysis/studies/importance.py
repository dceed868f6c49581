"""Which parameter explains the variation of the time, and what noise between repetitions is enough to explain.

The method is an analysis of variance of ranks (Conover and Iman, 1981, "Rank transformations as a bridge between
parametric and nonparametric statistics", The American Statistician 35), with repetitions as replicates: outliers and
skewed times do no harm, and with one factor it is the test of Kruskal and Wallis (1952). Kinds of work are blocks: the
ranks are those within equal work (Mack and Skillings, 1980, "A Friedman-type rank test for main effects in a two-factor
ANOVA", JASA 75), and that other work takes another time is no part of the variation. See anova.py for the sums.

Its known weakness are interactions: where two factors have strong effects, ranks alone can make one up or hide one
(Thompson, 1991, "A note on the rank transform for interactions", Biometrika 78). So an interaction has to be there in
the logarithms, too, of which factors that multiply the time leave none.

P-values are Bonferroni's: multiplied by how many factors, or pairs of them, were looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from hpcbench.analysis.cases.case_table import by_case, speaking, work_groups
from hpcbench.analysis.stats import anova
from hpcbench.analysis.stats.anova import Measured, Sum
from hpcbench.analysis.stats.factor_levels import MOST_LEVELS, Codes, Factor, crossed, factor_of, joined
from hpcbench.analysis.stats.intervals import Floats, median_of
from hpcbench.analysis.stats.paired_effects import Contrast, Effect, costs_of, effects, largest_contrast
from hpcbench.core.samples import SAMPLES

SIGNIFICANCE = 0.01
_ROUNDING = 1e-9  # of all squares
FEWEST = 4  # repetitions beyond the first of each case, to know the noise
MOST_FACTORS = 8  # the strongest ones, that are looked at together

_KEYS = ["sweep", "case"]
_SPEAKING = [*_KEYS, "repetition", "status", "interference", "warnings", SAMPLES]


class Share(NamedTuple):
    """The part of the variation that factors explain (0 to 1), and the p-value of there being no effect at all. What is
    `beyond_noise` and yet not there could be what other factors do together."""

    factors: tuple[Factor, ...]  # one, or the two of an interaction
    share: float
    p_value: float
    effects: tuple[Effect, ...] = ()  # of two levels each, the largest first; of one factor, for equal work
    contrast: Contrast | None = None  # of an interaction
    beyond_noise: bool = False

    @property
    def name(self) -> str:
        return " and ".join(factor.name for factor in self.factors)

    @property
    def is_there(self) -> bool:
        return self.p_value <= SIGNIFICANCE


@dataclass(frozen=True)
class Importance:
    """What explains the variation of the time of an item, or of the whole where a sample is not so many items.

    Shares are parts of the variation of the ranks within equal work; what changes the work has none, and is in
    `changes_work`. `together` is that of all factors without interactions: of a design
    with all combinations it is the sum of theirs; where factors vary together, what cannot be told apart is only in it.
    `noise` is that of the repetitions of one case. `reason` says why nothing else is said.
    """

    cases: int
    repetitions: int
    factors: tuple[Share, ...] = ()  # strongest first
    interaction: Share | None = None  # the strongest, if there is one
    together: float = 0.0
    noise: float = 0.0
    changes_work: tuple[str, ...] = ()  # factors
    left_out: tuple[tuple[str, str], ...] = ()  # columns, and why
    reason: str | None = None


def importance(cases: pd.DataFrame, repetitions: pd.DataFrame, names: Sequence[str]) -> Importance:
    """Of the measured cases, which are of one kind of work, or have among `names` the columns in which it differs.

    `cases` and `repetitions` are the tables of a report; repetitions are used as far as they speak for their case.
    """
    data = _Data.of(cases, repetitions, names)
    known = Importance(len(data.values), sum(map(len, data.values)))
    if known.cases < 2:
        return _nothing(known, "fewer than two cases were measured")
    if known.repetitions - known.cases < FEWEST:
        counted = f"{known.repetitions} of {known.cases} cases"
        return _nothing(
            known, f"too few repetitions to know the noise: {counted}, and {FEWEST} more than cases are needed"
        )
    factors, left_out = _factors(data, names)
    if not factors:
        return _nothing(known, "no parameter differs between the cases", left_out)
    return _explained(data, factors, left_out)


def _nothing(known: Importance, reason: str, left_out: Sequence[tuple[str, str]] = ()) -> Importance:
    return Importance(known.cases, known.repetitions, left_out=tuple(left_out), reason=reason)


class _Data(NamedTuple):
    """The measured cases, and for each the seconds that an item took, or the whole, one number for each repetition.

    `costs` are logarithms of their medians, `columns` those that may be factors, coded, `work` is the kind of work.
    """

    cases: pd.DataFrame
    values: list[Floats]
    costs: Floats
    columns: dict[str, Codes]
    work: Codes

    @classmethod
    def of(cls, cases: pd.DataFrame, repetitions: pd.DataFrame, names: Sequence[str]) -> _Data:
        measured = cases[cases["time_median_s"].notna()]
        items = measured["items_per_step"].astype(float).fillna(1.0)
        rows = by_case(repetitions[[*_SPEAKING, *(["error"] if "error" in repetitions else [])]])
        values = [
            np.array([median_of(row[SAMPLES]) for row in speaking(rows[key]) if row[SAMPLES].size]) / count
            for key, count in zip(zip(measured["sweep"], measured["case"], strict=True), items, strict=True)
        ]
        columns = {name: pd.factorize(measured[name].astype(object))[0] + 1 for name in names}
        return cls(measured, values, costs_of(values), columns, np.array(work_groups(measured), dtype=np.intp))

    def alike_but_for(self, factor: Factor) -> Codes:
        """The same number for cases of equal work whose columns are equal, but for those that are the factor."""
        others = (codes for name, codes in self.columns.items() if name not in factor.names)
        return reduce(crossed, others, self.work)

    def is_changed_by(self, factor: Factor) -> bool:
        """Whether cases of equal work never differ in the factor."""
        return np.unique(crossed(factor.codes, self.work)).size == np.unique(self.work).size


def _factors(data: _Data, names: Sequence[str]) -> tuple[list[Factor], list[tuple[str, str]]]:
    """The columns that vary, those that follow from others joined to them; and those that cannot be used, with why.

    What varies only between kinds of work is joined to its like: within equal work, anything would tell of it."""
    found, left_out = [], []
    for name in dict.fromkeys(names):
        factor = factor_of(name, data.cases[name])
        if len(factor.levels) > MOST_LEVELS:
            left_out.append((name, f"{len(factor.levels)} values that are no numbers, more than {MOST_LEVELS}"))
        elif len(factor.levels) > 1:
            found.append(factor)
    within = [factor for factor in found if not data.is_changed_by(factor)]
    between = [factor for factor in found if data.is_changed_by(factor)]
    return [*joined(within, data.work), *joined(between)], left_out


def _explained(data: _Data, found: list[Factor], left_out: list[tuple[str, str]]) -> Importance:
    times = np.concatenate(data.values)
    cases = np.repeat(np.arange(len(data.values)), [values.size for values in data.values])
    ranks = _Variation(*_ranked(times, cases, data.work))
    changing = tuple(factor.name for factor in found if data.is_changed_by(factor))
    factors = ranks.strongest(found)
    weaker = [(factor.name, f"explains less by itself than the {len(factors)} that are told") for factor in found]
    known = {*changing, *(factor.name for factor in factors)}
    left_out += [each for each in weaker if each[0] not in known]
    interaction = _interaction(data, factors, ranks, times, cases)
    shares = []
    for factor in factors:
        if factor.name in changing:
            continue
        effect = ranks.effect((factor,), factors, interaction.factors if interaction else ())
        if effect.sum.freedom:
            seen = effects(data.costs, data.values, data.alike_but_for(factor), factor)
            part, chance = ranks.part(effect.sum), effect.chance(len(found))
            beyond = effect._replace(noise=ranks.noise).chance(len(found)) <= SIGNIFICANCE
            shares.append(Share((factor,), part, chance, tuple(seen), beyond_noise=beyond))
        else:
            left_out.append((factor.name, "follows from the others together"))
    return Importance(
        len(data.values),
        times.size,
        tuple(sorted(shares, key=lambda each: -each.share)),
        interaction,
        ranks.part(ranks.explained(factors)),
        ranks.part(ranks.data.noise),
        changing,
        tuple(left_out),
    )


def _interaction(data: _Data, factors: list[Factor], ranks: _Variation, times: Floats, cases: Codes) -> Share | None:
    """The strongest interaction that is there, in the ranks and in the logarithms."""
    if times.min() <= 0:
        return None
    logs = _Variation(anova.measured(np.log(times), cases, data.work), 0.0)
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
    """What either of them does beside the other, whichever differs more."""
    ways = [largest_contrast(data.costs, data.alike_but_for(one), one, other)]
    ways.append(largest_contrast(data.costs, data.alike_but_for(other), other, one))
    return max((way for way in ways if way), key=lambda way: way.gain / way.other_gain, default=None)


class _Effect(NamedTuple):
    """What factors explain beyond others, and against what that is to be tested."""

    sum: Sum
    noise: Sum

    def chance(self, looked_at: int) -> float:
        """The p-value, as that of one of so many."""
        return min(1.0, looked_at * anova.f_test(self.sum, self.noise))


class _Variation(NamedTuple):
    """What varies within equal work, and by how much ties hide what is noise."""

    data: Measured
    hidden: float

    @property
    def noise(self) -> Sum:
        """Of repetitions of the same case, ties counted as noise, too."""
        return self.data.noise._replace(squares=self.data.noise.squares + self.hidden)

    def part(self, of: Sum) -> float:
        return of.squares / self.data.total if self.data.total > 0 else 0.0

    def explained(self, factors: Sequence[Factor], pair: Sequence[Factor] = ()) -> Sum:
        """What factors explain, and the interaction of two of them."""
        both = [crossed(pair[0].codes, pair[1].codes)] if pair else []
        single = [factor.codes for factor in factors if all(factor is not one for one in pair)]
        return anova.explained(self.data, [*both, *single])

    def effect(self, of: Sequence[Factor], factors: Sequence[Factor], pair: Sequence[Factor] = ()) -> _Effect:
        """Of one factor beyond the others and the interaction `pair`, where that is one of others; of an interaction
        beyond all factors.

        It is tested against the noise between repetitions. A factor that is not balanced against the others could
        borrow from interactions that are in no sum: it has to be more than what those leave between the cases, too.
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
        """At most MOST_FACTORS, by what each explains by itself beyond what noise would."""
        if len(factors) <= MOST_FACTORS:
            return factors
        alone = [self.explained([factor]) for factor in factors]
        beyond = [each.squares - each.freedom * self.data.noise.mean for each in alone]
        places = sorted(range(len(factors)), key=lambda place: -beyond[place])[:MOST_FACTORS]
        return [factors[place] for place in sorted(places)]


def _ranked(times: Floats, cases: Codes, work: Codes) -> tuple[Measured, float]:
    """The ranks of repetitions within equal work, as parts of how many there are of it; and by how much their squares
    are less for ties. To the test that is noise: however ties were broken, the p-value would hardly be larger."""
    groups = pd.Series(times).groupby(work[cases])
    sizes = groups.transform("size")
    ranks = (groups.rank() - (sizes + 1) / 2) / sizes
    tied = pd.DataFrame({"work": work[cases], "time": times, "size": sizes}).groupby(["work", "time"])["size"]
    counts, sizes_of = tied.size().to_numpy(dtype=np.float64), tied.first().to_numpy(dtype=np.float64)
    lost = ((counts**3 - counts) / sizes_of**2).sum() / 12
    return anova.measured(ranks.to_numpy(dtype=np.float64), cases, work), float(lost)
