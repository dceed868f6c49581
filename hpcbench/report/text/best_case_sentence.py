"""The answer in a sentence."""

from __future__ import annotations

import math

from hpcbench.analysis.stats.ratio_text import in_brackets
from hpcbench.analysis.studies.best_case import Answer
from hpcbench.report.text.numbers import value_in_words

MOST_NAMED = 3  # cases that are as good as the best


def sentence(answer: Answer) -> str:
    """`intra_op_threads=2 (84 items/s) is 1.34x [1.29, 1.38] faster than the base case, intra_op_threads=1; ...`

    An interval that holds 1 is said to; a ratio without an interval, too.
    """
    said = f"{_beginning(answer)}{_alike(answer)}."
    if answer.single and answer.cases > 1:
        whose = "Each" if len(answer.single) > 1 else answer.single[0].name
        said += f" {whose} rests on one run: the next may differ."
    if answer.unknown:
        have = "has" if answer.unknown == 1 else "have"
        said += f" Of {answer.cases + answer.unknown:,} cases {answer.unknown:,} {have} no such value."
    return said


def _beginning(answer: Answer) -> str:
    best, base = answer.best.name, f"the {'base' if answer.base_given else 'first'} case, {answer.base.name}"
    value = value_in_words(answer.quantity, answer.value.estimate)
    better = answer.quantity.better
    if answer.cases == 1:
        return f"{best}: {value}; there is no other case to compare it with"
    if answer.best_is_base:
        return f"No case is {better} than {base} ({value})"
    if math.isnan(answer.gain.estimate):
        return f"{best} is best ({value}); there is no ratio to {base}, which has 0 or less"
    gain = f"{in_brackets(answer.gain)} {better} than {base}"
    if answer.is_certain:
        return f"{best} ({value}) is {gain}"
    if answer.gain.low is None:
        return f"{best} ({value}) is {gain}, without an interval"
    lucky = answer.gain.low > 1
    chance = f"the best of {answer.cases:,} may be so by chance" if lucky else "that may be noise"
    return f"{best} is best ({value}), but {chance}: {gain}"


def _alike(answer: Answer) -> str:
    """What is as good as the best; the base case is no news where the gain over it is said to be noise."""
    sure = answer.is_certain or answer.best_is_base
    others = [other.name for other in answer.alike if sure or other.key != answer.base.key]
    if not others:
        return ""
    named = "; ".join(others[:MOST_NAMED])
    more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
    return f"; {named}{more} {'is' if len(others) == 1 else 'are'} within noise of {'it' if sure else 'the best'}"
