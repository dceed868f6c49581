"""What all sources have in common, on a machine that has nothing and on this one."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.node.monitor import sources
from hpcbench.node.monitor.sources.base import COUNTER, GAUGE, Absent


def test_a_machine_that_tells_nothing_has_no_sources_but_reasons(machine: Any) -> None:
    found, absent = sources.present(machine.host)
    assert {source.name for source in found} | absent.keys() == {kind.name for kind in sources.ALL}
    assert {"cpu", "waiting", "pressure", "memory", "disk", "rapl"} <= absent.keys()
    assert all(absent.values())
    for source in found:
        source.read()


def test_all_that_this_machine_tells_fits_its_columns(machine: Any) -> None:
    found, absent = sources.present(machine.host._replace(root="/"))
    assert {"cpu", "own", "memory"} <= {source.name for source in found}
    assert not any("failed" in reason for reason in absent.values())
    for source in found:
        assert len(source.read()) == len(source.columns) > 0
        assert set(source.columns.values()) <= {COUNTER, GAUGE}


def test_no_two_sources_have_a_column_in_common() -> None:
    columns = [column for kind in sources.ALL for column in kind.columns]
    assert len(columns) == len(set(columns))
    assert len({kind.name for kind in sources.ALL}) == len(sources.ALL)


def test_a_path_lies_below_the_root_of_the_machine_and_one_that_is_not_there_says_so(machine: Any) -> None:
    machine.write("proc/there", 1)
    assert machine.host.readable("proc", "there") == str(machine.root / "proc/there")
    with pytest.raises(Absent, match="No such file or directory"):
        machine.host.readable("proc", "gone")
