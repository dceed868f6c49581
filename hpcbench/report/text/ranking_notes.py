"""Sentences that explain rankings: separate workloads, ranking by time, wide intervals, published times, bitwise equal
results."""

from __future__ import annotations

from collections.abc import Iterator

from hpcbench.analysis.cases.labels import plain
from hpcbench.analysis.cases.quantities import SPEEDUP, TIME
from hpcbench.analysis.cases.user_workload import differing_user_parameters
from hpcbench.analysis.cases.workloads import differing_work
from hpcbench.analysis.results import Results
from hpcbench.analysis.stats.intervals import MIN_TO_RESAMPLE
from hpcbench.analysis.stats.ratio_text import WIDEST, says_nothing
from hpcbench.report.text.published import published_notes
from hpcbench.report.text.training.trajectories import trajectory_notes
from hpcbench.report.text.validation.bitwise import bitwise_notes
from hpcbench.report.text.validation.not_validated import not_validated_notes
from hpcbench.util.text import plural


def ranking_notes(results: Results) -> Iterator[str]:
    """Yield the differences between workloads, then the metrics that rank no case as their direction is unknown.

    The last sentences are on intervals that are too wide to be shown, published times, cases that are not validated
    or have no trajectory, and bitwise equal results.
    """
    if len(results.workloads) > 1:
        differing = differing_work(results.cases)
        if differing:
            yield f"Workloads are ranked separately. They differ in: {', '.join(differing)}."
        names = [plain(name) for name in differing_user_parameters(results.cases)]
        if names:
            options = " ".join(f"--same-workload {name}" for name in names)
            yield (
                f"Commands are ranked separately, because their workload may depend on: {', '.join(names)}. "
                f"If it does not, use {options}, or same_workload in the experiment."
            )
    unknown = [metric for work in results.workloads for metric in results.undirected(work)]
    if unknown:
        names = list(dict.fromkeys(metric.title for metric in unknown))
        yield (
            f"Commands are ranked by time, because the better direction of {', '.join(names)} is unknown: "
            f"use --metric {names[0]}:higher or --metric {names[0]}:lower."
        )
    yield from _wide_interval_notes(results)
    yield from published_notes(results)
    yield from not_validated_notes(results)
    yield from trajectory_notes(results)
    yield from bitwise_notes(results)


def _wide_interval_notes(results: Results) -> Iterator[str]:
    """Yield why tables show `unknown` instead of the limits of an interval, if they do for any case."""
    cases = results.cases
    limits = [each.limits for each in (results.quantity, TIME, SPEEDUP, *results.metrics.values())]
    known = [cases[list(pair)].astype(float).to_numpy() for pair in limits if set(pair) <= set(cases)]
    wide = [any(says_nothing(*pair) for pair in case) for case in zip(*known, strict=True)]
    if not any(wide):
        return
    counted = plural(sum(wide), "case")
    yield f"95 % CI unknown for {counted}: its limits differ by more than a factor of {WIDEST:,.0f}."
    if cases.loc[wide, "runs"].lt(MIN_TO_RESAMPLE).any():
        method = "Student's t on the logarithms of the medians of the runs"
        remedy = f"set measure.repetitions to {MIN_TO_RESAMPLE} or more"
        yield f"With fewer than {MIN_TO_RESAMPLE} runs, the CI is {method}: {remedy}."
