"""The cases that put a schedule of per-layer threads beside the best fixed setting."""

from __future__ import annotations

from typing import Any

from hpcbench.config.parameters import Parameters
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.plan.case import Case, case_id
from hpcbench.tuning.thread_schedule_search import at_shape, following, searching_case


def case(**parameters: Any) -> Case:
    given = {"framework": "pytorch", "model": "lstm", "cpus_per_task": 4, "execution": "eager", **parameters}
    checked = Parameters.model_validate(given)
    return Case(case_id(checked, {}), 0, checked, {}, SlurmOptions())


DYNAMIC = case(threads="dynamic")


def test_counts_by_section_take_the_place_of_one_count() -> None:
    best = case(threads="fixed", intra_op_threads=2, inter_op_threads=1, allocator="jemalloc", instances=2)
    parameters = searching_case(best, DYNAMIC).parameters
    assert parameters.threads == "dynamic"
    assert (parameters.intra_op_threads, parameters.instances) == (None, 1)
    assert (parameters.inter_op_threads, parameters.allocator) == (1, "jemalloc")


def test_sections_are_as_deep_and_have_as_many_threads_as_the_experiment_asks() -> None:
    asked = case(threads="dynamic", section_depth=3, intra_op_threads=4)
    searched = searching_case(case(intra_op_threads=2), asked)
    assert (searched.parameters.section_depth, searched.parameters.intra_op_threads) == (3, 4)
    assert following(searched, "s.json").parameters.section_depth is None


def test_a_compiled_best_is_measured_as_written() -> None:
    best = case(execution="compiled", compile_mode="default", intra_op_threads=2)
    assert searching_case(best, DYNAMIC).parameters.execution == "eager"


def test_a_schedule_is_another_case() -> None:
    searched = searching_case(case(intra_op_threads=2), DYNAMIC)
    scheduled = following(searched, "results/s/schedules/c1.json")
    assert scheduled.parameters.schedule == "results/s/schedules/c1.json"
    assert scheduled.id != searched.id


def test_a_shape_changes_sizes_and_no_setting() -> None:
    scheduled = following(searching_case(case(model_options={"hidden_size": 64}), DYNAMIC), "s.json")
    other = at_shape(scheduled, {"batch_size": 24, "model_options.sequence_length": 8})
    assert other.parameters.batch_size == 24
    assert other.parameters.model_options == {"hidden_size": 64, "sequence_length": 8}
    assert (other.parameters.threads, other.parameters.schedule) == ("dynamic", "s.json")
