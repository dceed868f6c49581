"""Schedules with branches: in force until they are removed, and refused where they cannot be followed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: schedules with branches")
from torch import nn  # noqa: E402

from hpcbench.node.thread_schedule import FORWARD, Schedule, Section, apply_schedule, fingerprint, write  # noqa: E402
from hpcbench.node.thread_schedule.recurrent import DIRECTIONS  # noqa: E402
from hpcbench.node.thread_schedule.thread_pools import ThreadPools  # noqa: E402
from tests.node.thread_schedule.branched import Inception, Noting, four_threads  # noqa: E402


@pytest.fixture(autouse=True)
def _four_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from four_threads(monkeypatch)


@pytest.fixture
def module() -> Any:
    return Inception([Noting(), Noting()])


def schedule_of(model: Any, section: Section) -> Schedule:
    return Schedule(fingerprint(model), (section,), {})


def test_a_schedule_puts_branches_side_by_side_until_it_is_removed(module: Any) -> None:
    threads = threading.active_count()
    schedule = schedule_of(module, Section("", FORWARD, 4, ("0", "1")))
    with torch.no_grad(), apply_schedule(module, schedule):
        module(torch.randn(2, 4))
    assert {count for branch in module for _, count in branch.called} == {2}
    assert not any("forward" in each.__dict__ for each in module.modules())
    assert threading.active_count() == threads
    assert torch.get_num_threads() == 4


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        (Section("", FORWARD, 4, ("0", "7")), "the module  has no branch 7"),
        (Section("0.linear", FORWARD, 4, DIRECTIONS), r"the module 0\.linear has no branch forward"),
    ],
)
def test_branches_that_the_model_does_not_have_are_refused(module: Any, section: Section, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        apply_schedule(module, schedule_of(module, section))


@pytest.mark.parametrize("changes", [{"branches": ["0"]}, {"branches": [0, 1]}, {"threads": 1}, {"phase": "backward"}])
def test_a_file_with_impossible_branches_is_refused(module: Any, tmp_path: Path, changes: dict[str, Any]) -> None:
    written = schedule_of(module, Section("", FORWARD, 4, ("0", "1"))).as_json()
    written["sections"][0].update(changes)
    (tmp_path / "schedule.json").write_text(json.dumps(written))
    with pytest.raises(ValueError, match="has the branches"):
        apply_schedule(module, tmp_path / "schedule.json")


def test_a_thread_that_computes_while_another_removes_the_schedule_computes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    module = nn.LSTM(3, 5, 4, bidirectional=True)
    schedule = schedule_of(module, Section("", FORWARD, 4, DIRECTIONS))
    done, with_branches, failed = threading.Event(), threading.Event(), []
    run = ThreadPools.run

    def noted(lanes: ThreadPools, tasks: Any) -> Any:
        with_branches.set()
        return run(lanes, tasks)

    monkeypatch.setattr(ThreadPools, "run", noted)

    def compute() -> None:
        batch = torch.randn(2, 2, 3)
        while not done.is_set():
            try:
                with torch.no_grad():
                    module(batch)
            except RuntimeError as error:
                failed.append(error)

    computing = threading.Thread(target=compute)
    computing.start()
    for _ in range(20):
        applied = apply_schedule(module, schedule)
        with_branches.clear()
        assert with_branches.wait(10)
        applied.remove()
    done.set()
    computing.join()
    assert not failed


def test_branches_in_branches_would_wait_for_each_other_and_are_refused(tmp_path: Path) -> None:
    module = nn.Sequential(Inception([Inception([Noting(), Noting()]), Noting()]))
    inner = Section("0.0", FORWARD, 2, ("0", "1"))
    outer = Section("0", FORWARD, 2, ("0", "1"))
    write(Schedule(fingerprint(module), (inner, outer), {}), str(tmp_path / "schedule.json"))
    with pytest.raises(ValueError, match=r"the layer group 0\.0 lies in '0', which has branches"):
        apply_schedule(module, tmp_path / "schedule.json")
