from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hpcbench.node.host.sysfs import counted, listed, numbered, this_system


def test_a_list_of_the_kernel_is_its_numbers() -> None:
    assert numbered("0-2,8\n") == [0, 1, 2, 8]
    assert numbered("") == []


def test_numbers_are_written_as_the_kernel_does() -> None:
    assert listed([8, 2, 0, 1]) == "0-2,8"


@given(st.sets(st.integers(0, 300)))
def test_a_list_of_the_kernel_can_be_read_again(numbers: set[int]) -> None:
    assert numbered(listed(list(numbers))) == sorted(numbers)


def test_what_cannot_be_read_is_nothing(lay) -> None:
    system = lay({"sys/number": "12\n", "sys/word": "abc"})
    assert system.number("sys/number") == 12
    assert system.number("sys/word") is None
    assert system.text("sys/absent") is None
    assert system.lines("sys/absent") == []
    assert system.matching("sys/*") == ["sys/number", "sys/word"]


def test_a_count_has_its_word() -> None:
    assert (counted(1, "core"), counted(2, "core")) == ("1 core", "2 cores")


def test_this_machine_has_a_cpu_that_we_may_use() -> None:
    assert this_system().cpus
