"""Whose a process is: by the mark in its environment, or by its parent. On a made-up /proc, then on the real one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.node.monitor import processes
from hpcbench.node.monitor.processes import MARK, YOUNG_S, OwnProcesses, parent

FIRST = 5_000_000  # Linux has no process of this number


@pytest.fixture
def node(machine: Any) -> Any:
    """A made-up /proc with two processes of the system. `start` adds one, with what its environment says."""

    def start(pid: int, parent: int = 1, *variables: str, name: str = "python") -> None:
        machine.write(f"proc/{FIRST + pid}/stat", f"{FIRST + pid} ({name}) S {FIRST + parent} 1 1 0 -1")
        machine.write(f"proc/{FIRST + pid}/environ", "".join(f"{variable}\0" for variable in variables))

    def own() -> list[int]:
        machine.own.refresh()
        return [pid - FIRST for pid in machine.own.pids]

    machine.start, machine.pids = start, own
    machine.write("proc/stat", "cpu 1")
    machine.write("proc/self/stat", "no number")
    start(1, 0)
    start(2, 0)
    return machine


MARKED = f"{MARK}=mark"


def test_what_is_marked_is_own_and_what_descends_from_it(node: Any) -> None:
    node.start(10, 1, "HOME=/", MARKED, "A=b")
    node.start(11, 10)
    node.start(12, 11)
    node.start(20, 1, "HOME=/")
    node.start(21, 20)
    assert node.pids() == [10, 11, 12]


def test_what_is_there_when_a_run_begins_is_not_looked_at(node: Any) -> None:
    node.start(10, 1, MARKED)
    node.own.begin()
    node.start(11, 10)
    node.start(12, 1, MARKED)
    assert node.pids() == [12]


@pytest.mark.parametrize(
    "variable", ["", MARK, f"{MARK}=", f"{MARK}=other", f"{MARK}=mark2", f"MY_{MARK}=mark", f"A={MARK}=mark"]
)
def test_another_mark_is_not_ours(node: Any, variable: str) -> None:
    node.start(10, 1, variable)
    assert node.pids() == []


def test_a_name_with_blanks_and_brackets_hides_no_parent(node: Any) -> None:
    node.start(10, 1, MARKED, name="a) S 2 (b c")
    node.start(11, 10, name=f") R {FIRST + 2} 1 (")
    assert node.pids() == [10, 11]


def test_processes_that_come_and_go_are_noticed(node: Any) -> None:
    node.start(10, 1, MARKED)
    assert node.pids() == [10]
    node.start(11, 10)
    assert node.pids() == [10, 11]
    node.remove(f"proc/{FIRST + 10}/stat")
    node.remove(f"proc/{FIRST + 10}/environ")
    (node.root / f"proc/{FIRST + 10}").rmdir()
    assert node.pids() == [11], "its parent has gone, and it is still own"


def test_a_child_whose_number_is_lower_than_its_parents_is_found_too(node: Any) -> None:
    """Process numbers begin anew when they have reached the largest."""
    assert node.pids() == []
    node.start(5, 4000)
    node.start(4000, 1, MARKED)
    assert node.pids() == [4000]
    assert node.pids() == [4000, 5]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(processes.time, "monotonic", lambda: now[0])
    return now


def test_one_that_is_marked_between_its_fork_and_its_exec_is_found_later(node: Any, clock: list[float]) -> None:
    assert node.pids() == []
    node.start(10, 1)
    for _ in range(10):
        assert node.pids() == []
        clock[0] += 0.1
    node.start(10, 1, MARKED)
    clock[0] += 1.0
    assert node.pids() == [10], "when it is twice as old at the latest"


@pytest.mark.parametrize("there_before", [True, False])
def test_a_stranger_that_is_not_young_is_looked_at_no_more(
    node: Any, clock: list[float], monkeypatch: pytest.MonkeyPatch, there_before: bool
) -> None:
    if not there_before:
        node.pids()
    node.start(10, 1)
    node.pids()
    if not there_before:
        clock[0] += YOUNG_S
        node.pids()

    monkeypatch.setattr(node.own._files, "read", lambda path: pytest.fail(f"it read {path}"))
    assert node.pids() == []


def test_only_where_a_process_has_begun_is_there_a_reason_to_look(node: Any, clock: list[float]) -> None:
    node.own.forks = b"processes 1"
    node.pids()
    assert not node.own.may_have_changed(), "those that were there before do not change"
    node.own.forks = b"processes 2"
    assert node.own.may_have_changed()
    node.start(10, 1)
    node.pids()
    assert node.own.may_have_changed(), "it may be between its fork and its exec"
    clock[0] += YOUNG_S
    assert not node.own.may_have_changed()


def test_a_process_that_vanishes_while_it_is_read_is_passed_over(node: Any) -> None:
    (node.root / f"proc/{FIRST + 10}").mkdir()
    node.start(11, 10, MARKED)
    assert node.pids() == [11]


@pytest.mark.parametrize("content", ["", "garbage", "1 (a) S", "1 (a) S x 1", "1 (a)", ")))"])
def test_a_line_that_is_none_of_the_kernels_names_no_parent(node: Any, content: str) -> None:
    node.start(10, 1, MARKED)
    node.start(11, 10)
    node.write(f"proc/{FIRST + 11}/stat", content)
    assert node.pids() == [10]


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=15), st.integers(0, 2**22))
def test_the_parent_is_found_behind_any_name(name: str, number: int) -> None:
    assert parent(f"17 ({name}) S {number} 17 1 0 -1 4194304".encode()) == number


def test_the_control_groups_are_those_of_the_first_that_still_has_any(node: Any) -> None:
    node.pids()
    assert node.own.cgroups() == b""
    node.start(10, 1, MARKED)
    node.start(11, 10)
    node.write(f"proc/{FIRST + 11}/cgroup", "1:cpu:/a\n0::/b")
    node.pids()
    assert node.own.cgroups() == b"1:cpu:/a\n0::/b\n"
    node.write(f"proc/{FIRST + 10}/cgroup", "0::/first")
    assert node.own.cgroups() == b"0::/first\n", "it has been moved since the last look"


def test_where_there_is_nothing_of_ours_there_are_no_cpus_either(node: Any) -> None:
    assert node.pids() == []
    assert node.own.cpus == frozenset()


# From here on, the real /proc.

Start = Callable[..., "subprocess.Popen[str]"]


def unique(mark: str) -> str:
    """Tests of other workers have processes, too."""
    return f"{mark}-of-{os.getpid()}"


@pytest.fixture
def start() -> Iterator[Start]:
    """A real Python with a mark, that says a line when it is ready and then waits until its standard input ends."""
    with ExitStack() as stack:

        def run(code: str, mark: str | None = "m1") -> subprocess.Popen[str]:
            environment = {name: value for name, value in os.environ.items() if name != MARK}
            process = subprocess.Popen(
                [sys.executable, "-c", f"import os, sys\n{code}\nprint(flush=True)\nsys.stdin.read()"],
                env=environment if mark is None else {**environment, MARK: unique(mark)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.callback(process.communicate)  # closes its standard input, and waits
            assert process.stdout is not None
            process.stdout.readline()
            return process

        yield run


def own(mark: str) -> OwnProcesses:
    found = OwnProcesses(unique(mark))
    found.refresh()
    return found


def test_real_processes_are_told_apart_by_their_marks(start: Start) -> None:
    marked, other, plain = start(""), start("", mark="m2"), start("", mark=None)
    assert own("m1").pids == [marked.pid]
    assert own("m2").pids == [other.pid]
    assert plain.pid not in {*own("m1").pids, *own("m2").pids}


def test_real_children_are_own_whatever_environment_they_were_given(start: Start) -> None:
    fork = "if not os.fork(): os.read(0, 1), os._exit(0)"
    spawn = "import subprocess as s; child = s.Popen(['/bin/cat'], stdin=s.PIPE, stdout=s.DEVNULL, env={})"
    forked, spawned = start(fork), start(spawn)
    pids = own("m1").pids
    assert len(pids) == 4
    assert {forked.pid, spawned.pid} < set(pids)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is only one CPU")
def test_the_cpus_are_those_of_all_real_threads_also_of_one_that_is_bound_elsewhere(start: Start) -> None:
    one, other = sorted(os.sched_getaffinity(0))[:2]
    bind = "import threading; bound = threading.Event()\ndef work(): os.sched_setaffinity(0, [{}]); bound.set(); {}"
    stay = "threading.Event().wait()"
    code = f"{bind.format(other, stay)}\nthreading.Thread(target=work, daemon=True).start(); bound.wait()"
    start(f"os.sched_setaffinity(0, [{one}])", mark="m2")
    start(f"{code}\nos.sched_setaffinity(0, [{one}])")
    assert own("m2").cpus == {one}
    assert own("m1").cpus == {one, other}


def test_a_real_process_that_has_ended_is_no_longer_own(start: Start) -> None:
    process = start("")
    seen = own("m1")
    assert seen.pids == [process.pid]
    process.communicate()
    seen.refresh()
    assert (seen.pids, seen.cpus, seen.cgroups()) == ([], frozenset(), b"")
