"""From what was found in the windows of measurements to one verdict on a run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.core import record
from hpcbench.core.samples import CLEAN, INTERFERENCE, UNMONITORED
from hpcbench.node.monitor import interference
from hpcbench.node.monitor.interference import Evidence, verdict

E = [Evidence(("cpu",), 0.5, "other processes took its CPUs")]


@pytest.mark.parametrize(
    ("clean", "with_interference", "unknown", "said"),
    [
        (10, 0, 0, CLEAN),
        (4, 1, 0, CLEAN),  # a fifth
        (3, 1, 0, INTERFERENCE),
        (8, 2, 0, CLEAN),
        (8, 3, 0, INTERFERENCE),
        (0, 1, 0, INTERFERENCE),
        (1, 0, 0, CLEAN),
        (5, 0, 5, CLEAN),  # half of them were watched
        (5, 0, 6, UNMONITORED),
        (0, 5, 5, INTERFERENCE),
        (0, 5, 6, UNMONITORED),
        (0, 0, 3, UNMONITORED),
        (0, 0, 0, UNMONITORED),
        (16, 4, 4, CLEAN),  # a fifth of those that were watched
        (15, 4, 4, INTERFERENCE),
    ],
)
def test_the_verdict_at_its_borders(clean: int, with_interference: int, unknown: int, said: str) -> None:
    assert verdict([*clean * [[]], *with_interference * [E], *unknown * [None]]) == said


@given(st.lists(st.sampled_from([None, [], E]), min_size=1))
def test_the_verdict_does_not_depend_on_the_order_of_the_windows(found: list[Any]) -> None:
    assert verdict(found) == verdict(found[::-1])


def test_a_window_has_interference_by_what_disturbed_any_node() -> None:
    other = [Evidence(("steal",), 0.1, "the hypervisor ran another guest (steal time)")]
    assert interference.together([[[], E, [], E], [[], [], other, other]]) == [[], E, other, [*E, *other]]


def test_a_window_that_one_node_did_not_watch_was_not_watched() -> None:
    assert interference.together([[[], None, E], [None, E, []]]) == [None, E, E]


def test_a_node_with_fewer_windows_says_nothing_of_the_others() -> None:
    assert interference.together([[[], E], [E]]) == [E, E]
    assert interference.together([]) == []
    assert interference.together([[], []]) == []


def test_a_summary_counts_windows_by_kind_and_tells_the_largest() -> None:
    less, other = [Evidence(("cpu",), 0.2, "other processes took its CPUs")], Evidence(("io",), 0.4, "bytes")
    assert interference.summary([E, None, [], less, [*E, other]]) == [
        record.Evidence(["cpu"], "other processes took its CPUs", windows=3, size=0.5),
        record.Evidence(["io"], "bytes", windows=1, size=0.4),
    ]
    assert interference.summary([None, []]) == []
