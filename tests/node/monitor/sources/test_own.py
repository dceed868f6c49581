"""What the run's processes and threads used and waited for: on a made-up /proc, and on the real one."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from hpcbench.node.monitor.sources import own
from hpcbench.node.monitor.sources.base import Absent
from hpcbench.node.monitor.sources.own import Own, Switches, Waiting

TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def stat(
    pid: int,
    *,
    user: int = 0,
    system: int = 0,
    children: tuple[int, int] = (0, 0),
    minor: int = 0,
    major: int = 0,
    of_children: tuple[int, int] = (0, 0),
    pages: int = 0,
    name: str = "python",
) -> str:
    """As in proc_pid_stat(5), from the number to the resident pages and what follows."""
    faults = f"{minor} {of_children[0]} {major} {of_children[1]}"
    times = f"{user} {system} {children[0]} {children[1]}"
    return f"{pid} ({name}) R 1 1 1 0 -1 4194304 {faults} {times} 20 0 1 0 555 1000 {pages} 1 2 3"


@pytest.fixture
def tree(machine: Any) -> Any:
    """Two processes. `show` changes what one of them has used; `end` takes it away."""

    def show(pid: int, **used: Any) -> None:
        machine.write(f"proc/{pid}/stat", stat(pid, **used))

    machine.show, machine.end = show, lambda pid: machine.remove(f"proc/{pid}/stat")
    show(100, pages=3)
    show(200, pages=1)
    machine.own.pids = [100, 200]
    machine.source = Own(machine.host)
    return machine


def test_processes_are_added_up_from_their_start(tree: Any) -> None:
    """They are younger than the monitor: what they used before they were seen is theirs, too."""
    tree.show(100, user=500, system=20, pages=3)
    assert tree.values(tree.source) == {
        "own.cpu_ms": 520 * TICK_MS,
        "own.minor_faults": 0,
        "own.major_faults": 0,
        "own.processes": 2,
        "own.resident_bytes": 4 * PAGE,
    }
    tree.show(100, user=503, system=21, minor=10, major=1, of_children=(300, 20))
    tree.show(200, user=2, minor=5)
    found = tree.values(tree.source)
    assert found["own.cpu_ms"] == 526 * TICK_MS
    assert (found["own.minor_faults"], found["own.major_faults"]) == (315, 21)


def test_before_the_processes_are_found_and_after_they_have_ended_their_number_is_not_known(tree: Any) -> None:
    """So that the first reading of it and the last say from when to when they were watched."""
    tree.own.pids = []
    assert tree.source.read() == [0, 0, 0, None, None]
    tree.own.pids = [100, 200]
    assert tree.values(tree.source)["own.processes"] == 2
    tree.show(100, user=5)
    tree.source.read()
    tree.end(100)
    tree.end(200)
    assert tree.source.read() == [5 * TICK_MS, 0, 0, None, None], "not looked for yet, but gone"


def test_a_name_with_blanks_and_brackets_moves_no_column(tree: Any) -> None:
    tree.values(tree.source)
    tree.show(100, user=10, name="a b) R 1 (c")
    assert tree.values(tree.source)["own.cpu_ms"] == 10 * TICK_MS


def test_a_child_that_its_parent_waited_for_is_not_counted_twice(tree: Any) -> None:
    tree.values(tree.source)
    tree.show(200, user=10)
    tree.values(tree.source)
    tree.end(200)
    tree.own.pids = [100]
    tree.show(100, children=(10, 0))
    assert tree.values(tree.source)["own.cpu_ms"] == 10 * TICK_MS


def test_a_child_too_short_to_be_seen_counts_once_its_parent_has_waited_for_it(tree: Any) -> None:
    tree.values(tree.source)
    tree.show(100, children=(30, 2))
    assert tree.values(tree.source)["own.cpu_ms"] == 32 * TICK_MS


def test_a_process_that_vanishes_makes_no_sum_fall(tree: Any) -> None:
    tree.show(100, user=50)
    tree.values(tree.source)
    tree.end(100)
    found = tree.values(tree.source)
    assert (found["own.cpu_ms"], found["own.processes"]) == (50 * TICK_MS, 1)
    tree.show(200, user=3)
    assert tree.values(tree.source)["own.cpu_ms"] == 53 * TICK_MS


@pytest.mark.parametrize("content", ["", "100", "100 (python) R 1 1 1", ")"])
def test_a_process_that_is_cut_short_is_passed_over(tree: Any, content: str) -> None:
    tree.values(tree.source)
    tree.write("proc/100/stat", content)
    assert tree.values(tree.source)["own.processes"] == 1


def test_processes_that_have_gone_are_not_held_open(tree: Any) -> None:
    for pid in range(1000, 1040):
        tree.show(pid)
        tree.own.pids = [100, pid]
        tree.source.read()
    assert len(tree.host.files._handles) <= 4


@pytest.fixture(params=["version 1", "version 2", "hybrid"])
def job(tree: Any, request: pytest.FixtureRequest) -> Any:
    """The job's own cgroup, in which the monitor is, too. `use` sets what it has used, in ms."""
    path = "/slurm/uid_0/job_7/step_0"
    lines, folder = {
        "version 1": (["3:memory:/x", f"2:cpu,cpuacct:{path}"], "cpuacct"),
        "version 2": ([f"0::{path}"], ""),
        "hybrid": (["1:cpu:/", f"0::{path}"], "unified"),
    }[request.param]
    base = f"sys/fs/cgroup/{folder}/slurm/uid_0/job_7"

    def use(ms: float) -> None:
        if folder == "cpuacct":
            tree.write(f"{base}/cpuacct.usage", int(ms * 1e6))
        else:
            tree.write(f"{base}/cpu.stat", f"usage_usec {int(ms * 1e3)}\nuser_usec 5\nsystem_usec 6")

    tree.use = use
    tree.write("proc/self/cgroup", "\n".join(lines))
    tree.hide = lambda: (tree.root / base / ("cpuacct.usage" if folder == "cpuacct" else "cpu.stat")).write_text("")
    use(10_000)
    (tree.root / f"{base}/step_0").mkdir()
    tree.source = Own(tree.host)
    return tree


def test_in_a_job_of_slurm_its_control_group_counts(job: Any) -> None:
    assert job.values(job.source)["own.cpu_ms"] == 0
    job.show(100, user=100_000)
    job.use(10_250)
    assert job.values(job.source)["own.cpu_ms"] == 250


def test_a_control_group_that_tells_nothing_for_a_while_does_not_mix_with_the_processes(job: Any) -> None:
    job.values(job.source)
    job.use(10_250)
    job.values(job.source)
    job.hide()
    job.show(100, user=900_000)
    assert job.values(job.source)["own.cpu_ms"] == 250
    job.use(10_260)
    assert job.values(job.source)["own.cpu_ms"] == 260


def test_a_control_group_that_is_not_a_jobs_is_everybodys_and_not_taken(tree: Any) -> None:
    tree.write("proc/self/cgroup", "0::/user.slice/user-7.slice")
    tree.write("sys/fs/cgroup/user.slice/user-7.slice/cpu.stat", "usage_usec 1000000")
    tree.show(100, user=1)
    assert tree.values(Own(tree.host))["own.cpu_ms"] == TICK_MS


@pytest.fixture
def threads(machine: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A process with two threads. `run` sets how long one has run and waited, in microseconds."""

    def run(thread: int, ran: int, waited: int, pid: int = 100) -> None:
        machine.write(f"proc/{pid}/task/{thread}/schedstat", f"{ran * 1000} {waited * 1000} 12")

    def end(thread: int) -> None:
        machine.remove(f"proc/100/task/{thread}/schedstat")
        (machine.root / f"proc/100/task/{thread}").rmdir()

    machine.run, machine.end = run, end
    monkeypatch.setattr(own, "LIST_S", 0.0)
    machine.write("proc/self/schedstat", "123 4 5")
    run(100, 0, 0)
    run(101, 0, 0)
    machine.own.pids = [100]
    machine.source = Waiting(machine.host)
    return machine


def test_threads_that_run_and_wait_are_added_up_and_the_worst_is_told(threads: Any) -> None:
    threads.run(100, 500, 30)
    threads.run(101, 200, 20)
    assert list(threads.values(threads.source).values()) == [700, 50, 30, 2]
    threads.run(101, 200, 100)
    assert list(threads.values(threads.source).values()) == [700, 130, 110, 2], "another one was the worst this time"


def test_threads_that_come_and_go_make_no_sum_fall(threads: Any) -> None:
    threads.run(101, 200, 20)
    threads.run(102, 10, 25)
    assert list(threads.values(threads.source).values()) == [210, 45, 25, 3]
    threads.run(102, 11, 25)
    threads.end(101)
    assert list(threads.values(threads.source).values()) == [211, 45, 25, 2]
    threads.end(102)
    threads.values(threads.source)
    threads.run(102, 5, 6)  # its number is used again
    assert list(threads.values(threads.source).values()) == [216, 51, 31, 2]


def test_threads_are_listed_anew_after_a_while_and_one_that_was_not_seen_loses_nothing(
    threads: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own, "LIST_S", 60.0)
    threads.values(threads.source)
    threads.run(102, 10, 25)
    assert threads.values(threads.source)["own.threads"] == 2
    threads.source._list_at = 0.0
    assert list(threads.values(threads.source).values()) == [10, 25, 25, 3]


def test_what_was_seen_is_understood_later(threads: Any) -> None:
    """Many looks, one after another, and then their values."""
    seen = []
    for waited in (10, 30, 60):
        threads.run(100, 0, waited)
        seen.append(threads.source.capture())
    assert [threads.source.values(each)[2] for each in seen] == [10, 30, 60]


@pytest.mark.parametrize("content", ["", "17"])
def test_a_thread_that_vanishes_while_it_is_read_is_passed_over(threads: Any, content: str) -> None:
    threads.values(threads.source)
    threads.write("proc/100/task/101/schedstat", content)
    threads.run(100, 1, 0)
    assert list(threads.values(threads.source).values()) == [1, 0, 0, 1]


def test_processes_that_have_ended_have_no_threads(threads: Any) -> None:
    threads.own.pids = [100, 300]
    assert threads.values(threads.source)["own.threads"] == 2
    threads.own.pids = []
    assert threads.values(threads.source)["own.threads"] == 0
    assert threads.host.files._handles.keys() <= {threads.host.path("proc/self/schedstat")}


@pytest.mark.parametrize("content", ["", "0 0 0"])
def test_a_kernel_that_does_not_tell_how_long_threads_wait_says_so(machine: Any, content: str) -> None:
    machine.write("proc/self/schedstat", content)
    with pytest.raises(Absent, match="CONFIG_SCHED_INFO"):
        Waiting(machine.host)


def test_a_kernel_without_the_file_says_so(machine: Any) -> None:
    with pytest.raises(Absent, match="CONFIG_SCHED_INFO"):
        Waiting(machine.host)


STATUS = "Name:\tpython\nThreads:\t2\nvoluntary_ctxt_switches:\t{}\nnonvoluntary_ctxt_switches:\t{}"


def test_switches_of_all_threads_are_added_up(machine: Any) -> None:
    machine.write("proc/100/task/100/status", STATUS.format(1000, 50))
    machine.write("proc/100/task/101/status", STATUS.format(1, 7))
    machine.own.pids = [100]
    source = Switches(machine.host)
    assert source.read() == [1001, 57]
    machine.write("proc/100/task/101/status", "State:\tZ (zombie)")
    machine.write("proc/100/task/100/status", STATUS.format(1005, 51))
    assert source.read() == [1006, 58]


def test_the_real_kernel_tells_of_this_process(machine: Any) -> None:
    machine.own.pids = [os.getpid()]
    host = machine.host._replace(root="/")
    sources = [Own(host), Switches(host)]
    try:
        sources.append(Waiting(host))
    except Absent as reason:
        pytest.skip(f"not run: how long threads of a real process wait; {reason}")
    before = [machine.values(source) for source in sources]
    end = time.process_time() + 0.05
    while time.process_time() < end:
        pass
    time.sleep(0.001)
    after = [machine.values(source) for source in sources]
    assert after[0]["own.cpu_ms"] - before[0]["own.cpu_ms"] >= 10
    assert after[0]["own.resident_bytes"] > 1 << 20
    assert after[1]["own.voluntary_switches"] > before[1]["own.voluntary_switches"]
    assert after[2]["own.threads"] >= 1
    assert all(late[name] >= early[name] for early, late in zip(before, after, strict=True) for name in list(early)[:2])
