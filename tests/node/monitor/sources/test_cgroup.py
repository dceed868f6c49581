"""A quota of CPU time: of the run's cgroup, and of those that it lies in."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.node.monitor.sources.cgroup import Quota


def version_1(machine: Any, folder: str, periods: int, throttled: int, us: int) -> None:
    text = f"nr_periods {periods}\nnr_throttled {throttled}\nthrottled_time {us * 1000}\nnr_bursts 0\nburst_time 0"
    machine.write(f"sys/fs/cgroup/cpu{folder}/cpu.stat", text)


def version_2(machine: Any, folder: str, periods: int, throttled: int, us: int) -> None:
    text = f"usage_usec 77\nuser_usec 7\nnr_periods {periods}\nnr_throttled {throttled}\nthrottled_usec {us}"
    machine.write(f"sys/fs/cgroup{folder}/cpu.stat", text)


def join(machine: Any, lines: list[str]) -> None:
    machine.own.pids = [100]
    machine.write("proc/100/cgroup", "\n".join(lines))


@pytest.mark.parametrize(("show", "lines"), [(version_1, ["4:cpu,cpuacct:/a/b"]), (version_2, ["0::/a/b"])])
def test_what_held_it_back_is_added_up_from_its_own_group_to_the_root(
    machine: Any, show: Any, lines: list[str]
) -> None:
    show(machine, "/a/b", 10, 1, 100)
    show(machine, "/a", 100, 0, 0)
    join(machine, lines)
    source = Quota(machine.host)
    assert source.read() == [0, 0, 0]
    show(machine, "/a/b", 15, 3, 350)
    show(machine, "/a", 105, 2, 50)
    assert source.read() == [10, 4, 300]


def test_a_group_without_a_quota_holds_nothing_back(machine: Any) -> None:
    """The root of version 2 has the file, without those lines."""
    machine.write("sys/fs/cgroup/cpu.stat", "usage_usec 5\nuser_usec 3\nsystem_usec 2")
    join(machine, ["0::/"])
    source = Quota(machine.host)
    assert [source.read() for _ in range(2)] == 2 * [[0, 0, 0]]


def test_before_its_group_is_known_and_where_there_is_none_nothing_is_told(machine: Any) -> None:
    source = Quota(machine.host)
    assert source.read() == [None, None, None]
    join(machine, ["3:cpuset:/a"])
    assert source.read() == [None, None, None]


def test_a_container_that_hides_the_groups_above_shows_its_own(machine: Any) -> None:
    version_1(machine, "", 10, 1, 100)
    join(machine, ["4:cpu:/docker/0123abc"])
    source = Quota(machine.host)
    source.read()
    version_1(machine, "", 12, 2, 180)
    assert source.read() == [2, 1, 80]


def test_one_that_is_moved_into_a_group_mid_run_is_followed(machine: Any) -> None:
    version_2(machine, "/a", 10, 0, 0)
    join(machine, ["0::/a"])
    source = Quota(machine.host)
    source.read()
    version_2(machine, "/tight", 1000, 900, 90_000)
    join(machine, ["0::/tight"])
    assert source.read() == [0, 0, 0], "what others went through there before is not its own"
    version_2(machine, "/tight", 1010, 909, 95_000)
    assert source.read() == [10, 9, 5000]


def test_a_group_that_was_made_anew_makes_no_sum_fall(machine: Any) -> None:
    version_2(machine, "/a", 100, 50, 5000)
    join(machine, ["0::/a"])
    source = Quota(machine.host)
    source.read()
    for used in ((0, 0, 0), (4, 2, 20)):
        version_2(machine, "/a", *used)
        last = source.read()
    assert last == [4, 2, 20]


def test_a_file_that_is_empty_for_a_while_counts_nothing_twice(machine: Any) -> None:
    version_2(machine, "/a", 100, 50, 5000)
    join(machine, ["0::/a"])
    source = Quota(machine.host)
    source.read()
    (machine.root / "sys/fs/cgroup/a/cpu.stat").write_text("")
    assert source.read() == [None, None, None]
    version_2(machine, "/a", 101, 51, 5010)
    assert source.read() == [1, 1, 10]


def test_garbage_is_a_value_error_at_which_the_monitor_gives_this_source_up(machine: Any) -> None:
    machine.write("sys/fs/cgroup/cpu.stat", "nr_periods many")
    join(machine, ["0::/"])
    with pytest.raises(ValueError, match="many"):
        Quota(machine.host).read()
