"""What is false about the sentence on the best case."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from hpcbench.analysis.studies.best_case import BestCase
from tests.report.sentences.random_tables import Made
from tests.report.sentences.truth import BETTER, HARDLY, RATES, RATIO, SURE, Key, Truth, close, named


def of_best(found: BestCase, text: str, truth: Truth, made: Made) -> Iterator[str]:
    column = found.quantity.column
    keys = truth.alike(found.best.key)
    values = {key: truth.value(key, column) for key in keys}
    values = {key: value for key, value in values.items() if not math.isnan(value)}
    if column.startswith("time_p"):
        return
    sign = BETTER.get(column, -1)
    best = found.best.key
    if not close(values[best], found.value.estimate):
        yield f"value {found.value.estimate}, not {values[best]}: {text}"
    if sign * values[best] < max(sign * value for value in values.values()) - 1e-9 * abs(values[best]):
        yield f"not the best of {values}: {text}"
    if (found.cases, found.unknown) != (len(values), len(keys) - len(values)):
        yield f"cases {len(values)}, without a value {len(keys) - len(values)}: {text}"
    if column == "throughput_items_per_s" and f" {RATES[truth.case(best)['model']]}" not in text:
        yield f"the unit is not {RATES[truth.case(best)['model']]}: {text}"
    yield from _of_base(found, text, truth, made, values)
    yield from _of_gain(found, text, truth, values)
    for other in found.alike:
        chance = truth.p_value(best, other.key, column)
        if chance is not None and chance < HARDLY and not truth.overlaps(best, other.key, column):
            yield f"{other} is not within noise (p = {chance}): {text}"
    for case in (found.best, found.base.case):
        if case.name in text and not named(case.name, truth.case(case.key)):
            yield f"{case.name} is not {case.key}: {text}"
    yield from _of_runs(found, text, truth, values)


def _of_runs(found: BestCase, text: str, truth: Truth, values: dict[Key, float]) -> Iterator[str]:
    """Interference in runs that count, unmonitored runs, and single runs."""
    best, base = found.best.key, found.base.case.key
    with_interference = [key for key in values if truth.all_disturbed(key)]
    if {key for key in (best, base) if key in with_interference} != {each.key for each in found.with_interference}:
        yield f"interference in all runs of {with_interference}: {text}"
    if bool(with_interference) != ("had interference" in text.split("nly unmonitored")[0]):
        yield f"interference in all runs of {with_interference} is not in: {text}"
    told = re.search(r"All runs of ([\d,]+) of ([\d,]+) cases had", text)
    if told and (int(told[1]), int(told[2])) != (len(with_interference), len(values)):
        yield f"interference in {len(with_interference)} of {len(values)} cases: {text}"
    if any(truth.only_unmonitored(key) for key in (best, base)) != ("nly unmonitored runs count" in text):
        yield f"unmonitored runs: {text}"
    if ("one run: the variation" in text) != (
        len(values) > 1 and any(len(truth.valid[key]) == 1 for key in (best, base))
    ):
        yield f"single runs: {text}"


def _of_base(found: BestCase, text: str, truth: Truth, made: Made, values: dict[Key, float]) -> Iterator[str]:
    base, best = found.base.case.key, found.best.key
    is_command = truth.case(best)["framework"] == "command"  # has no speedup
    given = [key for key in values if key[1] == made.base and not is_command]
    first = truth.in_order(values)
    own = truth.base(best)
    alike = [key for key in first if (truth.base(key) == own if own else truth.same_problem(best, key))]
    expected = given[0] if given else (alike if len(alike) > 1 or found.quantity.column == "speedup" else first)[0]
    if base != expected:
        yield f"compared with {base}, not {expected}: {text}"
    words = (
        "the base case" if given else "the first case of its problem size" if base != first[0] else "the first case,"
    )
    if found.cases > 1 and words not in text:
        yield f"{base} is not called {words}: {text}"
    other = found.cases > 1 and not truth.same_problem(best, base)
    if other != (", which has a different problem size" in text):
        yield f"problem size of {base}: {text}"


def _of_gain(found: BestCase, text: str, truth: Truth, values: dict[Key, float]) -> Iterator[str]:
    best, base, column = found.best.key, found.base.case.key, found.quantity.column
    if "no ratio" in text and values[best] > 0 and values[base] > 0:
        yield f"there is a ratio: {text}"
    if found.cases == 1 or best == base or f" {found.quantity.better} than" not in text.split("No case is")[0]:
        return
    sign = BETTER.get(column, -1)
    ratio = (values[best] / values[base]) ** sign if values[base] and values[best] else math.nan
    told = re.search(rf"{RATIO} {found.quantity.better} than", text)
    if told is None:
        yield f"no ratio: {text}"
        return
    shown = float(told[1].replace(",", ""))
    if not math.isclose(shown, ratio, rel_tol=0.006) and abs(shown - ratio) > 0.0051:
        yield f"{shown} is not {ratio}: {text}"
    if told[2]:
        low, high = (float(limit.replace(",", "")) for limit in (told[2], told[3]))
        if not low * 0.99 - 0.006 <= shown <= high * 1.01 + 0.006:
            yield f"the interval does not contain the ratio: {text}"
    is_sure = "but" not in text.split(" than ")[0] and "significance unknown" not in text
    chance = truth.p_value(best, base, column)
    if is_sure and (ratio <= 1 or (chance is not None and chance > SURE)):
        yield f"significant with p = {chance}, ratio {ratio}: {text}"
