"""The trajectory of a second training in PyTorch: equal trainings are equal, and each planted difference is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcbench.core.training.trajectory import Trajectory
from hpcbench.models.network_reference import with_weights
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.workload import problem as problems

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: trajectories of trainings")

from hpcbench.analysis.training.divergence import Recorded, divergence  # noqa: E402 - it is used with torch alone
from hpcbench.node.frameworks import load  # noqa: E402 - it needs torch
from hpcbench.node.worker import trajectory  # noqa: E402

OPTIONS: dict[str, dict[str, Any]] = {
    "mlp": {"input_size": 5, "hidden_size": 6, "classes": 3},
    "gpt": {
        "hidden_size": 8,
        "layers": 1,
        "heads": 2,
        "feed_forward_size": 8,
        "vocabulary": 9,
        "positions": 6,
        "sequence_length": 5,
    },
}
STEPS = 6


class Found:
    """A trajectory with the weights in its file."""

    def __init__(self, trajectory: Trajectory, path: Path) -> None:
        self.trajectory = trajectory
        self.weights = np.load(path, allow_pickle=False) if path.exists() else np.zeros((0, 0))

    def against(self, other: Found) -> Any:
        first, second = (Recorded("s", "c", 1, each.trajectory) for each in (self, other))
        return divergence(first, second, self.weights, other.weights)


@pytest.fixture
def recorded(make_planned: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """The trajectory of a small network, whose measurement is not simulated; None if the run has none."""

    def make(model: str = "mlp", steps: int = STEPS, run: int = 1, **changes: Any) -> Any:
        given = {"model": model, "model_options": OPTIONS.get(model, {}), "task": "training", **changes}
        planned = make_planned(**given)._replace(run=run, measure={"trajectory": {"steps": steps}})
        adapter = load("pytorch")
        network = adapter.build(problems.of_case(planned.parameters, Group(Ranks(0, 1))))
        before = [np.array(each) for each in network.weights()]
        path = tmp_path / "trajectory.npy"
        found = trajectory.record(adapter, network, planned, str(path))
        for one, other in zip(before, network.weights(), strict=True):
            assert np.array_equal(one, other)  # the measured network is another
        return Found(found, path) if found else None

    return make


@pytest.mark.parametrize("model", [*OPTIONS])
def test_two_equal_trainings_do_not_diverge(recorded: Any, model: str) -> None:
    first, second = recorded(model), recorded(model)
    assert first.trajectory.sha256 == second.trajectory.sha256
    assert first.trajectory.steps == [0, 1, 2, 4, STEPS]
    assert len(first.trajectory.losses) == STEPS
    assert len(set(first.trajectory.losses)) == STEPS  # each step has a batch of its own
    found = first.against(second)
    assert (found.reason, found.first_above_rounding) == ("", None)
    assert set(found.relative_l2) == set(found.largest) == {0.0}
    assert set(found.losses) == {0.0}
    assert not np.array_equal(first.weights[0], first.weights[1])


def test_the_first_row_has_the_initial_weights_in_the_order_of_the_layers(
    recorded: Any, make_planned: Callable[..., Any]
) -> None:
    found = recorded()
    made = problems.of_case(
        make_planned(model="mlp", model_options=OPTIONS["mlp"], task="training").parameters, Group(Ranks(0, 1))
    )
    initial = made.weights()
    layers = [initial.of(layer, shape) for _, layer, shape in with_weights(made.layers, made.item_shape)]
    expected = [array.ravel() for weights in layers for array in weights.values()]
    assert np.array_equal(found.weights[0], np.concatenate(expected))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"name": "sgd", "learning_rate": 0.1}, {"name": "sgd", "learning_rate": 0.1001}),
        ({"name": "adam", "learning_rate": 0.01}, {"name": "adam", "learning_rate": 0.01, "eps": 1e-6}),
        ({"name": "momentum", "learning_rate": 0.1}, {"name": "momentum", "learning_rate": 0.1, "momentum": 0.91}),
    ],
)
def test_a_planted_difference_of_the_optimizer_is_found(
    recorded: Any, one: dict[str, Any], other: dict[str, Any]
) -> None:
    found = recorded(optimizer=one).against(recorded(optimizer=other))
    assert found.relative_l2[0] == 0
    assert found.first_above_rounding is not None
    assert found.first_above_rounding <= 4
    assert found.losses[0] == 0
    assert found.losses[-1] > 0


def test_another_seed_has_other_initial_weights(recorded: Any) -> None:
    assert recorded().against(recorded(seed=1)).reason == "their initial weights differ"


def test_dropout_is_off(recorded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"model": "transformer", "steps": 2, "model_options": {**OPTIONS["gpt"], "classes": 3}}
    kept = recorded(**own)
    monkeypatch.setattr(trajectory, "without_dropout", lambda layers: layers)
    assert recorded(**own).trajectory.sha256 != kept.trajectory.sha256


def test_larger_models_have_a_sample_of_each_part(recorded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = recorded()
    monkeypatch.setattr(trajectory, "MOST_STORED", 16)
    found = recorded()
    assert (found.trajectory.weights, found.trajectory.stored) == (whole.weights.shape[1], 16)
    count = whole.weights.shape[1]
    places = trajectory._sample(count)
    assert np.array_equal(found.weights, whole.weights[:, places])
    ends = np.arange(17) * count // 16
    assert ((ends[:-1] <= places) & (places < ends[1:])).all()


def test_real_data_have_one_order_for_all_frameworks(recorded: Any, tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    np.savez(tmp_path / "d.npz", x=generator.random((40, 5), np.float32), y=np.arange(40) % 3)
    data = {"npz": str(tmp_path / "d.npz")}
    first, second = (recorded(steps=20, data=data) for _ in range(2))  # more than two epochs
    assert first.trajectory.sha256 == second.trajectory.sha256
    assert first.trajectory.reason is None
    assert len(set(first.trajectory.losses)) == 20


def test_gradient_accumulation_takes_as_many_batches_as_a_step_of_the_case(recorded: Any) -> None:
    optimizer = {"name": "sgd", "learning_rate": 0.1}
    one, two = (recorded(optimizer={**optimizer, "gradient_accumulation_steps": count}) for count in (1, 2))
    assert one.against(two).first_above_rounding == 1


@pytest.mark.parametrize("changes", [{"task": "inference"}, {"task": "backward"}, {"run": 3}])
def test_other_tasks_and_later_runs_have_none(recorded: Any, changes: dict[str, Any]) -> None:
    assert recorded(**changes) is None


def test_what_cannot_be_recorded_has_a_reason(recorded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = recorded(threads="dynamic")
    assert found.trajectory == Trajectory(reason="a trajectory cannot be used with threads: dynamic")

    def fail(self: Any, batches: Any) -> Any:
        raise ValueError("bad\nat line 3")

    monkeypatch.setattr("hpcbench.node.frameworks.pytorch.network.PyTorchNetwork.learn", fail)
    assert recorded().trajectory == Trajectory(reason="the second training failed (ValueError: bad)")
