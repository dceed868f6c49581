"""Sentences that explain rankings: separate workloads, ranking by time, published times, bitwise equal results."""

from __future__ import annotations

from collections.abc import Iterator

from hpcbench.analysis.cases.labels import plain
from hpcbench.analysis.cases.user_workload import differing_user_parameters
from hpcbench.analysis.cases.workloads import differing_work
from hpcbench.analysis.results import Results
from hpcbench.report.text.published import published_notes
from hpcbench.report.text.training.trajectories import trajectory_notes
from hpcbench.report.text.validation.bitwise import bitwise_notes
from hpcbench.report.text.validation.not_validated import not_validated_notes


def ranking_notes(results: Results) -> Iterator[str]:
    """Yield the differences between workloads, then the metrics that rank no case as their direction is unknown.

    The last sentences are on published times, cases that are not validated or have no trajectory, and bitwise equal
    results.
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
    yield from published_notes(results)
    yield from not_validated_notes(results)
    yield from trajectory_notes(results)
    yield from bitwise_notes(results)
