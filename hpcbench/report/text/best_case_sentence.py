"""The best case of a workload in a sentence."""

from __future__ import annotations

import math

from hpcbench.analysis.stats.ratio_text import in_brackets
from hpcbench.analysis.studies.best_case import Base, BestCase
from hpcbench.report.text.numbers import value_in_words

MAX_NAMED = 3  # named cases that may be as good as the best
_ALONE = "no other case to compare with"


def sentence(found: BestCase) -> str:
    """Return e.g. `intra_op_threads=2 (84 images/s) is 1.34x [1.29, 1.38] faster than the base case, ...`.

    The sentence mentions an interval that contains 1 and a missing interval.
    """
    text = f"{_beginning(found)}{_alike(found)}.{_interference(found)}"
    if found.single and found.cases > 1:
        whose = "Each" if len(found.single) > 1 else found.single[0].name
        text += f" {whose} has one run: the variation between runs is unknown."
    if found.unknown:
        cases = f"{found.unknown:,} of {found.cases + found.unknown:,} cases"
        text += f" {cases} {'has' if found.unknown == 1 else 'have'} no {found.quantity.title}."
    return text


def _beginning(found: BestCase) -> str:
    best, base = found.best.name, _base(found.base)
    value = value_in_words(found.quantity, found.value.estimate)
    better = found.quantity.better
    if found.cases == 1:
        return f"{best}: {value}; {_ALONE}" if best else f"{value}; {_ALONE}"
    if found.best_is_base:
        return f"No case is {better} than {base} ({value})"
    if math.isnan(found.gain.estimate):
        return f"{best} is best ({value}); no ratio to {base} (a value is 0 or less)"
    gain = f"{in_brackets(found.gain)} {better} than {base}"
    if found.is_significant:
        return f"{best} ({value}) is {gain}"
    if found.gain.low is None:
        return f"{best} ({value}) is {gain} (significance unknown)"
    lucky = found.gain.low > 1
    chance = f"not significantly after correction for {found.cases:,} cases" if lucky else "not significantly"
    return f"{best} is best ({value}), but {chance}: {gain}"


def _base(base: Base) -> str:
    """Return `the first case, NAME`, `the base case, NAME` or `the first case of its problem size, NAME`."""
    kind = "base case" if base.is_given else "first case" if base.is_first else "first case of its problem size"
    return f"the {kind}, {base.case.name}" + ("" if base.same_problem else ", which has a different problem size")


def _interference(found: BestCase) -> str:
    """Return sentences on runs that count although they had interference, or were not monitored."""
    text = ""
    if found.with_interference:
        named = " and".join(f" of {each.name}" if each.name else "" for each in found.with_interference)
        text = f" All runs{named} had interference; the result may be due to it."
    if found.all_with_interference > len(found.with_interference):
        text += f" All runs of {found.all_with_interference:,} of {found.cases:,} cases had interference."
    if found.unmonitored:
        unmonitored = " and ".join(each.name for each in found.unmonitored)
        only = f"For {unmonitored}, only" if unmonitored else "Only"
        text += f" {only} unmonitored runs count: the others had interference."
    return text


def _alike(found: BestCase) -> str:
    """Return the cases within noise of the best, without the base case if the gain may be noise."""
    sure = found.is_significant or found.best_is_base
    others = [other.name for other in found.alike if sure or other.key != found.base.case.key]
    if not others:
        return ""
    named = "; ".join(others[:MAX_NAMED])
    more = f" and {len(others) - MAX_NAMED} more" if len(others) > MAX_NAMED else ""
    return f"; {named}{more} {'is' if len(others) == 1 else 'are'} within noise of {'it' if sure else 'the best'}"
