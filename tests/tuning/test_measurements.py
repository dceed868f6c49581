"""What the measurements of a search have shown and taken, with made-up records."""

from __future__ import annotations

from hpcbench.analysis.cases.quantities import TIME
from hpcbench.tuning.fidelity import Stage
from hpcbench.tuning.measurements import Measurements
from hpcbench.tuning.objective import Objective
from tests.tuning.made import case, record, run


def test_what_was_disturbed_and_measured_again_takes_its_time_too() -> None:
    found, attempts = Measurements(Objective(TIME)), [record(verdict="interference"), record(seconds=11)]
    run(found.measure(case(), Stage.SHORT), lambda _: attempts)
    assert (found.seconds, found.count, found.with_interference) == (21.0, 2, 1)
    assert found.costs(case()) == []
    assert found.expected_s([case()]) is None
    run(found.measure(case(), Stage.FULL), lambda _: attempts)
    assert (found.seconds, found.count, found.with_interference) == (42.0, 4, 2)
    assert found.costs(case()) == [0.5]
    assert found.expected_s([case(), case(intra_op_threads=2)]) == 42.0


def test_a_record_that_failed_is_no_example_but_a_failure() -> None:
    found = Measurements(Objective(TIME))
    assert found.completed(case()) is None
    run(found.measure(case(), Stage.SHORT), lambda _: record(None))
    assert found.completed(case()) is None
    assert found.failures(case()) == ["timeout"]
    run(found.measure(case(), Stage.SHORT), lambda _: record(0.25))
    completed = found.completed(case())
    assert completed is not None
    assert completed.measurements.times_s == [0.25]
