"""What is false about the sentences on scaling."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pandas as pd

from hpcbench.analysis.studies.scaling import Scaling
from hpcbench.report.text.scaling_sentences import sentences as of_series
from tests.report.sentences.truth import HARDLY, RATIO, Key, Truth, Values

# The rates by these laws for a rate of 1 on one processor.
_SHAPES: dict[str, Callable[..., Values]] = {
    "Amdahl's law": lambda p, serial: 1 / (serial + (1 - serial) / p),
    "Gustafson's law": lambda p, serial: serial + (1 - serial) * p,
    "Universal Scalability Law": lambda p, a, b: p / (1 + a * (p - 1) + b * p * (p - 1)),
}


def of_scaling(found: Scaling, cases: pd.DataFrame, truth: Truth) -> Iterator[str]:
    texts = of_series(found)
    keys = list(zip(cases["sweep"], cases["case"], strict=True))
    rates = {key: truth.value(key, "throughput_items_per_s") for key in keys}
    counts = {key: int(count) for key, count in zip(keys, cases["processors"], strict=True)}
    items = {
        key: float(truth.case(key)["items_per_step"]) / (counts[key] if found.kind == "weak" else 1) for key in keys
    }
    text = texts[0]
    if len({*items.values()}) > 1:
        yield f"not the same work: {items}: {text}"
    fewest = min(counts.values())
    base = max((rates[key], key) for key in keys if counts[key] == fewest)
    rate, _, fastest = max((rates[key], -counts[key], key) for key in keys)
    best = rate, fastest
    if "no larger number of" in text:
        if best[0] > base[0] * (1 + 1e-9):
            yield f"{best} is faster than {base}: {text}"
        return
    told = re.search(rf": {RATIO} on ([\d,]+) (?:CPUs|GPUs) over ([\d,]+), parallel efficiency ([\d.e+-]+) %", text)
    if told is None:
        yield f"cannot be read: {text}"
        return
    gain, most = best[0] / base[0], int(told[4].replace(",", ""))
    if (most, int(told[5].replace(",", ""))) != (counts[best[1]], fewest):
        yield f"numbers of processors {counts}: {text}"
    if not math.isclose(float(told[1].replace(",", "")), gain, rel_tol=0.006):
        yield f"gain {gain}: {text}"
    if not math.isclose(float(told[6]), 100 * gain * fewest / most, rel_tol=0.006):
        yield f"efficiency {gain * fewest / most}: {text}"
    tops = [max(rates[key] for key in keys if counts[key] == count) for count in sorted({*counts.values()})]
    if "each larger number is faster" in text and any(after <= before for before, after in pairwise(tops)):
        yield f"not each step is faster, {tops}: {text}"
    if "the maximum, is faster than all smaller" in text and tops[-1] <= max(tops[:-1]):
        yield f"the maximum is not the fastest, {tops}: {text}"
    beyond = re.search(r"beyond ([\d,]+) (?:CPUs|GPUs), no number", text)
    if beyond:
        yield from _of_beyond(int(beyond[1].replace(",", "")), text, rates, counts, truth)
    yield from _of_laws(found, texts, rates, counts)


def _of_beyond(limit: int, text: str, rates: dict[Key, float], counts: dict[Key, int], truth: Truth) -> Iterator[str]:
    for key, count in counts.items():
        fewer = max((rates[other], other) for other in counts if counts[other] < count) if count > limit else None
        if fewer and rates[key] > 1.5 * fewer[0]:
            chance = truth.p_value(key, fewer[1], "throughput_items_per_s")
            if chance is not None and chance < HARDLY and not truth.overlaps(key, fewer[1], "throughput_items_per_s"):
                yield f"{key} is faster (p = {chance}): {text}"


def _of_laws(found: Scaling, texts: list[str], rates: dict[Key, float], counts: dict[Key, int]) -> Iterator[str]:
    """A named law has the form of its name, and its curve is within 10 % of each rate."""
    p = np.array([counts[key] for key in rates], dtype=np.float64)
    x = np.array(list(rates.values()))
    for fit in found.fits:
        curve = fit.curve(p)[:, 0]
        if (np.abs(curve / x - 1) > 0.1 * (1 + 1e-6)).any():
            yield f"{fit.law.name} is off by more than 10 %: {x / x[0]}, and not {curve / x[0]}, on {p}"
        scale = curve / _SHAPES[fit.law.name](p, *(each.estimate for each in fit.parameters.values()))
        if np.ptp(scale) > 1e-6 * scale.max():
            yield f"{fit.law.name} has another form: {curve / x[0]} on {p}"
    for text in texts[1:]:
        told = re.match(r"By (?:the )?(.+?)(?:,| [\d.])", text)
        if told is None or told[1] not in [fit.law.name for fit in found.fits]:
            yield f"law that does not fit: {text}"
