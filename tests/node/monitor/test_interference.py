"""The verdict on windows of measurements, from synthetic timelines: what each counter must show to disturb, and what
must not."""

from __future__ import annotations

import pytest

from hpcbench.node.monitor import interference
from hpcbench.node.monitor.interference import Evidence, Window, judge
from hpcbench.node.monitor.throttle_reasons import (
    HARDWARE_SLOWDOWN,
    HARDWARE_THERMAL,
    POWER_BRAKE,
    POWER_CAP,
    SOFTWARE_THERMAL,
)
from hpcbench.node.monitor.timeline import Series
from tests.node.monitor.synthetic_timelines import QUIET, evidence, watched, windows


def test_a_quiet_machine_leaves_no_evidence() -> None:
    assert judge(watched(), windows(1.0, 1.1, 0.9)) == [[], [], []]


# Each kind of evidence, at its threshold and just below it.
KINDS = [
    # what, columns at the threshold, columns just below it, causes, whether it convicts
    (
        "a quota stopped its threads for 3 % of the time",
        {"quota__throttled_us": 60_031},
        {"quota__throttled_us": 60_000},
        ("throttling",),
        True,
    ),
    (
        "a thread waited for a CPU for 3 % of the time",
        {"own__wait_us": 30_001, "own__worst_wait_us": 30_001, "cpu__own_busy_ms": 2030},
        {"own__wait_us": 29_900, "own__worst_wait_us": 29_900, "cpu__own_busy_ms": 2030},
        ("cpu",),
        True,
    ),
    (
        "a quarter of a CPU worked for others beside it",
        {"cpu__other_busy_ms": 245.001},
        {"cpu__other_busy_ms": 244.9},
        ("cpu", "memory"),
        False,
    ),
    (
        "a quarter of a CPU worked for others on its own",
        {"cpu__own_busy_ms": 2230.001},
        {"cpu__own_busy_ms": 2229.9},
        ("cpu", "memory"),
        False,
    ),
    (
        "the hypervisor took 5 % of its CPUs",
        {"cpu__own_steal_ms": 100.001},
        {"cpu__own_steal_ms": 99.9},
        ("steal",),
        True,
    ),
    (
        "some process waited for memory for 5 % of the time",
        {"pressure__memory_some_us": 50_001},
        {"pressure__memory_some_us": 49_900},
        ("memory",),
        True,
    ),
]


@pytest.mark.parametrize(
    ("enough", "too_little", "causes", "convicts"), [kind[1:] for kind in KINDS], ids=[kind[0] for kind in KINDS]
)
def test_evidence_begins_at_its_threshold(
    enough: dict[str, float], too_little: dict[str, float], causes: tuple[str, ...], convicts: bool
) -> None:
    assert evidence(watched(**too_little)) == []
    (found,) = evidence(watched(**enough))
    assert (found.causes, found.convicts) == (causes, convicts)


@pytest.mark.parametrize(
    ("columns", "size"),
    [
        ({"quota__throttled_us": 1_000_500}, 0.5),
        ({"own__worst_wait_us": 40_000, "cpu__own_busy_ms": 2040}, 0.04),
        ({"cpu__other_busy_ms": 1515}, 1.52),  # with what is foreign on its own CPUs
        ({"cpu__own_steal_ms": 400}, 0.2),
        ({"pressure__memory_some_us": 100_000}, 0.1),
    ],
)
def test_evidence_says_how_large_it_is(columns: dict[str, float], size: float) -> None:
    assert [found.size for found in evidence(watched(**columns))] == [pytest.approx(size)]


def test_heat_disturbs_by_the_time_that_it_took() -> None:
    (found,) = evidence(watched(cpu__thermal_events=2, cpu__thermal_us=200_000))
    assert (found.causes, found.size, found.convicts) == (("throttling",), pytest.approx(0.2), True)
    assert evidence(watched(cpu__thermal_events=2, cpu__thermal_us=20_000)) == []


def test_heat_whose_time_the_kernel_does_not_count_is_told_by_its_events_and_does_not_convict() -> None:
    (found,) = evidence(watched(cpu__thermal_events=lambda time: 10.0 if 102.2 < time < 102.3 else 0.0))
    assert (found.causes, found.size, found.convicts) == (("throttling",), pytest.approx(1.0), False)
    assert evidence(watched(cpu__thermal_events=lambda time: 10.0 if time < 101.9 else 0.0)) == []


@pytest.mark.parametrize(("cpus", "quiet", "loud"), [(4, 0.2, 0.3), (25, 0.2, 0.3), (128, 1.2, 1.3), (512, 5.0, 5.2)])
def test_on_a_large_node_one_cpu_in_a_hundred_may_work_for_others(cpus: int, quiet: float, loud: float) -> None:
    assert evidence(watched(cpu__count=cpus, cpu__other_busy_ms=1000 * quiet - 5)) == []
    assert len(evidence(watched(cpu__count=cpus, cpu__other_busy_ms=1000 * loud))) == 1


def oversubscribed(foreign_cpus: float = 0.0) -> dict[str, float]:
    """Six threads on two CPUs: each waits two thirds of the time, for its sisters."""
    own = 2.0 - foreign_cpus
    return {"own__cpu_ms": 1000 * own, "own__run_us": 1e6 * own, "own__wait_us": 4e6, "own__worst_wait_us": 7e5}


def test_threads_that_wait_for_each_other_were_not_disturbed() -> None:
    assert evidence(watched(**oversubscribed())) == []


def test_threads_that_wait_for_each_other_and_for_somebody_else_were() -> None:
    found = evidence(watched(**oversubscribed(foreign_cpus=0.5)))
    assert [each.causes for each in found] == [("cpu",), ("cpu", "memory")]
    assert found[0].size == pytest.approx(0.505 / 2)
    assert evidence(watched(**oversubscribed(foreign_cpus=0.22))) == []


@pytest.mark.parametrize(("wanted", "with_interference"), [(2.09, True), (2.11, False)])
def test_threads_that_want_more_than_all_their_cpus_wait_for_each_other(wanted: float, with_interference: bool) -> None:
    """With a little room for what cannot be told so exactly."""
    columns = {"own__run_us": 1.9e6, "own__wait_us": (wanted - 1.9) * 1e6, "own__worst_wait_us": 1.5e5}
    assert bool(evidence(watched(own__cpu_ms=1900, cpu__own_busy_ms=2000, **columns))) == with_interference


@pytest.mark.parametrize(("operations", "size"), [(0, 0.2), (2000, 0.15), (6000, 0.05), (6100, None)])
def test_a_hypervisor_may_serve_the_disk_on_the_cpus_of_the_machine(operations: float, size: float | None) -> None:
    found = evidence(watched(cpu__own_steal_ms=400.001, disk__operations=operations))
    assert [each.size for each in found] == ([] if size is None else [pytest.approx(size, rel=1e-4)])


def test_where_it_is_not_known_how_many_cpus_it_has_one_is_assumed() -> None:
    for unknown in (None, 0):
        assert evidence(watched(cpu__own_count=unknown, cpu__own_steal_ms=51))[0].size == pytest.approx(0.051)


def test_of_cpus_that_change_the_most_counts() -> None:
    found = evidence(watched(cpu__own_count=lambda time: 4 if time > 102.25 else 2, cpu__own_steal_ms=400))
    assert found[0].size == pytest.approx(0.1)


@pytest.mark.parametrize("throttled", [0.5, 2.0])
def test_a_thread_that_a_quota_stops_does_not_wait_for_a_cpu(throttled: float) -> None:
    """The kernel counts the time as waiting, too; and several CPUs may be throttled at once."""
    columns = {"own__wait_us": 5e5, "own__worst_wait_us": 5e5, "own__run_us": 1e6, "own__cpu_ms": 1000}
    found = evidence(watched(quota__throttled_us=1e6 * throttled, cpu__own_busy_ms=1000, **columns))
    assert [each.causes for each in found] == [("throttling",)]


def test_a_quota_that_stops_many_threads_counts_once_and_hides_no_hog() -> None:
    """The kernel adds up the time of each CPU: eight threads, each stopped for a twentieth of it."""
    columns = {"own__run_us": 7e6, "own__wait_us": 1e6, "own__cpu_ms": 7000, "cpu__own_count": 8}
    columns |= {"cpu__own_busy_ms": 7100, "quota__throttled_us": 8 * 0.05 * 1e6}
    found = evidence(watched(**columns, own__worst_wait_us=0.15e6))
    assert [(each.causes, each.size) for each in found] == [
        (("throttling",), pytest.approx(0.05)),
        (("cpu",), pytest.approx(0.1)),
    ]


def test_what_is_not_known_is_no_evidence() -> None:
    unknown = dict.fromkeys(name.replace(".", "__") for name in QUIET if name not in interference.NEEDED)
    assert evidence(watched(**unknown)) == []


@pytest.mark.parametrize(("foreign_ms", "with_interference"), [(0, False), (20, False), (30, True), (55, True)])
def test_threads_that_wait_while_nobody_else_computes_wait_for_one_another(
    foreign_ms: float, with_interference: bool
) -> None:
    """A helper thread may take its CPU for a moment, and together they want no more than there is."""
    columns = {"own__worst_wait_us": 50_000, "own__wait_us": 50_000, "own__run_us": 1.9e6, "own__cpu_ms": 1900}
    found = judge(watched(cpu__own_busy_ms=1900 + foreign_ms, **columns), windows(1.0, 1.0, 1.0))
    assert [bool(each) for each in found] == [with_interference] * 3


def test_several_disturbances_are_all_told() -> None:
    found = evidence(
        watched(quota__throttled_us=1e5, cpu__own_steal_ms=300, own__worst_wait_us=3e5, cpu__own_busy_ms=2200)
    )
    assert [each.causes for each in found] == [("throttling",), ("cpu",), ("steal",)]


def transfers(own: float, total: float) -> dict[str, float]:
    """Bytes in a second, half of them read and half written."""
    halves = {"own__read_bytes": own / 2, "own__written_bytes": own / 2}
    return {**halves, "disk__read_bytes": total / 2, "disk__written_bytes": total / 2}


@pytest.mark.parametrize(
    ("own", "total", "with_interference"),
    [
        (1e6, 6.001e6, True),
        (1e6, 5.9e6, False),  # others' are less than 5 MB in a second
        (70e6, 100.1e6, True),
        (71e6, 100e6, False),  # and less than three tenths
        (0, 500e6, False),  # the repetition itself used no disk
        (9e4, 500e6, False),  # or next to none
        (1.1e5, 500e6, True),
        (100e6, 50e6, False),  # its writes are still in memory
        (0, 0, False),
    ],
)
def test_others_transfers_disturb_one_that_uses_the_disk_itself(
    own: float, total: float, with_interference: bool
) -> None:
    found = evidence(watched(**transfers(own, total)))
    told = Evidence(
        ("io",), pytest.approx((total - own) / (total or 1)), found[0].what if found else "", convicts=False
    )
    assert found == ([told] if with_interference else [])


def test_what_it_wrote_earlier_and_reaches_the_disk_only_now_is_its_own() -> None:
    wrote = {"own__written_bytes": lambda time: 100e6 if time < 101.5 else 1e6, "own__read_bytes": 0}
    flushed = {"disk__written_bytes": lambda time: 0 if time < 101.5 else 100e6, "disk__read_bytes": 0}
    assert evidence(watched(**wrote, **flushed)) == []
    assert len(evidence(watched(**{**wrote, "own__written_bytes": 1e5}, **flushed))) == 1


def test_what_reaches_the_disk_once_nobody_tells_of_its_own_writes_any_more_is_not_called_others() -> None:
    """The reading before the last process ended is the last of its own."""
    timeline = watched(**transfers(400e6, 400e6))
    for column in ("own.read_bytes", "own.written_bytes"):
        times_s, values = timeline._series[column]
        timeline._series[column] = Series(times_s[:23], values[:23])  # until 102.2
    assert evidence(timeline) == []


@pytest.mark.parametrize(
    ("reason", "with_interference"),
    [
        (0, False),
        (0x1, False),
        (POWER_CAP, False),
        (0x2, False),
        (SOFTWARE_THERMAL, True),
        (HARDWARE_THERMAL, True),
        (HARDWARE_SLOWDOWN, True),
        (POWER_BRAKE, True),
        (POWER_CAP | HARDWARE_THERMAL, True),
    ],
)
def test_a_made_up_gpu_that_is_held_back_by_heat_has_interference_and_by_its_power_limit_not(
    reason: int, with_interference: bool
) -> None:
    found = evidence(watched(gpu3__throttle_reasons=reason, gpu3__foreign_processes=0), on_gpus=True)
    told = [Evidence(("throttling",), 1.0, "heat or power slowed gpu3 down")]
    assert found == (told if with_interference else [])


def test_the_size_is_the_part_of_the_readings_in_which_a_made_up_gpu_was_held_back() -> None:
    timeline = watched(gpu0__throttle_reasons=lambda time: HARDWARE_THERMAL if time < 102.25 else 0)
    (found,) = evidence(timeline, on_gpus=True)
    assert found.size == pytest.approx(0.5, abs=0.05)


def test_one_reading_of_many_in_which_a_made_up_gpu_was_held_back_is_little() -> None:
    hot = watched(gpu0__throttle_reasons=lambda time: HARDWARE_THERMAL if 102.25 < time < 102.35 else 0)
    assert evidence(hot, Window(101.0, 109.0, 1.0), on_gpus=True) == []


def test_other_processes_on_a_made_up_gpu_are_told_and_do_not_convict() -> None:
    come = {"gpu0__foreign_processes": lambda time: 2 if time > 102.25 else 0}
    found = evidence(watched(gpu0__throttle_reasons=0, **come), on_gpus=True)
    assert found == [Evidence(("gpu",), 2, "other processes were on gpu0", convicts=False)]


def test_a_made_up_gpu_says_nothing_of_a_repetition_on_cpus() -> None:
    assert evidence(watched(gpu0__throttle_reasons=HARDWARE_THERMAL, gpu0__foreign_processes=2)) == []


# What nobody could notice.


def test_what_no_column_tells_is_unseen() -> None:
    told = {"cpu__thermal_events": 0, "own__written_bytes": 0, "disk__written_bytes": 0}
    assert interference.unseen(watched(**told)) == []
    assert interference.unseen(watched(**told, own__worst_wait_us=None)) == ["threads that waited for a CPU"]
    of_gpus = ["GPUs slowed down by heat or power", "other processes on the GPUs"]
    assert interference.unseen(watched(**told), on_gpus=True) == of_gpus
    seen = {"gpu0__throttle_reasons": 0, "gpu0__foreign_processes": 0}
    assert interference.unseen(watched(**told, **seen), on_gpus=True) == []
    contained = watched(**told, **seen)
    contained.facts["nvidia_processes"] = {"own_container_only": True}
    assert interference.unseen(contained, on_gpus=True) == ["processes of other containers on the GPUs"]
    assert interference.unseen(contained) == []
