"""Which branches are worth a try side by side. Modules that sleep stand for those that compute, on any machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: branches of models")
from torch import nn  # noqa: E402

from hpcbench.node.thread_schedule import cpus  # noqa: E402
from hpcbench.node.thread_schedule.recurrent import DIRECTIONS  # noqa: E402
from hpcbench.node.thread_schedule.search.parallel_branches import candidates, faster_branches  # noqa: E402


class Sleeping(nn.Linear):
    """As long with any number of threads."""

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__(4, 4)
        self.seconds = seconds

    def forward(self, batch: Any) -> Any:
        time.sleep(self.seconds)
        return super().forward(batch)


class Sum(nn.ModuleList):
    def forward(self, batch: Any) -> Any:
        return sum(branch(batch) for branch in self)


@pytest.fixture(autouse=True)
def _two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(cpus, "usable", lambda: [0, 1])
    count = torch.get_num_threads()
    yield
    torch.set_num_threads(count)


def step_of(model: Any, *shape: int) -> Callable[[], Any]:
    batch = torch.randn(*(shape or (2, 4)))

    def step() -> Any:
        with torch.inference_mode():
            return model(batch)

    return step


def found(model: Any, *shape: int) -> dict[str, tuple[str, ...]]:
    return {path: each.branches for path, each in candidates(model, step_of(model, *shape)).items()}


def test_branches_take_the_very_input_of_their_module() -> None:
    model = nn.Sequential(nn.Linear(4, 4), Sum([Sleeping(), Sleeping()]), nn.ReLU())
    assert found(model) == {"1": ("0", "1")}


def test_both_directions_of_a_recurrent_layer_are_branches() -> None:
    assert found(nn.LSTM(4, 3, bidirectional=True)) == {"": DIRECTIONS}
    assert found(nn.LSTM(4, 3)) == {}


def test_a_chain_has_none_also_where_a_layer_gives_back_its_input() -> None:
    assert found(nn.Sequential(nn.Dropout(), nn.Linear(4, 4)).eval()) == {}


def test_branches_that_share_a_module_are_not_independent() -> None:
    shared = nn.Linear(4, 4)
    assert found(Sum([nn.Sequential(shared), nn.Sequential(nn.Linear(4, 4))])) == {"": ("0", "1")}
    assert found(Sum([nn.Sequential(shared, nn.ReLU()), nn.Sequential(nn.Linear(4, 4), shared)])) == {}


def test_what_is_called_twice_has_none() -> None:
    branches = Sum([Sleeping(), Sleeping()])
    assert found(nn.Sequential(branches, branches)) == {}


def test_with_gradients_there_are_none() -> None:
    model, batch = Sum([Sleeping(), Sleeping()]), torch.randn(2, 4)
    assert candidates(model, lambda: model(batch)) == {}


def test_branches_that_are_faster_side_by_side_are_worth_a_try() -> None:
    model = nn.Sequential(Sum([Sleeping(0.02), Sleeping(0.02)]), nn.Linear(4, 4))
    before = torch.get_num_threads()
    assert faster_branches(model, step_of(model), 2) == {"0": ("0", "1")}
    assert torch.get_num_threads() == before
    assert not any("forward" in each.__dict__ or each._forward_pre_hooks for each in model.modules())


def test_branches_that_are_over_before_a_thread_wakes_are_not() -> None:
    model = Sum([Sleeping(), Sleeping()])
    assert faster_branches(model, step_of(model), 2) == {}


def test_what_is_inside_of_branches_stays_there() -> None:
    inner = Sum([Sleeping(0.02), Sleeping(0.02)])
    model = Sum([inner, Sleeping(0.04)])
    assert faster_branches(model, step_of(model), 2) == {"": ("0", "1")}


class Spoiling(Sleeping):
    """Changes its input, which other branches read."""

    def forward(self, batch: Any) -> Any:
        return super().forward(batch.mul_(1.5))


class Random(Sleeping):
    def forward(self, batch: Any) -> Any:
        return super().forward(batch) + torch.randn(4)


def test_outputs_that_are_whole_numbers_are_compared_as_they_are() -> None:
    class Choice(nn.ModuleList):
        def forward(self, batch: Any) -> Any:
            one, other = (branch(batch) for branch in self)
            return one, other.argmax(-1), other[:0]

    model = Choice([Sleeping(0.02), Sleeping(0.02)])
    assert faster_branches(model, step_of(model), 2) == {"": ("0", "1")}


@pytest.mark.parametrize("kind", [Spoiling, Random])
def test_branches_whose_result_depends_on_their_order_are_not(kind: Any) -> None:
    model = Sum([kind(0.02), Sleeping(0.02)])
    assert faster_branches(model, step_of(model), 2) == {}
