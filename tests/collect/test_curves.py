"""Curves of the values that programs logged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hpcbench.collect.curves import curves, epoch_table
from hpcbench.core.record import Error, MetricValue, Record
from hpcbench.core.training.learning import Epoch, Learning
from hpcbench.core.training.trajectory import Trajectory


def test_a_curve_has_the_logged_values_once_and_no_phases(make_record: Callable[..., Record]) -> None:
    loss = MetricValue(0.5, "", None, "last", values=[1.0, 0.5], steps=[1, 2])
    metrics = {
        "loss": loss,
        "lowest": replace(loss, reduce="min", better="lower"),
        "phase_data": replace(loss, unit="s"),
        "rate": MetricValue(5.0, "it/s", "higher", values=[5.0]),
    }
    found = curves({"a": replace(make_record(0), metrics=metrics), "b": make_record(1)})
    expected = {"case": ["a"] * 2, "name": ["loss"] * 2, "axis": ["step"] * 2, "step": [1, 2], "value": [1.0, 0.5]}
    assert found.to_dict("list") == expected


def test_a_training_has_curves_of_loss_and_both_accuracies(make_record: Callable[..., Record]) -> None:
    curve = [Epoch(1, 2.0, 0.6, 1.9, 0.7, 0.65), Epoch(2, 4.0, 0.8, 3.9, 0.3, 0.9), Epoch(3, 6.0, 0.7, 5.9)]
    learning = Learning(6.0, 6.0, 0.1, 3, 0.7, curve, 0, 100, 0.0)
    found = curves({"a": replace(make_record(0), learning=learning)})
    values = {name: rows["value"].tolist() for name, rows in found.groupby("name")}
    assert values == {
        "training loss": [0.7, 0.3],
        "training accuracy": [0.65, 0.9],
        "validation accuracy": [0.6, 0.8, 0.7],
    }
    assert found[found["name"] == "training loss"]["step"].tolist() == [1, 2]
    assert set(found["axis"]) == {"epoch"}


def test_the_epochs_are_those_of_trainings_that_ended_by_themselves(make_record: Callable[..., Record]) -> None:
    learning = Learning(6.0, 6.0, 0.1, 2, 0.8, [Epoch(1, 2.0, 0.6, 1.9), Epoch(2, 4.0, 0.8, 3.9)], 0, 100, 0.0)
    trained = replace(make_record(0), learning=learning)
    missed = replace(make_record(1), learning=learning, status="failed", error=Error("missed", "no"))
    broken = replace(make_record(2), learning=learning, status="failed", error=Error("weights", "no"))
    several = replace(make_record(3), learning=learning, models=[learning, learning])
    found = epoch_table([trained, missed, broken, several, make_record(4)])
    assert found["run"].tolist() == [trained.run] * 2 + [missed.run] * 2
    assert found["accuracy"].tolist() == [0.6, 0.8] * 2
    assert found["epoch"].tolist() == [1, 2] * 2
    assert epoch_table([]).empty


def test_commands_that_log_nothing_have_no_curves(make_record: Callable[..., Record]) -> None:
    assert curves({"a": make_record(0)}).empty


def test_a_trajectory_has_the_curve_of_the_loss_of_each_step(make_record: Callable[..., Record]) -> None:
    trajectory = Trajectory(losses=[2.0, None, 1.5])
    found = curves({"a": replace(make_record(0), trajectory=trajectory)})
    assert found["value"].tolist() == [2.0, 1.5]  # each its own, not a mean over the steps so far
    assert found["step"].tolist() == [1, 3]
    assert set(found["axis"]) == {"training step"}
    assert curves({"a": replace(make_record(0), trajectory=Trajectory(reason="memory ran out"))}).empty
