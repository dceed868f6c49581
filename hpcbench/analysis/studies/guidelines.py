"""Short rules for settings, mined from results: "intra_op_threads = physical cores" is within 2 % of the best, mostly.

A context is what is given (model, task, batch size, dtype, nodes, machine), a setting what can be tuned in it. A rule
fixes one to three parameters. It is within tolerance in a context when even the slowest setting that follows it is: who
knows only the rule may get that one. Where all settings follow it, or none does, a context says nothing of it.

A setting that takes longer than that counts against a rule only where its interval and that of the best do not overlap:
the best of many settings is also the luckiest, and a rule with fewer settings would seem better by that alone. Contexts
of which noise lets one say no more are counted, and a rule that rests on them mostly is not told. Where noise hides
everything, the rule without conditions is the best one, and no other is better than that.

Rules are found by extending those that enough contexts can follow (Agrawal and Srikant, 1994, "Fast algorithms for
mining association rules", VLDB 20). The interval of a share is Wilson's (1927, "Probable inference, the law of
succession, and statistical inference", Journal of the American Statistical Association 22). The best of many rules is
lucky, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtri

from hpcbench.analysis.stats.intervals import LEVEL, Interval
from hpcbench.analysis.stats.ratio_text import percent, times
from hpcbench.analysis.studies.rule_conditions import Booleans, Condition, conditions
from hpcbench.analysis.studies.tuning_contexts import TUNABLES, Context, Settings

TOLERANCE = 0.02
FEWEST_CONTEXTS = 5
LONGEST = 3  # parameters that a rule fixes
MOST = 5  # rules
BAR = 0.5  # a rule is told where its share is surely above
MOST_UNCLEAR = 0.5  # of its contexts

_FIRST = 4  # columns of a context that a sentence tells


class CounterExample(NamedTuple):
    """A context where a setting that follows the rule takes `slower` times what the best takes, and no noise does it.

    `case` is the name of that setting's case.
    """

    context: Context
    slower: float
    case: str


class Evaluation(NamedTuple):
    """`share` is the part of `support` contexts where a rule is within tolerance, with its 95 % interval.

    Of `unclear` ones of those that are within, noise lets one say no more than that. `support`
    counts the contexts where some settings follow the rule and others do not; of a rule without conditions, all that
    have several settings. Where there are none, the share is not a number, and its interval is from 0 to 1.
    """

    support: int
    within: int
    unclear: int
    share: Interval


class Guideline(NamedTuple):
    """A rule, and how it did on the cases that it was mined from. Without conditions: settings do not matter."""

    conditions: tuple[Condition, ...]
    tolerance: float
    support: int
    within: int
    unclear: int
    share: Interval
    counter_examples: tuple[CounterExample, ...] = ()  # worst first

    @property
    def words(self) -> str:
        return ", ".join(condition.words for condition in self.conditions) or "every setting"

    @property
    def sentence(self) -> str:
        """`intra_op_threads = physical cores: within 2 % of the best in 47 of 50 contexts (94 % [84 %, 98 %]); ...`."""
        limits = f"{percent(self.share.estimate)} [{percent(self.share.low or 0)}, {percent(self.share.high or 1)}]"
        said = f"{self.words}: within {100 * self.tolerance:g} % of the best"
        said += f" in {self.within:,} of {self.support:,} contexts ({limits})"
        noise = [f"in {self.unclear:,} of them as far as noise lets one tell"] if self.unclear else []
        return "; ".join([said, *noise, *map(_at_worst, self.counter_examples[:1])])


def mine(
    cases: pd.DataFrame,
    tunables: Sequence[str] = TUNABLES,
    tolerance: float = TOLERANCE,
    fewest: int = FEWEST_CONTEXTS,
    most: int = MOST,
    most_unclear: float = MOST_UNCLEAR,
) -> list[Guideline]:
    """The rules of at least `fewest` contexts that are within `tolerance` of the best in most, the best rule first.

    `cases` is the table of cases of a report, `tunables` those of its columns that make a setting. A rule of which
    some of the conditions are as good as all is not told, nor one that chooses the same cases as one before it, nor one
    that a rule which asks for no more surpasses.
    """
    settings = Settings.of(cases, tunables)
    good: list[Guideline] = []
    for rule, chosen in _candidates(settings, tunables, fewest):
        found = _evaluated(settings, chosen, tolerance)
        if found.support >= fewest and (found.share.low or 0) > BAR and not _is_implied(rule, found, good):
            good.append(Guideline(rule, tolerance, *found))
    good.sort(key=lambda each: (-(each.share.low or 0), len(each.conditions), -each.support))
    told: list[Guideline] = []
    for each in good:
        if each.unclear <= most_unclear * each.support and not _is_surpassed(settings, each, told) and len(told) < most:
            told.append(each)
    return [each._replace(counter_examples=_examples(settings, each.conditions, tolerance)) for each in told]


def _candidates(
    settings: Settings, tunables: Sequence[str], fewest: int
) -> Iterator[tuple[tuple[Condition, ...], Booleans]]:
    """The rules that enough contexts can follow, shorter ones first, and which cases follow them."""
    single = [(condition, condition.holds(settings.cases)) for condition in conditions(settings.cases, tunables)]
    everything: Booleans = np.ones(len(settings.cases), dtype=bool)
    longest: list[tuple[tuple[Condition, ...], Booleans]] = [((), everything)]
    seen = {everything.tobytes()}
    yield longest[0]
    for _ in range(LONGEST):
        longer = []
        for rule, chosen in longest:
            for condition, holds in single:
                both = chosen & holds
                if any(condition.column == each.column for each in rule) or both.tobytes() in seen:
                    continue
                seen.add(both.tobytes())
                if settings.having(both).sum() >= fewest:
                    longer.append(((*rule, condition), both))
        yield from longer
        longest = longer


def following(settings: Settings, rule: Sequence[Condition]) -> Booleans:
    """Which settings follow a rule."""
    chosen: Booleans = np.ones(len(settings.cases), dtype=bool)
    for condition in rule:
        chosen = chosen & condition.holds(settings.cases)
    return chosen


def _is_implied(rule: Sequence[Condition], found: Evaluation, good: Sequence[Guideline]) -> bool:
    """Whether some of its conditions alone are a rule that is not surely worse."""
    shorter = [other for other in good if set(other.conditions) < set(rule)]
    return any(other.share.estimate >= (found.share.low or 0) for other in shorter)


def _is_surpassed(settings: Settings, one: Guideline, better: Sequence[Guideline]) -> bool:
    """Whether a rule that asks for no more is surely better, and can be followed wherever this one can."""
    there = _tested(settings, following(settings, one.conditions))
    return any(
        len(other.conditions) <= len(one.conditions)
        and (other.share.low or 0) > one.share.estimate
        and not (there & ~_tested(settings, following(settings, other.conditions))).any()
        for other in better
    )


def _evaluated(settings: Settings, chosen: Booleans, tolerance: float) -> Evaluation:
    """How a rule does; looking for its counter-examples, too, would take longer than all else for a thousand rules."""
    tested = _tested(settings, chosen)
    failing = settings.having(_failing(settings, chosen, tolerance))
    unclear = tested & ~failing & settings.having(chosen & (settings.slower > 1 + tolerance))
    support, within = int(tested.sum()), int((tested & ~failing).sum())
    return Evaluation(support, within, int(unclear.sum()), wilson(within, support))


def _tested(settings: Settings, chosen: Booleans) -> Booleans:
    """In which contexts some settings follow a rule and others do not."""
    found = settings.having(chosen)
    return found if chosen.all() else found & settings.having(~chosen)


def _failing(settings: Settings, chosen: Booleans, tolerance: float) -> Booleans:
    """Which settings that follow a rule are surely slower than they may be, where it is tested."""
    tested = _tested(settings, chosen)[settings.place]
    return tested & chosen & settings.surely & (settings.slower > 1 + tolerance)


def _examples(settings: Settings, rule: Sequence[Condition], tolerance: float) -> tuple[CounterExample, ...]:
    rows = settings.slowest(_failing(settings, following(settings, rule), tolerance))
    return tuple(
        CounterExample(settings.context_at(row), float(settings.slower[row]), settings.name_at(row)) for row in rows
    )


def wilson(successes: int, trials: int) -> Interval:
    """A share with Wilson's score interval."""
    if not trials:
        return Interval(math.nan, 0.0, 1.0)
    share, z = successes / trials, float(ndtri((1 + LEVEL) / 2))
    centre = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z / (1 + z**2 / trials) * math.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    return Interval(share, max(0.0, centre - half), min(1.0, centre + half))


def _at_worst(example: CounterExample) -> str:
    place = " ".join(f"{name}={value}" for name, value in example.context[:_FIRST])
    return f"elsewhere up to {times(example.slower)} as long{f' ({place})' if place else ''}"
