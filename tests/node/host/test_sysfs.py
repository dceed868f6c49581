from __future__ import annotations

from hpcbench.node.host.sysfs import counted, this_system


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
