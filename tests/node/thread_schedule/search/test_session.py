"""What a run with per-layer threads does. Modules that sleep stand for wide and narrow ones, on any machine."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hpcbench.node.errors import Unsupported
from hpcbench.node.host.sysfs import System
from hpcbench.node.launch import feasibility
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.workload import problem

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: per-layer threads in a run")

from hpcbench.node.frameworks import load  # noqa: E402
from hpcbench.node.thread_schedule import cpu_quota, cpus  # noqa: E402
from hpcbench.node.thread_schedule.search import finder, session, thread_activity  # noqa: E402 - they need torch
from hpcbench.node.thread_schedule.search.session import apply_or_search, search_schedule  # noqa: E402
from hpcbench.node.worker.worker import needs_thread_search, run  # noqa: E402
from hpcbench.node.worker.worker import search_threads as find_in_repetition  # noqa: E402
from tests.node.thread_schedule.search import sleeping  # noqa: E402
from tests.node.thread_schedule.search.sleeping import Sleeping  # noqa: E402
from tests.node.thread_schedule.search.threaded import Threaded  # noqa: E402

TINY = {"input_size": 8, "hidden_size": 16, "layers": 2, "classes": 3}
Make = Callable[..., Any]


@pytest.fixture(autouse=True)
def _two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(cpus, "usable", lambda: [0, 1])
    monkeypatch.setattr(cpus, "tightest", lambda: None)
    monkeypatch.setattr(thread_activity, "SETTLE_S", 0.01)
    count = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(count)


@pytest.fixture
def network(make_parameters: Make) -> Make:
    def make(*modules: Any, **changes: Any) -> Any:
        parameters = make_parameters(model_options=TINY, threads="dynamic", **changes)
        made = load("pytorch").build(problem.of_case(parameters, Group(Ranks(0, 1))))
        if modules:
            made.model = torch.nn.Sequential(*modules)
        return made

    return make


def searched(network: Any, budget_s: float) -> Any:
    """What a search finds, put in force. In a run another process does this."""
    return apply_or_search(network, network.infer, search_schedule(network, network.infer, budget_s))


def both(planned: Any) -> Any:
    """What a run finds out, one process after the other."""
    assert needs_thread_search(planned)
    found = find_in_repetition(planned, Ranks(0, 1))
    return run(planned, Ranks(0, 1), found["found"]) if found["status"] == "completed" else found


@pytest.mark.usefixtures("slept_time")
def test_wide_and_narrow_sections_get_a_schedule_that_stays_in_force(network: Make) -> None:
    made = network(Sleeping(0.004, 0.001), Sleeping(0.001, 0.004), Sleeping(0.004, 0.001))
    told = searched(made, 1.0)
    assert told["answer"] == "schedule"
    assert [(each["module"], each["threads"]) for each in told["schedule"]["sections"]] == [
        ("0", 2),
        ("1", 1),
        ("2", 2),
    ]
    made_for = told["schedule"]["made_for"]
    assert (made_for["task"], made_for["dtype"]) == ("inference", "float32")
    assert made_for["inputs"] == [{"shape": list(made.work.input_shapes["input"]), "dtype": "float32"}]
    assert told["fixed_threads"] == 2
    assert told["measured"]["gain"][1] > 1
    assert told["threads"] == {"intra_op": 2, "by": "torch.set_num_threads, by layer group"}
    assert {(each["before"], each["after"]) for each in told["changes"]} == {(1, 2), (2, 1)}
    start = sleeping.time.perf_counter()
    made.infer()
    assert sleeping.time.perf_counter() - start == pytest.approx(0.003, rel=0.01), "each section as fast as it can be"
    assert any(module._forward_pre_hooks for module in made.model)


@pytest.mark.usefixtures("slept_time")
def test_where_all_sections_want_the_same_the_answer_is_that_count(network: Make) -> None:
    made = network(Sleeping(0.001, 0.004), Sleeping(0.001, 0.004))
    told = searched(made, 0.5)
    assert (told["answer"], told["fixed_threads"], told["schedule"]) == ("fixed", 1, None)
    assert told["why"] == "no change of the thread count is faster"
    assert torch.get_num_threads() == 1
    assert not any(module._forward_pre_hooks for module in made.model)


@pytest.mark.usefixtures("slept_time")
def test_sections_lie_as_deep_as_the_case_says(network: Make) -> None:
    pair = torch.nn.Sequential(Sleeping(0.004, 0.001), Sleeping(0.004, 0.001))
    made = network(pair, Sleeping(0.001, 0.004), section_depth=1)
    told = searched(made, 1.0)
    assert [(each["module"], each["chosen"]) for each in told["sections"]] == [("0", 2), ("1", 1)]


class Setting(torch.nn.Module):
    def forward(self, batch: Any) -> Any:
        torch.set_num_threads(1)
        return batch


def test_a_model_that_sets_threads_gets_a_fixed_count_and_the_reason(network: Make) -> None:
    made = network(Sleeping(0.001, 0.001), Setting())
    told = searched(made, 0.1)
    assert told["answer"] == "fixed"
    assert told["why"] == "the model sets threads itself: in 1 there are 1, and 2 were requested"
    assert told["sections"] == []


def test_a_model_that_sets_threads_only_later_gets_a_fixed_count_and_the_reason(
    network: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Later(torch.nn.Module):
        trusted = False  # while it is verified, it behaves

        def forward(self, batch: Any) -> Any:
            if self.trusted:
                torch.set_num_threads(3 - torch.get_num_threads())
            return batch

    later = Later()
    made = network(Sleeping(0.001, 0.001), later, Sleeping(0.001, 0.001))
    search = finder.Finder._search

    def trusting(self: Any, sections: Any) -> Any:
        later.trusted = True
        return search(self, sections)

    monkeypatch.setattr(finder.Finder, "_search", trusting)
    told = searched(made, 0.1)
    assert told["answer"] == "fixed"
    assert told["why"].startswith("the model sets threads itself")
    assert not any(module._forward_pre_hooks for module in made.model)


@pytest.mark.usefixtures("slept_time")
def test_a_schedule_of_a_file_is_followed(network: Make, tmp_path: Path) -> None:
    wide, narrow = Sleeping(0.004, 0.001), Sleeping(0.001, 0.004)
    told = searched(network(wide, narrow), 1.0)
    file = tmp_path / "schedule.json"
    session.thread_schedule.write(session.thread_schedule.parse(told["schedule"]), str(file))
    made = network(Sleeping(0, 0), Sleeping(0, 0), schedule=str(file))
    again = apply_or_search(made, made.infer, None)
    assert again["schedule"] == told["schedule"]
    assert again["why"] == f"the case names the file {file}"
    other = network(Sleeping(0, 0), schedule=str(file))
    with pytest.raises(
        Unsupported, match=re.escape(f"{file}: the schedule cannot be applied: it belongs to another model")
    ):
        apply_or_search(other, other.infer, None)
    missing = network(schedule="nowhere.json")
    with pytest.raises(Unsupported, match=r"nowhere\.json cannot be read: No such file"):
        apply_or_search(missing, missing.infer, None)


@pytest.mark.usefixtures("slept_time")
def test_an_error_of_the_framework_is_not_one_of_the_schedule(network: Make, tmp_path: Path) -> None:
    made = network(Sleeping(0, 0), schedule=file_of(network(Sleeping(0, 0)).model, tmp_path, 1))
    steps: list[Any] = []

    def step() -> None:
        steps.append(made.infer())
        if len(steps) > 1:
            raise ValueError("a bug of the framework")

    with pytest.raises(ValueError, match=r"^a bug of the framework$"):
        apply_or_search(made, step, None)


@pytest.mark.parametrize(
    ("spin", "why"),
    [
        (False, "threads of the model ignore the setting: in 1, "),
        (True, "threads compute outside the measured code (OMP_WAIT_POLICY, "),
    ],
)
def test_threads_that_disobey_or_spin_mean_a_fixed_count_and_the_reason(
    network: Make, monkeypatch: pytest.MonkeyPatch, spin: bool, why: str
) -> None:
    if spin:
        monkeypatch.setattr(thread_activity, "threads_spin_for_ever", lambda: True)
    made = network(Sleeping(0.001, 0.001), Threaded())
    told = searched(made, 0.1)
    assert (told["answer"], told["schedule"], told["sections"]) == ("fixed", None, [])
    assert told["why"].startswith(why)
    assert torch.get_num_threads() == told["fixed_threads"]


def file_of(model: Any, path: Path, *counts: int) -> str:
    sections = tuple(finder.Section(str(place), "forward", count) for place, count in enumerate(counts))
    fingerprint = session.thread_schedule.fingerprint(model)
    session.thread_schedule.write(finder.Schedule(fingerprint, sections, {}), str(path / "schedule.json"))
    return str(path / "schedule.json")


def test_a_schedule_of_a_file_that_the_model_does_not_obey_is_refused(network: Make, tmp_path: Path) -> None:
    modules = (Sleeping(0, 0), Setting(), Sleeping(0, 0))
    file = file_of(torch.nn.Sequential(*modules), tmp_path, 2, 2, 2)
    made = network(*modules, schedule=file)
    refusal = (
        f"the schedule {file} cannot be followed: the model sets threads itself: in 1 there are 1, and 2 were requested"
    )
    with pytest.raises(Unsupported, match=re.escape(refusal)):
        apply_or_search(made, made.infer, None)
    assert not any(module._forward_pre_hooks for module in made.model)


def test_what_was_read_is_in_force_though_the_file_becomes_another(
    network: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = (Sleeping(0, 0), Sleeping(0, 0))
    file = file_of(torch.nn.Sequential(*modules), tmp_path, 2, 1)
    read = session.thread_schedule.read

    def reading(path: str) -> Any:
        found = read(path)
        file_of(torch.nn.Sequential(*modules), tmp_path, 1, 1)
        return found

    monkeypatch.setattr(session.thread_schedule, "read", reading)
    told = apply_or_search(made := network(*modules, schedule=file), made.infer, None)
    assert [each["threads"] for each in told["schedule"]["sections"]] == [2, 1]
    assert told["threads"]["intra_op"] == 2


def test_threads_in_effect_are_those_of_sections_that_ran(network: Make, tmp_path: Path) -> None:
    modules = (Sleeping(0, 0), Sleeping(0, 0))
    file = file_of(torch.nn.Sequential(*modules), tmp_path, 1, 2)
    made = network(*modules, schedule=file)
    first = made.model[0]
    assert apply_or_search(made, made.infer, None)["threads"]["intra_op"] == 2
    assert apply_or_search(made, lambda: first(torch.ones(1)), None)["threads"]["intra_op"] == 1


@pytest.mark.usefixtures("slept_time")
def test_a_found_schedule_that_the_model_obeys_no_longer_is_dropped(
    network: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Later(Sleeping):
        trusted = False  # until the schedule is proved, it behaves

        def forward(self, batch: Any) -> Any:
            super().forward(batch)
            if self.trusted:
                torch.set_num_threads(1)
            return batch

    later = Later(0.004, 0.001)
    made = network(Sleeping(0.001, 0.004), later)
    find = finder.Finder.find

    def trusting(self: Any) -> Any:
        found = find(self)
        later.trusted = True
        return found

    monkeypatch.setattr(finder.Finder, "find", trusting)
    told = searched(made, 1.0)
    assert (told["answer"], told["schedule"], told["threads"]) == ("fixed", None, {})
    assert told["why"] == "the model sets threads itself: in 1 there are 1, and 2 were requested"
    assert torch.get_num_threads() == told["fixed_threads"]
    assert not any(module._forward_pre_hooks for module in made.model)


@pytest.mark.parametrize("task", ["inference", "training"])
def test_a_repetition_tells_what_it_found(make_planned: Make, task: str) -> None:
    facts = both(make_planned(model_options=TINY, threads="dynamic", task=task))
    assert facts["status"] == "completed", facts["error"]
    assert facts["dynamic"]["answer"] in ("fixed", "schedule")
    assert facts["dynamic"]["search_steps"] > 0
    assert facts["threads"]["intra_op"] in (1, 2)
    assert facts["measurements"]["times_s"]


@pytest.mark.usefixtures("slept_time")
def test_the_first_step_is_the_one_before_those_that_verify(
    network: Make, make_planned: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = (Sleeping(0, 0), Sleeping(0, 0))
    file = file_of(torch.nn.Sequential(*modules), tmp_path, 1, 2)
    made = network(*modules, schedule=file)
    slow = iter([0.2])

    def step() -> None:
        sleeping.time.sleep(next(slow, 0.0))
        made.infer()

    told = apply_or_search(made, step, None)
    assert told["first_step_s"] == pytest.approx(0.2, rel=0.01)
    monkeypatch.setattr(session, "apply_or_search", lambda *given: {**told, "first_step_s": 123.0})
    facts = run(make_planned(model_options=TINY, threads="dynamic", schedule=file), Ranks(0, 1))
    assert facts["measurements"]["first_step_s"] == 123.0
    assert "first_step_s" not in facts["dynamic"]


def test_other_repetitions_tell_nothing(make_planned: Make) -> None:
    assert run(make_planned(model_options=TINY), Ranks(0, 1))["dynamic"] is None


def test_inter_op_threads_that_come_too_late_are_an_outcome(
    make_planned: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_late(count: int) -> None:
        raise RuntimeError("Error: cannot set number of interop threads after parallel work has started\nException")

    monkeypatch.setattr(torch, "set_num_interop_threads", too_late)
    facts = run(make_planned(model_options=TINY, inter_op_threads=2), Ranks(0, 1))
    assert facts["status"] == "unsupported"
    assert facts["error"]["message"] == (
        "inter_op_threads can no longer be set: Error: cannot set number of interop threads after parallel work has "
        "started; remove inter_op_threads, or code that uses PyTorch earlier in this process (e.g. sitecustomize)"
    )


@pytest.mark.parametrize("oversubscribe", [False, True])
def test_more_threads_than_cpus_are_for_cases_that_say_so(
    make_planned: Make, monkeypatch: pytest.MonkeyPatch, oversubscribe: bool
) -> None:
    monkeypatch.setattr(feasibility, "this_system", lambda: System([0, 1]))
    asked = {"threads": "dynamic", "intra_op_threads": 3, "oversubscribe": oversubscribe}
    facts = both(make_planned(model_options=TINY, **asked))
    if not oversubscribe:
        assert facts["status"] == "unsupported"
        assert facts["error"]["message"].startswith("intra_op_threads: 3 threads, and this process may use 2 CPUs")
        return
    assert facts["status"] == "completed", facts["error"]
    assert "3" in facts["dynamic"]["sections"][0]["times_s"]


def test_a_schedule_over_the_quota_is_refused(network: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = file_of(torch.nn.Sequential(Sleeping(0, 0)), tmp_path, 2)
    monkeypatch.setattr(cpus, "tightest", lambda: cpu_quota.Quota(0.5, "/slice"))
    refusal = f"{file}: the schedule cannot be applied: it requires 2 threads, and this process has a quota of 0.5 CPUs"
    with pytest.raises(Unsupported, match=re.escape(refusal)):
        apply_or_search(following := network(Sleeping(0, 0), schedule=file), following.infer, None)
    allowed = network(Sleeping(0, 0), schedule=file, oversubscribe=True)
    assert apply_or_search(allowed, allowed.infer, None)["answer"] == "schedule"


class Branches(torch.nn.ModuleList):
    def forward(self, batch: Any) -> Any:
        return sum(branch(batch) for branch in self)


class SleepingLayer(torch.nn.Linear):
    """As long with any number of threads, and a layer with weights. On threads apart, no one takes two such tasks."""

    def __init__(self, seconds: float, everyone: threading.Barrier) -> None:
        super().__init__(TINY["input_size"], TINY["input_size"])
        self.seconds, self.everyone, self.maker = seconds, everyone, threading.get_ident()

    def forward(self, batch: Any) -> Any:
        if threading.get_ident() != self.maker:
            self.everyone.wait(60)
        sleeping.time.sleep(self.seconds)
        return super().forward(batch)


@pytest.mark.usefixtures("slept_time")
def test_branches_that_gain_side_by_side_get_a_schedule(network: Make, tmp_path: Path) -> None:
    both_of_them = threading.Barrier(2)
    branches = Branches(SleepingLayer(0.01, both_of_them) for _ in range(2))
    made = network(Sleeping(0.001, 0.001), branches)
    told = searched(made, 1.0)
    assert told["answer"] == "schedule", told["why"]
    assert told["schedule"]["sections"][1] == {
        "module": "1",
        "phase": "forward",
        "threads": 2,
        "branches": ("0", "1"),
    }
    assert [each["side_by_side"] for each in told["sections"]] == [False, True]
    assert told["sections"][1]["side_by_side_s"]["2"][0] < told["sections"][1]["times_s"]["2"][0]
    assert told["measured"]["gain"][1] == pytest.approx(21 / 11, rel=0.01)
    start = sleeping.time.perf_counter()
    made.infer()
    assert sleeping.time.perf_counter() - start == pytest.approx(0.011, rel=0.01)
    file = tmp_path / "schedule.json"
    session.thread_schedule.write(session.thread_schedule.parse(told["schedule"]), str(file))
    assert session.thread_schedule.read(str(file)).as_json() == told["schedule"]
