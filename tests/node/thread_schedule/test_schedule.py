"""A schedule on real models, and what is refused. Counts are set for real; this machine's CPUs are counted as eight."""

from __future__ import annotations

import copy
import gc
import json
import os
import pickle
import shutil
import subprocess
import sys
import warnings
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: schedules on models")

import hpcbench.node  # noqa: E402
from hpcbench.node import thread_schedule as schedules  # noqa: E402 - it needs torch
from hpcbench.node.thread_schedule import (  # noqa: E402
    BACKWARD,
    FORWARD,
    Schedule,
    Section,
    apply_schedule,
    cpu_quota,
    cpus,
)


class Watching(torch.nn.Module):
    """Remembers how many threads there were in its forward and in its backward."""

    def __init__(self, seen: list[int]) -> None:
        super().__init__()
        self.linear, self.seen = torch.nn.Linear(4, 4), seen

    def forward(self, batch: Any) -> Any:
        self.seen.append(torch.get_num_threads())
        result = self.linear(batch)
        if result.requires_grad:
            result.grad_fn.register_hook(lambda *gradients: self.seen.append(torch.get_num_threads()))
        return result


@pytest.fixture
def before(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(cpus, "usable", lambda: list(range(8)))
    monkeypatch.setattr(cpus, "tightest", lambda: None)
    count = torch.get_num_threads()
    torch.set_num_threads(7)
    yield 7
    torch.set_num_threads(count)


@pytest.fixture
def seen() -> list[int]:
    return []


@pytest.fixture
def model(seen: list[int]) -> Any:
    return torch.nn.Sequential(Watching(seen), Watching(seen), Watching(seen))


def made_for(model: Any, *sections: tuple[str, str, int]) -> Schedule:
    return Schedule(schedules.fingerprint(model), tuple(Section(*each) for each in sections), {"batch_shape": [1, 4]})


def forward_of(model: Any, *counts: int) -> Schedule:
    return made_for(model, *((str(place), FORWARD, count) for place, count in enumerate(counts)))


def test_each_section_has_its_count_and_all_is_as_before_afterwards(model: Any, seen: list[int], before: int) -> None:
    plain = model(torch.ones(1, 4))
    with apply_schedule(model, forward_of(model, 2, 1, 3)):
        scheduled = model(torch.ones(1, 4))
    assert torch.get_num_threads() == before
    model(torch.ones(1, 4))
    assert seen == [7, 7, 7, 2, 1, 3, 7, 7, 7]
    assert torch.equal(plain, scheduled)


def test_the_backward_of_a_section_has_a_count_of_its_own(model: Any, seen: list[int], before: int) -> None:
    sections = [("0", FORWARD, 2), ("1", FORWARD, 1), ("2", FORWARD, 1), ("2", BACKWARD, 3), ("1", BACKWARD, 4)]
    applied = apply_schedule(model, made_for(model, *sections, ("0", BACKWARD, 5)))
    model(torch.ones(1, 4)).sum().backward()
    assert seen == [2, 1, 1, 3, 4, 5]
    with torch.inference_mode():
        model.eval()(torch.ones(1, 4))
    assert seen[6:] == [2, 1, 1]
    applied.remove()


def test_a_graph_that_outlives_the_schedule_does_not_follow_it(model: Any, seen: list[int], before: int) -> None:
    applied = apply_schedule(model, made_for(model, ("0", FORWARD, 2), ("2", BACKWARD, 3)))
    loss = model(torch.ones(1, 4)).sum()
    applied.remove()
    loss.backward()
    assert seen[3:] == [7, 7, 7]


def test_an_exception_inside_does_not_harm_the_next_step(model: Any, seen: list[int], before: int) -> None:
    with apply_schedule(model, forward_of(model, 2, 1, 1)):
        with pytest.raises(RuntimeError):
            model(torch.ones(1, 5))
        model(torch.ones(1, 4))
    assert seen == [2, 2, 1, 1]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_schedules_are_removed_in_any_order(model: Any, before: int, order: tuple[int, int]) -> None:
    both = [apply_schedule(model, forward_of(model, 2, 1, 3)), apply_schedule(model, forward_of(model, 4, 5, 6))]
    model(torch.ones(1, 4))
    for place in order:
        both[place].remove()
        both[place].remove()  # once more is no more
    assert torch.get_num_threads() == before
    assert not any(module._forward_pre_hooks for module in model.modules())


class Setting(torch.nn.Module):
    def forward(self, batch: Any) -> Any:
        torch.set_num_threads(1)
        return batch


def test_a_model_that_sets_threads_itself_is_warned_of_once(before: int) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), Setting(), torch.nn.Linear(4, 4))
    with apply_schedule(model, forward_of(model, 2, 2, 2)), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(3):
            model(torch.ones(1, 4))
    what = "the schedule set 2 threads for '0' (forward), and there are 1 when '0' (forward) begins"
    advice = "other code sets threads: remove its torch.set_num_threads, or do not apply the schedule"
    assert [str(each.message) for each in told] == [f"{what}: {advice}"]


def test_what_obeys_is_not_warned_of_in_any_thread_and_beside_any_schedule(model: Any, before: int) -> None:
    def steps() -> None:
        for _ in range(2):
            model(torch.ones(1, 4)).sum().backward()

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        outer = apply_schedule(model, made_for(model, ("0", FORWARD, 2), ("2", BACKWARD, 3)))
        inner = apply_schedule(model, forward_of(model, 4, 5, 6))
        steps()
        other = ThreadPoolExecutor(1)  # a thread has a count of its own
        other.submit(steps).result()
        outer.remove()
        steps()
        inner.remove()
        torch.set_num_threads(4)
        with apply_schedule(model, forward_of(model, 2, 1, 4)):
            steps()
            with apply_schedule(model, forward_of(model, 5, 6, 7)):
                steps()
            steps()
            other.submit(steps).result()
        other.shutdown()
    assert [str(each.message) for each in told] == []


def test_only_changes_have_hooks(model: Any, before: int) -> None:
    with apply_schedule(model, forward_of(model, 2, 2, 1)):
        assert [len(module._forward_pre_hooks) for module in model] == [1, 0, 1]


def test_a_file_holds_what_was_written(model: Any, before: int, tmp_path: Path) -> None:
    written = forward_of(model, 2, 1, 3)
    schedules.write(written, str(tmp_path / "schedule.json"))
    assert schedules.read(str(tmp_path / "schedule.json")) == written
    assert json.loads((tmp_path / "schedule.json").read_text())["setter"] == "torch.set_num_threads"
    assert "setter" not in Schedule._fields, "it has one value"
    hpcbench.node.apply_schedule(model, tmp_path / "schedule.json").remove()
    with pytest.raises(TypeError):
        schedules.write(written._replace(made_for={"dtype": torch.float32}), str(tmp_path / "schedule.json"))
    assert schedules.read(str(tmp_path / "schedule.json")) == written
    assert [file.name for file in tmp_path.iterdir()] == ["schedule.json"]
    (tmp_path / "link.json").symlink_to("schedule.json")
    schedules.write(written._replace(made_for={}), str(tmp_path / "link.json"))
    assert schedules.read(str(tmp_path / "schedule.json")).made_for == {}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"schema": 2}, r"schema 2 is not supported \(supported: 1"),
        ({"schema": True}, r"schema True is not supported \(supported: 1"),
        ({"setter": "omp_set_num_threads"}, "setter 'omp_set_num_threads' is not supported"),
        ({"sections": []}, "it has no layer groups"),
        ({"sections": [{"module": "0", "phase": FORWARD, "threads": 0}]}, "the layer group 0 has 0 threads"),
        ({"sections": [{"module": "0", "phase": FORWARD, "threads": True}]}, "the layer group 0 has True threads"),
        ({"sections": [{"module": "0", "phase": "sideways", "threads": 1}]}, "lacks `module` or `phase`"),
        (
            {"sections": [{"module": "0", "phase": FORWARD, "threads": 1}] * 2},
            r"has the layer group 0 \(forward\) twice",
        ),
        ({"sections": [7]}, "lacks `module` or `phase`"),
        ({"sections": [{"module": "9", "phase": FORWARD, "threads": 1}]}, "the model has no module 9"),
        ({"fingerprint": None}, "fingerprint or made_for is missing"),
        ({"fingerprint": "0"}, "it belongs to another model"),
        ({"sections": [{"module": "0", "phase": FORWARD, "threads": 9}]}, "requires 9 threads, and .* may use 8 CPUs"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(
    model: Any, before: int, tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    file = tmp_path / "schedule.json"
    file.write_text(json.dumps({**forward_of(model, 1, 2, 1).as_json(), **change}))
    with pytest.raises(ValueError, match=rf"schedule\.json cannot be applied: .*{reason}"):
        apply_schedule(model, file)
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_more_threads_than_the_quota_has_are_refused_unless_the_caller_wants_them(
    model: Any, seen: list[int], before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpus, "tightest", lambda: cpu_quota.Quota(1.5, "/job"))
    apply_schedule(model, forward_of(model, 2, 1, 2)).remove()
    refusal = "the schedule cannot be applied: it requires 3 threads, and this process has a quota of 1.5 CPUs"
    with pytest.raises(ValueError, match=rf"{refusal} \(cgroup /job\); `oversubscribe` allows it"):
        apply_schedule(model, forward_of(model, 2, 1, 3))
    with apply_schedule(model, forward_of(model, 9, 1, 3), oversubscribe=True):
        model(torch.ones(1, 4))
    assert seen == [9, 1, 3]


@pytest.mark.parametrize("content", ["", "{", "[1]", "[" * 100_000, "\xff"])
def test_a_damaged_file_is_refused(model: Any, tmp_path: Path, content: str) -> None:
    (tmp_path / "broken.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(ValueError, match=r"broken\.json cannot be applied"):
        apply_schedule(model, tmp_path / "broken.json")


def test_a_compiled_model_is_refused(model: Any, before: int) -> None:
    with pytest.raises(ValueError, match="the model is compiled"):
        apply_schedule(torch.compile(model), forward_of(model, 1, 2, 1))
    model._c = None  # a name that anybody may give
    apply_schedule(model, forward_of(model, 1, 2, 1)).remove()
    own = model.forward
    model.forward = torch.compile(own)
    with pytest.raises(ValueError, match="the model is compiled"):
        apply_schedule(model, forward_of(model, 1, 2, 1))
    model.forward = own
    model.compile()
    with pytest.raises(ValueError, match="the model is compiled"):
        apply_schedule(model, forward_of(model, 1, 2, 1))


def test_sections_in_a_compiled_module_are_refused(before: int) -> None:
    scripted = torch.jit.script(torch.nn.Linear(4, 4))
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), scripted, torch.nn.Sequential(torch.nn.Linear(4, 4)))
    model[2].compile()
    apply_schedule(model, made_for(model, ("0", FORWARD, 1))).remove()
    for section, compiled in (("1", "1"), ("2", "2"), ("2.0", "2")):
        with pytest.raises(ValueError, match=f"the module {compiled} is compiled"):
            apply_schedule(model, made_for(model, ("0", FORWARD, 1), (section, FORWARD, 2)))


def test_compiled_modules_without_sections_and_what_is_kept_from_the_compiler_do_no_harm(before: int) -> None:
    class Layers(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4)])

        def forward(self, batch: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                batch = layer(batch)
            return batch

    class Eager(torch.nn.Linear):
        @torch.compiler.disable
        def forward(self, batch: Any) -> Any:
            return super().forward(batch)

    model = torch.nn.Sequential(Eager(4, 4), torch.jit.script(Layers()))
    with apply_schedule(model, made_for(model, ("0", FORWARD, 3))):
        model(torch.ones(1, 4))
        assert torch.get_num_threads() == 3


def test_a_process_that_was_bound_after_its_threads_began_has_its_own_cpus_alone() -> None:
    program = "import os, torch; torch.ones(10**6).sin_(); os.sched_setaffinity(0, {0})\n"
    program += "from hpcbench.node.thread_schedule import cpus; print(cpus.usable())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[0]\n"


def test_a_module_without_shapes_is_told(before: int) -> None:
    lazy = torch.nn.Sequential(torch.nn.LazyLinear(4))
    with pytest.raises(ValueError, match="the shapes of module 0 are unknown: run the model once before"):
        apply_schedule(lazy, Schedule("", (Section("0", FORWARD, 1),), {}))


def test_threads_that_apply_schedules_get_their_own_counts_back(model: Any, before: int) -> None:
    other_model = torch.nn.Sequential(torch.nn.Linear(4, 4))
    other = ThreadPoolExecutor(1)
    applied = apply_schedule(model, forward_of(model, 2, 1, 3))
    others = other.submit(apply_schedule, other_model, made_for(other_model, ("0", FORWARD, 5))).result()
    model(torch.ones(1, 4))
    other.submit(other_model, torch.ones(1, 4)).result()
    applied.remove()
    assert torch.get_num_threads() == before
    other.submit(others.remove).result()
    assert other.submit(torch.get_num_threads).result() == before
    other.shutdown()


def test_a_thread_that_removes_what_another_has_applied_keeps_its_count(model: Any, before: int) -> None:
    applied = apply_schedule(model, forward_of(model, 2, 1, 3))
    with ThreadPoolExecutor(1) as other:
        other.submit(torch.set_num_threads, 4).result()
        other.submit(applied.remove).result()
        assert other.submit(torch.get_num_threads).result() == 4
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_a_copy_no_longer_follows_what_was_removed(model: Any, before: int) -> None:
    with apply_schedule(model, forward_of(model, 2, 1, 3)):
        copied = copy.deepcopy(model)
        with pytest.raises(TypeError, match="a schedule is applied to this model: copy or save"):
            pickle.dumps(model)
    copied(torch.ones(1, 4))
    assert torch.get_num_threads() == before


def test_a_model_that_nobody_needs_is_freed_though_its_schedule_was_never_removed(before: int) -> None:
    def applied() -> Any:
        model = torch.nn.Sequential(torch.nn.Linear(4, 4))
        apply_schedule(model, made_for(model, ("0", FORWARD, 1)))
        return weakref.ref(model)

    freed = applied()
    gc.collect()
    assert freed() is None


BOUND = """
import torch
from hpcbench.node.thread_schedule import FORWARD, Schedule, Section, apply_schedule, fingerprint
model = torch.nn.Linear(4, 4)
def schedule(threads):
    return Schedule(fingerprint(model), (Section("", FORWARD, threads),), {})
apply_schedule(model, schedule(2)).remove()
apply_schedule(model, schedule(3))
"""


@pytest.mark.parametrize(("variable", "value"), [("OMP_PROC_BIND", "true"), ("OMP_PLACES", "cores")])
def test_a_process_whose_threads_openmp_binds_has_the_cpus_of_all_of_them(variable: str, value: str) -> None:
    command = ["taskset", "--cpu-list", "0,1", sys.executable, "-c", BOUND]
    done = subprocess.run(command, env={**os.environ, variable: value}, capture_output=True, text=True, check=False)
    told = f"it requires 3 threads, and this process may use 2 CPUs ({variable} binds its threads); `oversubscribe`"
    assert told in done.stderr


def test_the_fingerprint_is_of_shapes_and_not_of_values() -> None:
    first, second = torch.nn.Linear(3, 4), torch.nn.Linear(3, 4)
    assert schedules.fingerprint(first) == schedules.fingerprint(second)
    assert schedules.fingerprint(first) != schedules.fingerprint(torch.nn.Linear(4, 3))
    assert schedules.fingerprint(first) != schedules.fingerprint(first.double())
    assert schedules.fingerprint(first.half()) != schedules.fingerprint(torch.nn.Linear(3, 4, bias=False).half())


def test_the_folder_stands_alone(tmp_path: Path) -> None:
    shutil.copytree(Path(schedules.__file__).parent, tmp_path / "copied")
    program = "from copied import apply_schedule; assert 'hpcbench' not in sys.modules; print(apply_schedule.__doc__)"
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {program}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Follow a schedule" in done.stdout
