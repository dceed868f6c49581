"""A step under a schedule, and the counts that are read back in it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: following a schedule")

from hpcbench.node.thread_schedule import BACKWARD, FORWARD, Schedule, Section, apply_schedule, cpus, fingerprint  # noqa: E402
from hpcbench.node.thread_schedule.search.readback import follow  # noqa: E402 - they need torch
from hpcbench.node.thread_schedule.search.sections import Refused  # noqa: E402

BATCH = torch.ones(1, 4)


@pytest.fixture(autouse=True)
def _threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(cpus, "usable", lambda: [0, 1, 2, 3])
    monkeypatch.setattr(cpus, "tightest", lambda: None)
    count = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(count)


class Setting(torch.nn.Linear):
    def __init__(self, threads: int) -> None:
        super().__init__(4, 4)
        self.threads = threads

    def forward(self, batch: Any) -> Any:
        torch.set_num_threads(self.threads)
        return super().forward(batch)


def linear() -> Any:
    return torch.nn.Linear(4, 4)


def followed(model: Any, sections: list[tuple[str, str, int]], step: Any = None) -> list[int]:
    made = Schedule(fingerprint(model), tuple(Section(*each) for each in sections), {})
    found = follow(model, made.sections, partial(apply_schedule, model, made), step or (lambda: model(BATCH)))
    found.applied.remove()
    return found.counts


def test_counts_of_all_sections_are_read_back() -> None:
    model = torch.nn.Sequential(linear(), linear(), linear())
    forward = [("0", FORWARD, 2), ("1", FORWARD, 2), ("2", FORWARD, 1)]
    assert followed(model, forward) == [2, 2, 1]
    both = [*forward, ("2", BACKWARD, 3), ("0", BACKWARD, 1)]
    assert followed(model, both, lambda: model(BATCH).sum().backward()) == [2, 2, 1, 3, 1]
    assert followed(model, both) == [2, 2, 1], "of what has run"


@pytest.mark.parametrize(
    ("modules", "sections", "reason"),
    [
        ([linear(), Setting(1), linear()], [("0", 2), ("1", 2), ("2", 2)], "in 1 there are 1, and 2 were requested"),
        ([linear(), Setting(1), linear()], [("0", 2)], "in 0 there are 1, and 2 were requested"),
        ([linear(), Setting(3)], [("0", 2), ("1", 1)], "in 1 there are 3, and 1 were requested"),
    ],
    ids=["where no count changes", "inside a section", "in the last section"],
)
def test_a_model_that_sets_threads_itself_is_refused(
    modules: list[Any], sections: list[tuple[str, int]], reason: str
) -> None:
    model = torch.nn.Sequential(*modules)
    with pytest.raises(Refused, match=f"the model sets threads itself: {reason}"):
        followed(model, [(path, FORWARD, count) for path, count in sections])
    assert not any(module._forward_pre_hooks for module in model.modules())
    assert torch.get_num_threads() == 4


def test_another_order_than_the_schedules_is_refused() -> None:
    model = torch.nn.Sequential(linear(), linear())
    with pytest.raises(Refused, match="another order than in the schedule: forward of 1 came after forward of 0"):
        followed(model, [("1", FORWARD, 2), ("0", FORWARD, 1)])


def test_a_step_without_the_model_is_refused() -> None:
    with pytest.raises(Refused, match="none of the layer groups of the schedule has run"):
        followed(torch.nn.Sequential(linear()), [("0", FORWARD, 2)], lambda: None)


def test_a_schedule_of_another_model_is_refused_as_such() -> None:
    model = torch.nn.Sequential(linear())
    made = Schedule("0", (Section("9", FORWARD, 1),), {})
    with pytest.raises(ValueError, match="it belongs to another model"):
        follow(model, made.sections, partial(apply_schedule, model, made), lambda: model(BATCH))
    assert not model[0]._forward_pre_hooks
