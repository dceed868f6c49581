"""Guidelines mined from results: "intra_op_threads = physical cores" is within 2 % of the best in most contexts.

A context is a set of given parameters (model, task, batch size, dtype, nodes, machine), a configuration a setting of
the tunable ones. A rule fixes one to three tunables. It is within tolerance in a context if the slowest configuration
that follows it is, since a user of the rule may get that one. Contexts in which all or no configurations follow the
rule do not count.

A slower configuration counts against a rule only if its interval does not overlap that of the best: otherwise rules
with fewer configurations would be favoured by chance. Contexts with overlap are unclear, and a rule that is mostly
supported by unclear contexts is rejected. If no difference is significant, the rule without conditions is the best.

Rules are found by extending those that enough contexts can follow (Agrawal and Srikant, 1994, "Fast algorithms for
mining association rules", VLDB 20). Shares have Wilson's interval (1927, "Probable inference, the law of succession,
and statistical inference", Journal of the American Statistical Association 22), without a correction for choosing the
best of many rules.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from hpcbench.analysis.stats.distributions import normal_quantile
from hpcbench.analysis.stats.intervals import LEVEL, Interval
from hpcbench.analysis.stats.ratio_text import percent, times
from hpcbench.analysis.studies.rule_conditions import Booleans, Condition, conditions
from hpcbench.analysis.studies.tuning_contexts import TUNABLES, Context, TuningContexts

TOLERANCE = 0.02
MIN_CONTEXTS = 5
LONGEST = 3  # conditions of a rule
MAX_RULES = 5  # rules in a report
BAR = 0.5  # lower limit of the share that a reported rule exceeds
MAX_UNCLEAR = 0.5  # fraction of the contexts of a rule

_FIRST = 4  # columns of a context in a sentence


class CounterExample(NamedTuple):
    """A context in which a configuration that follows the rule is significantly slower: `slower` times the best time.

    `case` is the name of the case of that configuration.
    """

    context: Context
    slower: float
    case: str


class Evaluation(NamedTuple):
    """The `share` of `support` contexts in which a rule is within tolerance, with its 95 % CI.

    `unclear` counts the contexts within tolerance only because a difference is not significant. `support` counts the
    contexts in which some configurations follow the rule and others do not; for the rule without conditions, all
    contexts. Without support the share is NaN, with an interval from 0 to 1.
    """

    support: int
    within: int
    unclear: int
    share: Interval


class Guideline(NamedTuple):
    """A rule and its evaluation on the cases that it was mined from. A rule without conditions allows any
    configuration."""

    conditions: tuple[Condition, ...]
    tolerance: float
    support: int
    within: int
    unclear: int
    share: Interval
    counter_examples: tuple[CounterExample, ...] = ()  # slowest first

    @property
    def words(self) -> str:
        """Return the conditions as text: `intra_op_threads = physical cores, inter_op_threads = 1`."""
        return ", ".join(condition.words for condition in self.conditions) or "every setting"

    @property
    def sentence(self) -> str:
        """Return `intra_op_threads = physical cores: within 2 % of the best in 47 of 50 contexts (94 % [84 %, 98 %]);
        ...`."""
        limits = f"{percent(self.share.estimate)} [{percent(self.share.low or 0)}, {percent(self.share.high or 1)}]"
        text = f"{self.words}: within {100 * self.tolerance:g} % of the best"
        text += f" in {self.within:,} of {self.support:,} contexts ({limits})"
        noise = [f"in {self.unclear:,} of them within the noise"] if self.unclear else []
        return "; ".join([text, *noise, *map(_at_worst, self.counter_examples[:1])])


def mine(
    cases: pd.DataFrame,
    tunables: Sequence[str] = TUNABLES,
    tolerance: float = TOLERANCE,
    fewest: int = MIN_CONTEXTS,
    most: int = MAX_RULES,
    most_unclear: float = MAX_UNCLEAR,
) -> list[Guideline]:
    """Return the rules, the best first, that are within `tolerance` of the best in significantly more than half of
    contexts.

    `cases` is the table of cases, `tunables` the columns of a configuration, `fewest` the minimum of contexts, `most`
    the maximum of rules. Omitted are rules with redundant conditions, rules that select the same cases as an earlier
    one, and rules that are significantly worse than a rule with no more conditions.
    """
    settings = TuningContexts.of(cases, tunables)
    good: list[Guideline] = []
    for rule, chosen in _candidates(settings, tunables, fewest):
        found = _evaluated(settings, chosen, tolerance)
        if found.support >= fewest and (found.share.low or 0) > BAR and not _is_implied(rule, found, good):
            good.append(Guideline(rule, tolerance, *found))
    good.sort(key=lambda each: (-(each.share.low or 0), len(each.conditions), -each.support))
    best: list[Guideline] = []
    for each in good:
        if each.unclear <= most_unclear * each.support and not _is_surpassed(settings, each, best) and len(best) < most:
            best.append(each)
    return [each._replace(counter_examples=_examples(settings, each.conditions, tolerance)) for each in best]


def _candidates(
    settings: TuningContexts, tunables: Sequence[str], fewest: int
) -> Iterator[tuple[tuple[Condition, ...], Booleans]]:
    """Yield the rules that apply to enough contexts, shorter ones first, with a mask of the cases that follow."""
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


def following(settings: TuningContexts, rule: Sequence[Condition]) -> Booleans:
    """Return a mask of the cases that follow a rule."""
    chosen: Booleans = np.ones(len(settings.cases), dtype=bool)
    for condition in rule:
        chosen = chosen & condition.holds(settings.cases)
    return chosen


def _is_implied(rule: Sequence[Condition], found: Evaluation, good: Sequence[Guideline]) -> bool:
    """Return whether a subset of the conditions is a rule that is not significantly worse."""
    shorter = [other for other in good if set(other.conditions) < set(rule)]
    return any(other.share.estimate >= (found.share.low or 0) for other in shorter)


def _is_surpassed(settings: TuningContexts, one: Guideline, better: Sequence[Guideline]) -> bool:
    """Return whether a rule with no more conditions is significantly better and applies to all contexts of this one."""
    there = _tested(settings, following(settings, one.conditions))
    return any(
        len(other.conditions) <= len(one.conditions)
        and (other.share.low or 0) > one.share.estimate
        and not (there & ~_tested(settings, following(settings, other.conditions))).any()
        for other in better
    )


def _evaluated(settings: TuningContexts, chosen: Booleans, tolerance: float) -> Evaluation:
    """Return the evaluation of the rule that the `chosen` cases follow."""
    tested = _tested(settings, chosen)
    failing = settings.having(_failing(settings, chosen, tolerance))
    unclear = tested & ~failing & settings.having(chosen & (settings.slower > 1 + tolerance))
    support, within = int(tested.sum()), int((tested & ~failing).sum())
    return Evaluation(support, within, int(unclear.sum()), wilson(within, support))


def _tested(settings: TuningContexts, chosen: Booleans) -> Booleans:
    """Return a mask of the contexts that count: those in which some configurations follow a rule and others do not."""
    found = settings.having(chosen)
    return found if chosen.all() else found & settings.having(~chosen)


def _failing(settings: TuningContexts, chosen: Booleans, tolerance: float) -> Booleans:
    """Return a mask of the cases that follow a rule and are significantly slower, in the contexts that count."""
    tested = _tested(settings, chosen)[settings.place]
    return tested & chosen & settings.surely & (settings.slower > 1 + tolerance)


def _examples(settings: TuningContexts, rule: Sequence[Condition], tolerance: float) -> tuple[CounterExample, ...]:
    rows = settings.slowest(_failing(settings, following(settings, rule), tolerance))
    return tuple(
        CounterExample(settings.context_at(row), float(settings.slower[row]), settings.name_at(row)) for row in rows
    )


def wilson(successes: int, trials: int) -> Interval:
    """Return `successes` / `trials` with Wilson's score interval; NaN with limits 0 and 1 without trials."""
    if not trials:
        return Interval(math.nan, 0.0, 1.0)
    share, z = successes / trials, normal_quantile((1 + LEVEL) / 2)
    centre = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z / (1 + z**2 / trials) * math.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    return Interval(share, max(0.0, centre - half), min(1.0, centre + half))


def _at_worst(example: CounterExample) -> str:
    place = " ".join(f"{name}={value}" for name, value in example.context[:_FIRST])
    return f"otherwise up to {times(example.slower)} as slow{f' ({place})' if place else ''}"
