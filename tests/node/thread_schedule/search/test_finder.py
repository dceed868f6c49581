"""Finding a schedule for a model of one's own. Modules that sleep stand for wide and narrow ones, on any machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: finding a schedule")

from hpcbench.node import apply_schedule, find_schedule  # noqa: E402 - they need torch
from hpcbench.node.thread_schedule import (  # noqa: E402
    cpu_quota,
    cpus,
    read,
    write,
)
from hpcbench.node.thread_schedule.search import finder, thread_activity  # noqa: E402
from hpcbench.node.thread_schedule.search.finder import thread_limit  # noqa: E402
from tests.node.thread_schedule.search import sleeping  # noqa: E402
from tests.node.thread_schedule.search.sleeping import Sleeping  # noqa: E402
from tests.node.thread_schedule.search.threaded import Threaded  # noqa: E402

BY = "OMP_WAIT_POLICY, KMP_BLOCKTIME, or a thread of the program's own"
SPINNING = f"threads compute outside the measured code ({BY}), which would distort the timing"


@pytest.fixture(autouse=True)
def _two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(thread_activity, "SETTLE_S", 0.01)
    monkeypatch.setattr(cpus, "usable", lambda: [0, 1])
    monkeypatch.setattr(cpus, "tightest", lambda: None)
    count = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(count)


@pytest.mark.usefixtures("slept_time")
def test_what_gains_is_a_schedule_to_write_and_to_follow(tmp_path: Any) -> None:
    model = torch.nn.Sequential(Sleeping(0.004, 0.001), Sleeping(0.001, 0.004))
    batch = torch.ones(2)
    with torch.inference_mode():
        answer = find_schedule(model, lambda: model(batch), lambda: model(-batch), budget_s=1.0)
    assert answer.schedule is not None
    assert [(each.module, each.threads) for each in answer.schedule.sections] == [("0", 2), ("1", 1)]
    assert answer.schedule.made_for["inputs"] == [{"shape": [2], "dtype": "float32"}]
    assert answer.gain is not None
    assert answer.gain.low > 1.5
    assert torch.get_num_threads() == 1
    assert not any(module._forward_pre_hooks for module in model.modules())
    write(answer.schedule, str(tmp_path / "s.json"))
    counts: list[int] = []
    for module in model:
        module.register_forward_hook(lambda *_: counts.append(torch.get_num_threads()))
    with apply_schedule(model, tmp_path / "s.json"):
        model(batch)
    assert counts == [2, 1]
    assert read(str(tmp_path / "s.json")) == answer.schedule


@pytest.mark.usefixtures("slept_time")
def test_where_nothing_gains_the_best_count_is_told_with_the_reason() -> None:
    model = torch.nn.Sequential(Sleeping(0.004, 0.001), Sleeping(0.004, 0.001))
    answer = find_schedule(model, lambda: model(torch.ones(2)), lambda: model(-torch.ones(2)), budget_s=0.5)
    assert (answer.schedule, answer.fixed_threads) == (None, 2)
    assert answer.why == "no change of the thread count is faster"
    assert torch.get_num_threads() == 1


@pytest.mark.usefixtures("slept_time")
def test_the_best_count_is_that_of_a_model_without_hooks() -> None:
    class Shy(Sleeping):
        """Takes another way where there are hooks, as nn.TransformerEncoderLayer does."""

        def forward(self, batch: Any) -> Any:
            if self._forward_pre_hooks:
                return super().forward(batch)
            sleeping.time.sleep(0.0005 * torch.get_num_threads() ** 2)
            return batch

    model = torch.nn.Sequential(Shy(0.004, 0.001), Shy(0.004, 0.001))
    answer = find_schedule(model, lambda: model(torch.ones(2)), lambda: model(-torch.ones(2)), budget_s=0.5)
    assert (answer.schedule, answer.fixed_threads) == (None, 1)


def test_a_model_of_one_section_is_told_to_be_one() -> None:
    shared = Sleeping(0.001, 0.004)
    model = torch.nn.Sequential(shared, shared)
    answer = find_schedule(model, lambda: model(torch.ones(2)), lambda: model(-torch.ones(2)), budget_s=0.1)
    assert (answer.schedule, answer.fixed_threads) == (None, 1)
    assert answer.why == "its blocks form one layer group: `0` runs more than once"


@pytest.mark.usefixtures("slept_time")
def test_a_block_under_two_parents_gets_a_schedule_that_can_be_followed() -> None:
    shared = torch.nn.Sequential(Sleeping(0.006, 0.001), torch.nn.Linear(2, 2))
    model = torch.nn.Sequential(torch.nn.Sequential(shared), Sleeping(0.001, 0.008), torch.nn.Sequential(shared))
    batch = torch.ones(2)
    with torch.inference_mode():
        answer = find_schedule(model, lambda: model(batch), lambda: model(-batch), budget_s=1.0)
    assert answer.schedule is not None, answer.why
    assert [(each.module, each.threads) for each in answer.schedule.sections] == [("0", 2), ("1", 1), ("2", 2)]
    with apply_schedule(model, answer.schedule):
        model(batch)


class Choosing(torch.nn.Module):
    """Runs one of its blocks for positive inputs, the other for negative ones."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = Sleeping(0.001, 0.001), Sleeping(0.001, 0.001)

    def forward(self, batch: Any) -> Any:
        return self.one(batch) if batch.sum() > 0 else self.other(batch)


def test_an_order_that_depends_on_inputs_is_seen_with_other_ones() -> None:
    model = Choosing()
    answer = find_schedule(model, lambda: model(torch.ones(2)), lambda: model(-torch.ones(2)), budget_s=0.1)
    assert answer.schedule is None
    assert str(answer.why).startswith("the order of its blocks depends on the data")


def test_other_inputs_are_not_optional() -> None:
    model = Choosing()
    with pytest.raises(TypeError, match="other"):
        find_schedule(model, lambda: model(torch.ones(2)))


@pytest.mark.usefixtures("slept_time")
def test_a_model_that_sets_threads_after_the_search_gets_no_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    class Later(Sleeping):
        searched = False

        def forward(self, batch: Any) -> Any:
            super().forward(batch)
            if self.searched:
                torch.set_num_threads(1)
            return batch

    later = Later(0.004, 0.001)
    model = torch.nn.Sequential(Sleeping(0.001, 0.004), later)
    search = finder.Finder._search

    def searching(self: Any, sections: Any) -> Any:
        found = search(self, sections)
        later.searched = True
        return found

    monkeypatch.setattr(finder.Finder, "_search", searching)
    answer = find_schedule(model, lambda: model(torch.ones(2)), lambda: model(-torch.ones(2)), budget_s=0.5)
    assert (answer.schedule, answer.gain) == (None, None)
    assert answer.why == "the model sets threads itself: in 1 there are 1, and 2 were requested"


def test_a_model_with_threads_that_disobey_gets_no_schedule() -> None:
    model = torch.nn.Sequential(Sleeping(0.001, 0.001), Threaded())
    answer = find_schedule(model, lambda: model(torch.ones(2)), lambda: model(-torch.ones(2)), budget_s=0.1)
    assert answer.schedule is None
    told = re.fullmatch(r"threads of the model ignore the setting: in 1, (\d) compute, but 1 are set", str(answer.why))
    assert told, answer.why
    assert int(told[1]) >= 2


@pytest.mark.parametrize(
    ("variable", "why"),
    [
        (
            "OMP_WAIT_POLICY=ACTIVE",
            SPINNING,
        ),
        ("OMP_THREAD_LIMIT=1", "of 2 threads that were set, 1 compute (see OMP_THREAD_LIMIT and OMP_DYNAMIC)"),
    ],
)
def test_a_runtime_that_makes_counts_mean_nothing_is_the_reason_for_a_fixed_one(variable: str, why: str) -> None:
    lines = [
        "import torch",
        "from hpcbench.node import find_schedule",
        "model, batch = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU()), torch.ones(512, 256)",
        "step = lambda: model(batch)",
        "answer = find_schedule(model, step, step, threads=2, oversubscribe=True, budget_s=0.1)",
        "print(answer.schedule, answer.why)",
    ]
    words, variables = [sys.executable, "-c", "\n".join(lines)], {**os.environ, **dict([variable.split("=")])}
    done = subprocess.run(words, env=variables, capture_output=True, text=True, check=True)
    assert done.stdout == f"None {why}\n"


def test_a_compiled_model_is_refused() -> None:
    model = torch.nn.Linear(2, 2)
    model.compile()
    with pytest.raises(ValueError, match="no schedule can be made: the model is compiled"):
        find_schedule(model, lambda: model(torch.ones(2)), lambda: model(-torch.ones(2)))


@pytest.mark.parametrize("threads", [0, -1])
def test_no_threads_are_refused(threads: int) -> None:
    with pytest.raises(ValueError, match=f"no schedule can be made: of {threads} threads; it takes one at least"):
        find_schedule(torch.nn.Linear(2, 2), lambda: None, lambda: None, threads=threads)


@pytest.mark.parametrize("budget_s", [0, -1.0, float("nan")])
def test_no_time_for_the_search_is_refused(budget_s: float) -> None:
    with pytest.raises(ValueError, match=r"no schedule can be made: in .* s; budget_s is above 0"):
        find_schedule(torch.nn.Linear(2, 2), lambda: None, lambda: None, budget_s=budget_s)


def test_another_system_than_linux_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_activity, "TASKS", "/nowhere")
    with pytest.raises(ValueError, match="no schedule can be made: active threads can only be counted on Linux"):
        find_schedule(torch.nn.Linear(2, 2), lambda: None, lambda: None)


def test_the_count_that_torch_has_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpus, "usable", lambda: list(range(6)))
    torch.set_num_threads(3)
    model = torch.nn.Linear(2, 2)
    assert finder.Finder(finder.Subject(model, lambda: None, None), 1.0).counts == [1, 2, 3, 4, 6]


def test_counts_end_where_the_cpus_or_their_quota_do(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [thread_limit(asked, False) for asked in (None, 1, 2)] == [2, 1, 2]
    monkeypatch.setattr(cpus, "tightest", lambda: cpu_quota.Quota(0.5, "/job"))
    assert thread_limit(None, False) == 1


def test_more_threads_than_the_limit_are_refused_and_not_quietly_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    model = torch.nn.Sequential(Sleeping(0, 0, 0), Sleeping(0, 0, 0))
    refusal = "no schedule can be made: 3 threads, and this process may use 2 CPUs; `oversubscribe` allows it"
    with pytest.raises(ValueError, match=refusal):
        find_schedule(model, lambda: model(torch.ones(2)), lambda: model(-torch.ones(2)), threads=3)
    monkeypatch.setattr(cpus, "tightest", lambda: cpu_quota.Quota(1, "/job"))
    with pytest.raises(ValueError, match=r"2 threads, and this process has a quota of 1 CPUs \(cgroup /job"):
        find_schedule(model, lambda: model(torch.ones(2)), lambda: model(-torch.ones(2)), threads=2)


@pytest.mark.usefixtures("slept_time")
def test_who_wants_more_threads_than_cpus_gets_them() -> None:
    model = torch.nn.Sequential(Sleeping(0.004, 0.004, 0.001), Sleeping(0.001, 0.004, 0.004))
    batch = torch.ones(2)
    with torch.inference_mode():
        answer = find_schedule(
            model, lambda: model(batch), lambda: model(-batch), threads=3, oversubscribe=True, budget_s=0.5
        )
    assert answer.schedule is not None, answer.why
    assert [each.threads for each in answer.schedule.sections] == [3, 1]
