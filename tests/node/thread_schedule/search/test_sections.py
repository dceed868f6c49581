"""Sections of small models, found and timed for real; threads are counted, but no time is judged."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: sections of models")

from hpcbench.node.thread_schedule import BACKWARD, FORWARD  # noqa: E402
from hpcbench.node.thread_schedule.search import sections as found  # noqa: E402 - they need torch
from hpcbench.node.thread_schedule.search import thread_activity  # noqa: E402
from hpcbench.node.thread_schedule.search.sections import Refused, Sections, SectionStart, blocks  # noqa: E402
from tests.node.thread_schedule.search.threaded import Threaded  # noqa: E402


@pytest.fixture(autouse=True)
def _threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(found, "SHORT", 0)  # small as they are, sections stay apart
    count = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(count)


class Recurrent(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(4, 8, num_layers=2, bidirectional=True)
        self.out = torch.nn.Linear(16, 2)

    def forward(self, batch: Any) -> Any:
        return self.out(self.lstm(batch)[0])


def step_of(model: Any, shape: tuple[int, ...] = (3, 2, 4), training: bool = False) -> Any:
    batch = torch.ones(shape)

    def step() -> None:
        result = model(batch)
        if training:
            result.sum().backward()

    return step


def test_an_lstm_is_one_section_with_all_its_gates_and_steps() -> None:
    model = Recurrent()
    sections = Sections(model, step_of(model))
    assert sections.begins == [SectionStart("lstm", FORWARD), SectionStart("out", FORWARD)]


def test_what_is_compiled_belongs_to_the_block_before_it() -> None:
    scripted = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(4, 4)))
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), scripted, torch.nn.Linear(4, 4))
    assert list(blocks(model)) == ["0", "2"]


def test_training_has_the_backward_of_each_section_in_the_order_of_gradients() -> None:
    model = Recurrent()
    sections = Sections(model, step_of(model, training=True))
    assert [(place.module, place.phase) for place in sections.begins] == [
        ("lstm", FORWARD),
        ("out", FORWARD),
        ("out", BACKWARD),
        ("lstm", BACKWARD),
    ]


class OfStates(Recurrent):
    """Looks at the last states alone, as classifiers do."""

    def forward(self, batch: Any) -> Any:
        _, (states, _) = self.lstm(batch)
        return self.out(torch.cat([states[-2], states[-1]], 1))


def test_the_backward_of_an_lstm_whose_output_is_not_used_is_a_section_too() -> None:
    model = OfStates()
    sections = Sections(model, step_of(model, training=True))
    assert sections.begins[2:] == [SectionStart("out", BACKWARD), SectionStart("lstm", BACKWARD)]


def test_sections_have_their_counts_and_their_times_fill_the_step() -> None:
    counts: list[int] = []
    model = torch.nn.Sequential(*(Noting(counts) for _ in range(3)))
    sections = Sections(model, step_of(model))
    counts.clear()
    times = sections.time_step([1, 2, 1])
    assert counts == [1, 2, 1]
    assert len(times) == 3
    assert min(times) > 0


def test_a_whole_step_is_taken_without_hooks_which_are_back_afterwards() -> None:
    hooks: list[int] = []

    class Looking(torch.nn.Module):
        def forward(self, batch: Any) -> Any:
            hooks.append(len(self._forward_pre_hooks))
            return batch

    model = torch.nn.Sequential(Looking())
    sections = Sections(model, step_of(model))
    hooks.clear()
    assert len(sections.time_whole([2])) == 1
    assert torch.get_num_threads() == 2
    sections.time_step([1])
    assert hooks == [0, 1]


class Noting(torch.nn.Module):
    def __init__(self, counts: list[int]) -> None:
        super().__init__()
        self.counts = counts

    def forward(self, batch: Any) -> Any:
        self.counts.append(torch.get_num_threads())
        return batch + 1


def test_a_depth_limit_takes_blocks_whole() -> None:
    inner = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    model = torch.nn.Sequential(inner, torch.nn.Linear(4, 2))
    assert list(found.blocks(model)) == ["0.0", "0.1", "1"]
    assert list(found.blocks(model, depth=1)) == ["0", "1"]


def test_a_block_that_runs_twice_is_taken_with_its_siblings() -> None:
    shared = torch.nn.Linear(4, 4)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), Twice(shared), torch.nn.Linear(4, 2))
    sections = Sections(model, step_of(model))
    assert [place.module for place in sections.begins] == ["0", "1", "2"]


class Twice(torch.nn.Module):
    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, batch: Any) -> Any:
        return self.inner(self.inner(batch))


def linear() -> Any:
    return torch.nn.Linear(4, 4)


def chain(*modules: Any) -> Any:
    return torch.nn.Sequential(*modules)


SHARED = chain(linear(), torch.nn.ReLU())
ACTIVATION = torch.nn.ReLU()


@pytest.mark.parametrize(
    ("model", "begins"),
    [
        (chain(chain(SHARED), chain(SHARED)), ["0", "1"]),
        (chain(linear(), chain(SHARED), linear(), chain(SHARED)), ["0", "1", "2", "3"]),
        (chain(chain(SHARED), linear(), SHARED), [""]),
        (chain(linear(), chain(SHARED)), ["0", "1.0.0", "1.0.1"]),
    ],
    ids=["all that they have", "among others", "one of them is the model", "once"],
)
def test_a_block_that_runs_under_two_parents_is_taken_with_each(model: Any, begins: list[str]) -> None:
    assert [place.module for place in Sections(model, step_of(model)).begins] == begins


@pytest.mark.parametrize(
    ("model", "begins"),
    [
        (chain(linear(), ACTIVATION, linear(), ACTIVATION), ["0", "2"]),
        (chain(ACTIVATION, chain(linear(), ACTIVATION), linear()), ["1.0", "2"]),
        (chain(chain(ACTIVATION), linear(), chain(ACTIVATION)), ["1"]),
    ],
    ids=["of the model", "before all others", "under two parents"],
)
@pytest.mark.parametrize("training", [False, True])
def test_a_repeated_block_without_weights_joins_what_is_before_it(
    model: Any, begins: list[str], training: bool
) -> None:
    sections = Sections(model, step_of(model, training=training))
    backward = [(module, BACKWARD) for module in reversed(begins)] if training else []
    assert sections.begins == [(module, FORWARD) for module in begins] + backward


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (chain(SHARED, linear(), SHARED), "its blocks form one layer group: `0` runs more than once"),
        (chain(ACTIVATION, ACTIVATION), "its blocks form one layer group: `0` runs more than once"),
        (chain(ACTIVATION, linear(), ACTIVATION), "its blocks form one layer group: `0` runs more than once"),
        (linear(), "it has only one block"),
        (chain(linear(), linear()), None),
    ],
)
def test_why_there_is_one_section(model: Any, why: str | None) -> None:
    assert Sections(model, step_of(model)).why_one() == why


def test_one_section_may_be_all_that_is_long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found, "SHORT", 1e9)
    model = chain(linear(), linear())
    why = "its blocks form one layer group: all but one are too short to measure"
    assert Sections(model, step_of(model)).why_one() == why


def test_the_hooks_are_gone_when_it_is_closed() -> None:
    model = Recurrent()
    Sections(model, step_of(model, training=True)).close()
    assert not any(module._forward_pre_hooks or module._forward_hooks for module in model.modules())


def test_an_order_that_depends_on_data_is_refused() -> None:
    model = Choosing()
    batch = torch.ones(2, 4)
    sections = Sections(model, lambda: model(batch))
    batch.neg_()
    with pytest.raises(Refused, match="depends on the data: now forward of right, before forward of left"):
        sections.time_step([1, 1])


class Choosing(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.left, self.right = (torch.nn.Linear(4, 4) for _ in range(3))

    def forward(self, batch: Any) -> Any:
        result = self.first(batch)
        return self.left(result) if batch.sum() > 0 else self.right(result)


def test_a_model_that_sets_threads_itself_is_refused() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), Setting(), torch.nn.Linear(4, 4))
    torch.set_num_threads(2)
    with pytest.raises(Refused, match="sets threads itself: in 1 there are 1, and 2 were requested"):
        Sections(model, step_of(model))
    assert not any(module._forward_pre_hooks for module in model.modules())


class Setting(torch.nn.Module):
    def forward(self, batch: Any) -> Any:
        torch.set_num_threads(1)
        return batch


def test_a_child_thread_that_ignores_the_setting_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_activity, "SETTLE_S", 0.01)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), Threaded())
    sections = Sections(model, step_of(model))
    disobeying = thread_activity.disobeying(thread_activity.busy_threads(sections, 1))
    assert [(each.section, each.threads) for each in disobeying] == [(1, 1)]
    assert disobeying[0].seen >= 2


def test_a_model_that_obeys_is_not_suspected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_activity, "SETTLE_S", 0.3)  # until threads of other tests have gone to sleep
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.Linear(256, 256))
    sections = Sections(model, step_of(model, (512, 256)))
    busy = thread_activity.busy_threads(sections, 1)
    assert [each.seen for each in busy] == [1, 1]


@pytest.mark.parametrize(("policy", "spin"), [("ACTIVE", True), ("PASSIVE", False)])
def test_threads_that_spin_for_ever_are_seen(policy: str, spin: bool) -> None:
    lines = [
        "import sys, torch",
        "from hpcbench.node.thread_schedule.search import thread_activity as verification",
        "torch.set_num_threads(2)",
        "torch.ones(1000, 1000).exp().sum()",
        "sys.exit(int(verification.threads_spin_for_ever()))",
    ]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], env={**os.environ, "OMP_WAIT_POLICY": policy})
    assert done.returncode == int(spin)


@pytest.mark.parametrize(("limit", "seen"), [("100", "4"), ("3", "3"), ("1", "1")])
def test_fewer_threads_than_were_set_are_seen_where_the_count_does_not_tell(limit: str, seen: str) -> None:
    lines = [
        "import torch",
        "from hpcbench.node.thread_schedule.search import thread_activity as verification",
        "print(verification.computing(4), torch.get_num_threads())",
    ]
    words, variables = [sys.executable, "-c", "\n".join(lines)], {**os.environ, "OMP_THREAD_LIMIT": limit}
    done = subprocess.run(words, env=variables, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [seen, "4"]


def test_short_sections_join_the_one_before_them() -> None:
    assert found.long_enough([5.0, 0.1, 3.0, 4.0], 1.0) == [0, 2, 3]
    assert found.long_enough([0.1, 0.2, 3.0], 1.0) == [0]  # the first ones are too short by themselves
    assert found.long_enough([0.6, 0.6, 3.0], 1.0) == [0, 2]
