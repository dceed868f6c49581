"""A Markdown table of the accuracy on rows that a fit did not see, next to the best of the simple models."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from predict_acceptance import LIMITS

from hpcbench.predict.evaluation.scores import Score

_HEADER = ("Test", "Values", "MAPE (median)", "Coverage", "Width", "Best simple model: MAPE")


def validation_table(found: Sequence[Score], simple: Mapping[str, Sequence[Score]]) -> Iterator[str]:
    """Yield the lines of a table with a row for each limit that the data can check; `simple` has scores by model."""
    yield f"| {' | '.join(_HEADER)} |"
    yield f"|---|{'---:|' * 4}---|"
    for limit in LIMITS:
        for each in found:
            if limit.applies_to(each):
                errors, coverage = f"{each.mape:.1f} ({each.median_ape:.1f}) %", f"{100 * each.coverage:.0f} %"
                cells = (
                    limit.name,
                    f"{each.rows:,}",
                    errors,
                    coverage,
                    f"{each.width:.2f}",
                    _best_simple(each, simple),
                )
                yield f"| {' | '.join(cells)} |"


def mape_of_test(found: Sequence[Score], test: Score) -> float:
    """Return the MAPE of the same test in the scores of another model; NaN without it."""
    same = (each.mape for each in found if _test(each) == _test(test))
    return next(same, math.nan)


def _best_simple(test: Score, simple: Mapping[str, Sequence[Score]]) -> str:
    errors = {name: mape_of_test(found, test) for name, found in simple.items()}
    known = [(mape, name) for name, mape in errors.items() if not math.isnan(mape)]
    return "{:.1f} % ({})".format(*min(known)) if known else ""


def _test(score: Score) -> tuple[str, str, str, str]:
    return score.file, score.quantity, score.part, score.devices
