"""The evaluation of sentences finds faults: each is made in hpcbench, and a random table shows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from hpcbench.analysis.cases import ranking
from hpcbench.analysis.stats import paired_effects, two_samples
from hpcbench.analysis.studies import arithmetic_intensity
from hpcbench.tuning.paired_comparison import evaluate
from tests.report.sentences.test_sentences import KINDS


class Mutation(NamedTuple):
    """A fault: what another value in hpcbench makes false, and the seed of the first table that shows it."""

    name: str
    target: str
    value: Any
    seed: int
    kind: str = "report"


def _effects(*given: Any, **options: Any) -> list[paired_effects.Effect]:
    found = paired_effects.effects(*given, **options)
    return [effect._replace(better=effect.worse, worse=effect.better) for effect in found]


def _ranked(cases: Any, quantity: Any, metrics: Any = ()) -> Any:
    return ranking.ranked(cases, replace(quantity, more_is_better=not quantity.more_is_better), metrics)


def _first_case(_: Any, members: list[int], given: int | None) -> Iterator[tuple[int, int]]:
    yield from ((row, members[0] if given is None else given) for row in members)


def _one_workload(cases: Any) -> Any:
    return cases["time_median_s"].notna().astype("int64") - 1


def _always(_: Any, cases: Any) -> str:
    return f"hpcbench resume {cases['sweep'].iloc[0]}"


def _turned_round(base: Any, new: Any) -> Any:
    return two_samples.ratio_of_medians(new, base)


def _any_unmonitored(case: Any) -> bool:
    return bool(case["unmonitored"] and case["interference_runs"])


def _twice_the_bytes(*work: Any) -> Any:
    found = arithmetic_intensity.step_work(*work)
    return found._replace(moved_bytes=2 * found.moved_bytes)


def _certain(*given: Any) -> Any:
    return evaluate(*given)._replace(certain=True)


def _uncertain(*given: Any) -> Any:
    return evaluate(*given)._replace(certain=False)


def _as_written(message: str, _: Any = ()) -> str:
    return message


def _same(*_: Any) -> str:
    return ""


def _none(*_: Any) -> tuple[()]:
    return ()


_STUDIES, _STATS = "analysis.studies", "analysis.stats"
MUTATIONS = [
    Mutation("effects in the wrong direction", f"{_STUDIES}.importance.effects", _effects, 10),
    Mutation("the worst case is the best", "report.load.results.ranked", _ranked, 1),
    Mutation("any case is within noise of the best", f"{_STUDIES}.best_case._is_alike", lambda _: True, 14),
    Mutation("any gain is significant", f"{_STUDIES}.best_case._is_significant", lambda gain, _: gain.estimate > 1, 12),
    Mutation("a base of another problem size", "analysis.cases.speedup._references", _first_case, 4),
    Mutation("a headline hides interference", "report.text.best_case_sentence._interference", _same, 7),
    Mutation("some runs are all", f"{_STUDIES}.best_case._has_only_unmonitored", _any_unmonitored, 12),
    Mutation("one cause is several", "report.text.failures.cause", _as_written, 92),
    Mutation("several causes are one", "report.text.failures.cause", _same, 4),
    Mutation("a law that is off is named", f"{_STUDIES}.scaling.MAX_ERROR", 0.3, 37),
    Mutation(
        "each number of processors pays", f"{_STUDIES}.scaling._pays", lambda counts, *_: [True] * len(counts), 14
    ),
    Mutation("rules with nothing to check are kept", f"{_STUDIES}.reporting_rules._reasons", _none, 0),
    Mutation("rules are not checked", f"{_STUDIES}.rule_checks.CHECKS", (), 0),
    Mutation("all workloads are one", "analysis.results.work_groups", _one_workload, 4),
    Mutation("nothing fails again", "status.fails_again._fails_again", lambda *_: False, 4),
    Mutation("resume what fails again", f"{_STUDIES}.rule_checks._rerun", _always, 4),
    Mutation("a ranking by time without a word", "analysis.results.Results.undirected", _none, 20),
    Mutation("slower is faster", f"{_STATS}.equivalence.SLOWER", "faster", 1, "compare"),
    Mutation("BASE is NEW", f"{_STATS}.equivalence.ratio_of_medians", _turned_round, 1, "compare"),
    Mutation("all is the same", f"{_STATS}.equivalence._log", lambda _: 0.0, 1, "compare"),
    Mutation("runs with interference are compared", f"{_STUDIES}.comparison.INTERFERENCE", "", 6, "compare"),
    Mutation("other workloads are compared", f"{_STUDIES}.comparison.WORK", (), 14, "compare"),
    Mutation("a slowdown is a speedup", f"{_STUDIES}.history.SLOWER", "faster", 0, "history"),
    Mutation("changes below the margin", f"{_STATS}.change_points._beyond", lambda found, *_: found, 4, "history"),
    Mutation("any change is significant", f"{_STATS}.change_points._p_value", lambda *_: 0.0, 2, "history"),
    Mutation("no change is found", f"{_STATS}.change_points._splits", _none, 5, "history"),
    Mutation("facts are not compared", f"{_STUDIES}.history._fact_changes", lambda *_: {}, 3, "history"),
    Mutation(
        "workloads are mixed",
        f"{_STUDIES}.history._compared",
        lambda found: [each for each in found if each.value],
        2,
        "history",
    ),
    Mutation("memory is no bound", f"{_STUDIES}.roofline.MEMORY", "compute", 1, "roofline"),
    Mutation("the roof of one core", f"{_STUDIES}.roofline._cores", lambda _: 1, 0, "roofline"),
    Mutation("another intensity", f"{_STUDIES}.roofline.step_work", _twice_the_bytes, 1, "roofline"),
    Mutation("above the roof without a word", f"{_STUDIES}.roofline._remark", lambda *_: None, 1, "roofline"),
    Mutation("any candidate is better", "tuning.paired_comparison.evaluate", _certain, 0, "tune"),
    Mutation("no candidate is better", "tuning.paired_comparison.evaluate", _uncertain, 14, "tune"),
    Mutation("a search hides interference", "tuning.measurements.has_interference", lambda _: False, 3, "tune"),
    Mutation("one cause of a search is several", "report.terminal.tuning.cause", _as_written, 18, "tune"),
]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=[mutation.name for mutation in MUTATIONS])
def test_a_fault_is_found(mutation: Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"hpcbench.{mutation.target}", mutation.value)
    assert next(KINDS[mutation.kind](mutation.seed), None)
