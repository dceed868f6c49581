"""Timelines put beside the windows of samples: which belong together, and what is said where some are missing."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.core.profiling.operator_row import SPAN
from hpcbench.core.record import Interference
from hpcbench.node.monitor.interference import Window
from hpcbench.node.results import monitor_summary

Rank = dict[str, Any]
Put = Callable[..., Path]


@pytest.fixture
def measured(make_rank: Callable[..., Rank], make_facts: Callable[..., dict[str, Any]]) -> Callable[..., Rank]:
    """A rank with a measurement in each of these windows."""

    def make(number: int = 0, host: str = "n1", *windows: tuple[float, float]) -> Rank:
        stretches = [[start, end, 1] for start, end in windows or ((5.0, 5.5), (5.5, 6.0))]
        samples = {"times_s": [0.1] * len(stretches), "windows": stretches}
        return make_rank(number, host=host, facts=make_facts(measurements=samples))

    return make


def verdict(folder: Path, *ranks: Rank) -> Interference:
    found = monitor_summary.of_run(list(ranks), str(folder), on_gpus=False).interference
    assert found is not None
    return found


def test_samples_on_a_quiet_node_are_clean(tmp_path: Path, put_timeline: Put, measured: Callable[..., Rank]) -> None:
    put_timeline(tmp_path)
    found = verdict(tmp_path, measured())
    assert (found.verdict, found.reason, found.found, found.windows) == ("clean", None, [], [{}, {}])
    assert "threads that waited for a CPU" in found.unseen, "the made-up monitor had no such column"


def test_what_disturbed_them_is_told_by_window_and_in_all(
    tmp_path: Path, put_timeline: Put, measured: Callable[..., Rank]
) -> None:
    put_timeline(tmp_path, throttled=0.25)
    found = verdict(tmp_path, measured())
    assert (found.verdict, found.windows) == ("interference", [{"throttling": 0.25}] * 2)
    (kind,) = found.found
    assert (kind.causes, kind.windows, kind.size) == (["throttling"], 2, pytest.approx(0.25))


def test_without_a_timeline_of_its_node_nothing_is_known(
    tmp_path: Path, put_timeline: Put, measured: Callable[..., Rank]
) -> None:
    put_timeline(tmp_path, "n2")
    for folder in (tmp_path, tmp_path / "none"):
        found = verdict(folder, measured())
        assert (found.verdict, found.windows) == ("unmonitored", [None, None])
        assert found.reason == "no timeline of a monitor found on n1"


@pytest.mark.parametrize(
    ("ended", "reason"),
    [
        (False, "the monitor on n1 ended before the run did"),
        (True, "the monitor on n1 has too few readings of the processes"),
    ],
)
def test_a_monitor_that_saw_less_than_half_of_the_windows_leaves_them_unmonitored(
    tmp_path: Path, put_timeline: Put, measured: Callable[..., Rank], ended: bool, reason: str
) -> None:
    put_timeline(tmp_path, end=5.5, ended=ended)
    found = verdict(tmp_path, measured(0, "n1", (5.0, 5.5), (5.5, 6.0), (6.0, 6.5)))
    assert (found.verdict, found.reason, found.windows) == ("unmonitored", reason, [{}, None, None])


def test_a_monitor_that_was_killed_near_the_end_has_seen_enough(
    tmp_path: Path, put_timeline: Put, measured: Callable[..., Rank]
) -> None:
    put_timeline(tmp_path, end=6.0, ended=False)
    found = verdict(tmp_path, measured(0, "n1", (5.0, 5.5), (5.5, 6.0), (6.0, 6.5)))
    assert (found.verdict, found.windows) == ("clean", [{}, {}, None])
    assert found.reason == "the monitor on n1 ended before the run did"


def test_each_node_is_judged_by_its_own_timeline_and_clock(
    tmp_path: Path, put_timeline: Put, measured: Callable[..., Rank]
) -> None:
    put_timeline(tmp_path, "n1")
    put_timeline(tmp_path, "n2", start=1000.0, end=1003.0, throttled=0.5)
    ranks = [measured(0, "n1"), measured(1, "n2", (1001.0, 1001.5), (1001.5, 1002.0))]
    assert verdict(tmp_path, *ranks).windows == [{"throttling": 0.5}] * 2
    assert verdict(tmp_path, ranks[0]).windows == [{}, {}]


def test_a_node_without_a_monitor_leaves_the_repetition_unmonitored(
    tmp_path: Path, put_timeline: Put, measured: Callable[..., Rank]
) -> None:
    put_timeline(tmp_path, "n1")
    found = verdict(tmp_path, measured(0, "n1"), measured(1, "n2"), measured(2, "n3"))
    assert found.verdict == "unmonitored"
    assert found.reason == "no timeline of a monitor found on n2; no timeline of a monitor found on n3"


def test_what_disturbed_one_node_counts_though_nobody_watched_another(
    tmp_path: Path, put_timeline: Put, measured: Callable[..., Rank]
) -> None:
    put_timeline(tmp_path, "n1", throttled=0.5)
    found = verdict(tmp_path, measured(0, "n1"), measured(1, "n2"))
    assert (found.verdict, found.windows) == ("interference", [{"throttling": 0.5}] * 2)


def test_of_several_ranks_on_a_node_the_first_counts(
    tmp_path: Path, put_timeline: Put, measured: Callable[..., Rank]
) -> None:
    put_timeline(tmp_path)
    assert verdict(tmp_path, measured(0), measured(1, "n1", (90.0, 90.5))).windows == [{}, {}]


@pytest.mark.parametrize("facts", [None, {}, {"measurements": None}])
def test_where_nothing_was_sampled_there_is_nothing_to_judge(
    tmp_path: Path, put_timeline: Put, make_rank: Callable[..., Rank], facts: Any
) -> None:
    put_timeline(tmp_path)
    for ranks in ([make_rank(facts=facts)], []):
        assert monitor_summary.of_run(ranks, str(tmp_path), on_gpus=False) == (None, (), ())


def test_samples_are_shared_out_to_their_windows() -> None:
    samples = {"times_s": [3.0, 1.0, 2.0, 9.0], "windows": [[5.0, 5.5, 3], (5.5, 6.0, 1), [6.0, 6.5, 0]]}
    assert monitor_summary.windows(samples) == [Window(5.0, 5.5, 2.0), Window(5.5, 6.0, 9.0), Window(6.0, 6.5, None)]


def test_what_the_nodes_did_meanwhile_is_told_in_the_order_of_the_ranks(
    tmp_path: Path, put_timeline: Put, measured: Callable[..., Rank]
) -> None:
    for host in ("n1", "n2"):
        put_timeline(tmp_path, host)
    ranks = [measured(0, "n2"), measured(1, "n1"), measured(2, "gone")]
    found = monitor_summary.of_run(ranks, str(tmp_path), on_gpus=False).nodes
    assert [node.host for node in found] == ["n2", "n1"]
    assert found[0].duration_s == 1.0
    assert found[0].usage["own.cpu_ms"] == pytest.approx(2000)
    assert found[0].absent == {"rapl": "no RAPL"}
    assert found[0].monitor
    assert found[0].monitor["cpu_s"] == 0.01


@pytest.mark.parametrize("content", [b"", b"\0" * 50, b"{}\n", b'{"schema": 1'])
def test_a_timeline_that_is_none_is_as_if_there_were_no_monitor(
    tmp_path: Path, measured: Callable[..., Rank], content: bytes
) -> None:
    (tmp_path / "monitor-n1.jsonl").write_bytes(content)
    assert verdict(tmp_path, measured()).reason == "no timeline of a monitor found on n1"


def test_only_timelines_are_found_and_kept_one_behind_the_other(tmp_path: Path, put_timeline: Put) -> None:
    scratch, kept = tmp_path / "scratch", tmp_path / "kept" / "7_2.jsonl.gz"
    plain = [put_timeline(scratch, host).read_bytes() for host in ("n-2.cluster", "n1")]
    for name in ("rank-0.json", "monitor-n3.jsonl.part", "monitor-n3", "n1.jsonl"):
        (scratch / name).write_text("{}")
    monitor_summary.keep(str(scratch), str(kept))
    monitor_summary.keep(str(scratch), str(kept))
    assert gzip.decompress(kept.read_bytes()) == b"".join(plain + plain)
    assert list(kept.parent.iterdir()) == [kept]


def test_where_there_is_nothing_to_keep_no_folder_is_made(tmp_path: Path) -> None:
    monitor_summary.keep(str(tmp_path / "none"), str(tmp_path / "kept" / "7_2.jsonl.gz"))
    assert not (tmp_path / "kept").exists()


def test_a_repetition_keeps_its_record_whatever_is_wrong_with_what_was_seen(
    tmp_path: Path, put_timeline: Put, measured: Callable[..., Rank], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> None:
        raise ZeroDivisionError("nobody foresaw this")

    put_timeline(tmp_path, "n1")
    monkeypatch.setattr(monitor_summary.interference, "judge", broken)
    found = verdict(tmp_path, measured(0, "n1"))
    reason = "the timeline of the monitor on n1 cannot be evaluated: nobody foresaw this"
    assert (found.verdict, found.reason, found.windows) == ("unmonitored", reason, [None, None])


def with_profile(rank: Rank, start_s: float, end_s: float) -> Rank:
    return {**rank, "facts": {**rank["facts"], SPAN: [start_s, end_s]}}


@pytest.mark.parametrize(
    ("throttled", "warnings"),
    [
        (0.0, []),
        (
            0.25,
            ["profile: interference while operators were timed (throttling): their times and energy may be too high"],
        ),
    ],
)
def test_interference_during_the_profile_is_a_warning(
    tmp_path: Path, put_timeline: Put, measured: Callable[..., Rank], throttled: float, warnings: list[str]
) -> None:
    put_timeline(tmp_path, end=20.0, throttled=throttled)
    rank = with_profile(measured(), 7.0, 19.0)
    assert monitor_summary.of_run([rank], str(tmp_path), on_gpus=False).warnings == warnings


def test_a_monitor_that_ended_before_the_profile_leaves_its_interference_unknown(
    tmp_path: Path, put_timeline: Put, measured: Callable[..., Rank]
) -> None:
    put_timeline(tmp_path, ended=False)
    found = monitor_summary.of_run([with_profile(measured(), 7.0, 19.0)], str(tmp_path), on_gpus=False)
    assert found.interference
    assert found.interference.verdict == "clean"
    (warning,) = found.warnings
    unknown = "profile: interference while operators were timed is unknown"
    assert warning == f"{unknown} (the monitor on n1 ended before the run did)"
    unmonitored = monitor_summary.of_run([with_profile(measured(0, "n2"), 7.0, 19.0)], str(tmp_path), on_gpus=False)
    assert not unmonitored.warnings, "the verdict on the measurements has the reason"


def test_a_long_profile_has_windows_of_its_whole_span() -> None:
    for length_s, count in ((0.2, 1), (12.0, 24), (7200.0, 1000)):
        windows = monitor_summary._equal_windows(5.0, 5.0 + length_s)
        assert len(windows) == count
        assert (windows[0].start_s, windows[-1].end_s) == (5.0, 5.0 + length_s)
