"""From measurements to what is told of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.simulated_settings import run_search
from hpcbench.analysis.cases.quantities import THROUGHPUT
from hpcbench.analysis.stats.intervals import Interval
from hpcbench.core.record import Record
from hpcbench.plan.case import Case
from hpcbench.tuning.ask_tell import Block, Outcome, Trials
from hpcbench.tuning.block_model import Effects
from hpcbench.tuning.conclusion import conclude, with_grid
from hpcbench.tuning.exhaustive import whole_grid
from hpcbench.tuning.objective import Objective
from hpcbench.tuning.paired_comparison import Verdict
from hpcbench.tuning.result import Recommendation, TuningResult
from hpcbench.tuning.search import SearchResult
from hpcbench.tuning.search_space import Context
from tests.fixtures.records import a_record
from tests.tuning.made import case

CONTEXT = Context((case(), case(intra_op_threads=1), case(intra_op_threads=2)), 0, ("intra_op_threads",))
OBJECTIVE = Objective(THROUGHPUT)


class Measured:
    """Ten measurements of ten seconds, of which some failed."""

    count, with_interference, seconds, objective = 10, 0, 100.0, OBJECTIVE

    def __init__(self, failed: Mapping[int, Sequence[str]]) -> None:
        self.failed = {CONTEXT.cases[number].id: list(whys) for number, whys in failed.items()}

    def costs(self, case: Case) -> list[float]:
        return [0.1, 0.1]

    def with_interference_of(self, case: Case, last: int) -> int:
        return self.with_interference

    def expected_s(self, cases: Sequence[Case]) -> float | None:
        return 10.0 * len(cases)

    def failures(self, case: Case) -> list[str]:
        return self.failed.get(case.id, [])


def searched(failed: Mapping[int, Sequence[str]]) -> TuningResult:
    return conclude(CONTEXT, None, Measured(failed), 6)


def grid(
    finding: TuningResult, costs: Mapping[int, float | None], failed: Mapping[int, Sequence[str]], repetitions: int = 2
) -> TuningResult:
    """What is told when the setting 1 was found, and the grid has these costs."""

    def measure(block: Block) -> list[Outcome]:
        return [Outcome(setting, costs[setting]) for setting in block.configurations]

    trials = Trials(0)
    run_search(whole_grid(trials, range(3), repetitions), measure)
    return with_grid(finding, CONTEXT, 1, trials, Measured(failed))


def test_every_setting_that_failed_is_told_once_with_the_first_reason() -> None:
    found = searched({0: ["timeout", "failed: it fell"]})
    assert [(each.parameters, each.why) for each in found.failed] == [({"intra_op_threads": None}, "timeout")]
    assert found.grid_seconds == 180.0


def answered(measured: Any, verdict: Verdict | None) -> Recommendation:
    """Of a search that found the setting 1, by that compare."""
    effects = Effects({0: 0.0, 1: -0.1, 2: 0.1}, dict.fromkeys(range(3), 2), 0.01, 3)
    answer = conclude(CONTEXT, SearchResult(1, 1, verdict, effects), measured, 6).answer
    assert answer is not None
    return answer


class Completed(Measured):
    """The setting 1 was lucky in the two measurements that chose it."""

    def __init__(self, works: Mapping[int, Mapping[str, Any]]) -> None:
        super().__init__({})
        self.works = {CONTEXT.cases[number].id: work for number, work in works.items()}

    def costs(self, case: Case) -> list[float]:
        return [0.05, 0.05, 0.1, 0.1, 0.1] if case == CONTEXT.cases[1] else [0.2, 0.2, 0.2]

    def completed(self, case: Case) -> Record:
        return a_record(work=self.works.get(case.id))


def test_what_chose_a_setting_is_not_in_its_value() -> None:
    answer = answered(Completed({}), Verdict(Interval(2.0, 1.9, 2.1), True, 3))
    assert answer.best.value is not None
    assert answer.default.value is not None
    assert (answer.best.value.estimate, answer.default.value.estimate) == (10.0, 5.0)


def test_other_work_than_that_of_the_default_is_told() -> None:
    works = {0: {"parameter_count": 1000, "flops_per_item": 7}, 1: {"parameter_count": 10, "flops_per_item": 7}}
    assert answered(Completed(works), None).differs == {"parameter_count": (10, 1000)}
    assert answered(Completed({0: works[0], 1: works[0]}), None).differs == {}


def test_the_grid_tells_what_beats_the_setting_that_was_found() -> None:
    found = grid(searched({}), {0: 3.0, 1: 1.1, 2: 1.0}, {})
    assert found.grid is not None
    assert found.grid.best.parameters == {"intra_op_threads": 2}
    assert (found.grid.beats, found.grid.of) == (1, 2)
    assert found.grid.slower is not None
    assert round(found.grid.slower.estimate, 6) == 1.1
    assert found.grid_seconds == 100.0


def test_a_grid_of_one_repetition_has_nothing_left_to_tell_a_ratio_by() -> None:
    found = grid(searched({}), {0: 3.0, 1: 1.3, 2: 1.0}, {}, repetitions=1)
    assert found.grid is not None
    assert (found.grid.slower, found.grid.failed) == (None, False)


def test_a_setting_that_fails_in_the_grid_is_told_and_not_compared() -> None:
    found = grid(searched({0: ["timeout"]}), {0: 3.0, 1: None, 2: 1.0}, {1: ["out of memory"]})
    assert found.grid is not None
    assert (found.grid.slower, found.grid.beats, found.grid.of, found.grid.failed) == (None, 0, 1, True)
    assert [each.why for each in found.failed] == ["out of memory", "timeout"]


def test_where_the_whole_grid_fails_there_is_none() -> None:
    found = grid(searched({}), {0: None, 1: None, 2: None}, {number: ["timeout"] for number in range(3)})
    assert found.grid is None
    assert len(found.failed) == 3


def test_no_gain_is_concluded_from_runs_that_mostly_had_interference() -> None:
    """Two of three runs of each side had it: the default stays, whatever the ratio."""
    measured = Completed({})
    measured.with_interference = 2
    answer = answered(measured, Verdict(Interval(221.0, 200.0, 240.0), True, 3))
    assert (answer.certain, answer.best, answer.with_interference, answer.runs) == (False, answer.default, 4, 6)
    measured.with_interference = 1
    assert answered(measured, Verdict(Interval(2.0, 1.9, 2.1), True, 3)).certain
