"""Timelines: written, cut off, damaged, read again, put away."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.node.monitor import timeline
from hpcbench.node.monitor.timeline import Series, Timeline, Writer

HEADER: dict[str, Any] = {
    "host": "n1",
    "interval_s": 0.1,
    "sources": {"cpu": ["cpu.busy_ms", "cpu.count"], "memory": ["memory.free_bytes"]},
    "gauges": ["cpu.count", "memory.free_bytes"],
    "facts": {"cpu": {"model": "a CPU"}},
    "absent": {"rapl": "no RAPL"},
}


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "monitor-n1.jsonl")


@pytest.fixture
def write(path: str) -> Callable[..., Writer]:
    """A writer that has written these readings: source, time, values."""

    def make(*readings: tuple[int, float, list[Any]]) -> Writer:
        writer = Writer(path, HEADER)
        for reading in readings:
            writer.reading(*reading)
        return writer

    return make


def read(path: str) -> Timeline:
    found = timeline.read(path)
    assert found is not None
    return found


def test_what_was_written_is_read(path: str, write: Callable[..., Writer]) -> None:
    write((0, 1.0, [10, 2]), (1, 1.01, [1 << 40]), (0, 1.1, [15.5, 2])).end({"ended_s": 1.2, "failed": {}})
    found = read(path)
    assert (found.host, found.absent) == ("n1", {"rapl": "no RAPL"})
    assert (found.facts, found.ended) == ({"cpu": {"model": "a CPU"}}, {"ended_s": 1.2, "failed": {}})
    assert found.columns == ["cpu.busy_ms", "cpu.count", "memory.free_bytes"]
    assert found.around("cpu.busy_ms", 0, 9) == Series([1.0, 1.1], [10, 15.5])
    assert found.values("memory.free_bytes", 0, 9) == [1 << 40]


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf])
def test_what_could_not_be_read_is_null_and_no_reading(path: str, write: Callable[..., Writer], value: Any) -> None:
    write((0, 1.0, [value, 2]), (0, 1.1, [5, value])).end({})
    found = read(path)
    assert found.around("cpu.busy_ms", 0, 9) == Series([1.1], [5])
    assert found.values("cpu.count", 0, 9) == [2]
    for line in Path(path).read_text().splitlines():
        json.loads(line, parse_constant=pytest.fail)


def test_a_column_that_never_had_a_reading_was_not_read(path: str, write: Callable[..., Writer]) -> None:
    write((0, 1.0, [None, 2])).end({})
    found = read(path)
    assert found.columns == ["cpu.count"]
    assert (found.has("cpu.busy_ms"), found.has("cpu.count"), found.has("nothing")) == (False, True, False)
    assert found.increase("cpu.busy_ms", 0, 9) is None
    assert found.values("nothing", 0, 9) == []
    assert found.span("nothing") is None


def test_a_monitor_that_is_killed_loses_no_more_than_what_it_still_held(
    path: str, write: Callable[..., Writer]
) -> None:
    """Its writer is never ended, nor closed while the file is read."""
    writer = write((0, 1.0, [1, 2]))
    assert read(path).columns == [], "the header is there at once"
    writer.flush()
    found = read(path)
    assert found.values("cpu.count", 0, 9) == [2]
    assert found.ended is None


@given(st.integers(1, 250))
def test_a_timeline_that_is_cut_off_anywhere_keeps_its_whole_lines(
    tmp_path_factory: pytest.TempPathFactory, missing: int
) -> None:
    path = str(tmp_path_factory.mktemp("cut") / "monitor-n1.jsonl")
    writer = Writer(path, HEADER)
    for number in range(20):
        writer.reading(0, 1 + number / 10, [number, 2])
    writer.end({"ended_s": 3.0})
    content = Path(path).read_bytes()
    Path(path).write_bytes(content[:-missing])
    whole = content[:-missing].splitlines(keepends=True)
    kept = [line for line in whole if line.endswith((b"]\n", b"]"))]
    found = read(path)
    assert found.values("cpu.busy_ms", 0, 9) == list(range(len(kept)))
    assert (found.ended is not None) == (missing == 1)  # the last line without its end is whole all the same


@pytest.mark.parametrize(
    "damage",
    [
        b"\0\0\0\0",
        b"\xff\xfe",
        b"[0,1.0500,",
        b"nonsense",
        b"",
        b"[0,1.0500,3,2][0,1.0600",
        b"7",
        b"[]",
        b"[9,1.05,3,2]",
    ],
    ids=repr,
)
def test_a_damaged_line_costs_no_other(path: str, write: Callable[..., Writer], damage: bytes) -> None:
    write((0, 1.0, [1, 2]), (0, 1.1, [2, 2])).end({"ended_s": 2.0})
    lines = Path(path).read_bytes().splitlines()
    Path(path).write_bytes(b"\n".join([*lines[:2], damage, *lines[2:]]))
    found = read(path)
    assert found.around("cpu.busy_ms", 0, 9) == Series([1.0, 1.1], [1, 2])
    assert found.ended == {"ended_s": 2.0}


def test_a_line_that_is_deeper_than_json_can_be_read_costs_no_other(path: str, write: Callable[..., Writer]) -> None:
    write((0, 1.0, [1, 2])).end({"ended_s": 2.0})
    Path(path).write_text(Path(path).read_text() + "[" * 100_000 + "\n")
    assert read(path).ended == {"ended_s": 2.0}


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"{", b"\0" * 100, b"[0,1,2]\n", b"7\n", b'{"host": "n1"}\n', b'{"schema": 99}\n', b"\xff"]
)
def test_a_file_without_a_header_of_ours_is_no_timeline(path: str, content: bytes) -> None:
    Path(path).write_bytes(content)
    assert timeline.read(path) is None


def sampled(**columns: tuple[list[float], list[float]]) -> Timeline:
    header = {**HEADER, "gauges": []}
    return Timeline(header, {name: Series(*given) for name, given in columns.items()}, None)


COUNTED = sampled(a=([10.0, 11.0, 13.0], [0.0, 100.0, 300.0]))


@pytest.mark.parametrize(
    ("start", "end", "grown"),
    [
        (10.0, 11.0, 100),
        (10.0, 13.0, 300),
        (10.25, 10.75, 50),  # a window shorter than a tick: its part of it
        (10.5, 12.0, 150),
        (9.0, 10.5, 50),  # nothing is invented for before the first reading, nor after the last
        (12.0, 20.0, 100),
        (0.0, 99.0, 300),
        (11.0, 11.0, 0),
    ],
)
def test_a_counter_grows_evenly_between_two_readings(start: float, end: float, grown: float) -> None:
    assert COUNTED.increase("a", start, end) == pytest.approx(grown)


@pytest.mark.parametrize(("start", "end"), [(0, 10), (13, 14), (0, 1), (99, 100)])
def test_a_counter_that_was_not_read_meanwhile_has_no_increase(start: float, end: float) -> None:
    assert COUNTED.increase("a", start, end) is None


def test_one_reading_of_a_counter_tells_no_increase() -> None:
    assert sampled(a=([10.0], [5.0])).increase("a", 9, 11) is None


@given(st.lists(st.floats(0, 100), min_size=3, max_size=3), st.lists(st.floats(0, 1000), min_size=4, max_size=4))
def test_the_parts_of_a_stretch_add_up(times: list[float], steps: list[float]) -> None:
    counted = sampled(a=([0.0, 25.0, 25.0, 100.0], [sum(steps[: n + 1]) for n in range(4)]))
    start, middle, end = sorted(times)
    parts = [counted.increase("a", *edges) or 0.0 for edges in ((start, middle), (middle, end))]
    assert sum(parts) == pytest.approx(counted.increase("a", start, end) or 0.0, abs=1e-6)


@pytest.mark.parametrize(
    ("start", "end", "shown"), [(10, 13, [0, 100, 300]), (10.5, 12, [100]), (11, 11, [100]), (12, 12.5, []), (0, 9, [])]
)
def test_a_gauge_shows_what_was_read_within_and_nothing_between(start: float, end: float, shown: list[float]) -> None:
    assert COUNTED.values("a", start, end) == shown


def test_around_a_window_lie_the_readings_before_and_after_it() -> None:
    assert COUNTED.around("a", 10.5, 10.6) == Series([10.0, 11.0], [0.0, 100.0])
    assert COUNTED.around("a", 11.0, 11.0) == Series([11.0], [100.0])
    assert COUNTED.around("a", 0.0, 99.0) == Series([10.0, 11.0, 13.0], [0.0, 100.0, 300.0])
    assert COUNTED.around("b", 0.0, 99.0) == Series([], [])


def test_the_span_of_a_column_is_from_its_first_reading_to_its_last() -> None:
    assert COUNTED.span("a") == (10.0, 13.0)


def test_a_timeline_that_is_put_away_reads_the_same_and_others_come_behind_it(
    tmp_path: Path, path: str, write: Callable[..., Writer]
) -> None:
    write((0, 1.0, [1, 2])).end({"ended_s": 2.0})
    kept = tmp_path / "deep" / "er" / "42_0.jsonl.gz"
    timeline.keep(path, str(kept))
    assert read(str(kept)).ended == {"ended_s": 2.0}
    timeline.keep(path, str(kept))
    assert gzip.decompress(kept.read_bytes()) == 2 * Path(path).read_bytes()
    assert [file.name for file in kept.parent.iterdir()] == [kept.name]


@pytest.fixture
def kept(tmp_path: Path, path: str) -> Path:
    """A file of the timelines of three runs, each with one reading; of the second the monitor was killed."""
    file = tmp_path / "42_0.jsonl.gz"
    for number in range(3):
        writer = Writer(path, {**HEADER, "run": f"{number}-41-0-1"})
        writer.reading(0, 1.0, [number, 2])
        if number == 1:
            writer.flush()
        else:
            writer.end({"ended_s": 2.0 + number})
        timeline.keep(path, str(file))
    return file


def test_of_kept_timelines_those_that_are_wanted_are_read(kept: Path) -> None:
    found = timeline.read_kept(str(kept), lambda header: header["run"] != "1-41-0-1")
    assert [each.run for each in found] == ["0-41-0-1", "2-41-0-1"]
    assert [each.values("cpu.busy_ms", 0, 9) for each in found] == [[0], [2]]
    assert [each.ended for each in found] == [{"ended_s": 2.0}, {"ended_s": 4.0}]


def test_a_kept_timeline_ends_where_the_next_begins(kept: Path) -> None:
    (found,) = timeline.read_kept(str(kept), lambda header: header["run"] == "1-41-0-1")
    assert found.values("cpu.busy_ms", 0, 9) == [1]
    assert found.ended is None


def test_of_kept_timelines_that_are_not_wanted_no_reading_is_parsed(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []
    loads = json.loads
    monkeypatch.setattr(timeline.json, "loads", lambda text: parsed.append(text) or loads(text))
    timeline.read_kept(str(kept), lambda header: False)
    assert len(parsed) == 5  # three headers, two ends
    assert all(text.startswith("{") for text in parsed)


def test_what_has_no_header_belongs_to_no_kept_timeline(tmp_path: Path, path: str) -> None:
    file = tmp_path / "42_0.jsonl.gz"
    for number in range(2):
        writer = Writer(path, HEADER)
        writer.reading(0, 1.0, [number, 2])
        writer.end({"ended_s": 2.0})
        if number:
            Path(path).write_text("{damaged\n" + Path(path).read_text().partition("\n")[2])
        timeline.keep(path, str(file))
    (found,) = timeline.read_kept(str(file), lambda header: True)
    assert found.values("cpu.busy_ms", 0, 9) == [0]


@pytest.mark.parametrize("damage", [b"", b"nothing", b"\x1f\x8b", b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xff\xff"], ids=repr)
def test_what_lies_before_damage_of_a_kept_file_is_read(kept: Path, damage: bytes) -> None:
    content = kept.read_bytes()
    kept.write_bytes(content + damage)
    assert len(timeline.read_kept(str(kept), lambda header: True)) == 3
    kept.write_bytes(damage)
    assert timeline.read_kept(str(kept), lambda header: True) == []
    kept.unlink()
    assert timeline.read_kept(str(kept), lambda header: True) == []


def test_no_line_is_read_that_no_monitor_would_write(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What anybody has packed may be a thousand times as large as its file."""
    with gzip.open(kept, "at") as file:
        file.write("[" * 3 * timeline.LONGEST_LINE)
    assert len(timeline.read_kept(str(kept), lambda header: True)) == 3
    monkeypatch.setattr(timeline, "MOST_READ", 10)
    assert len(timeline.read_kept(str(kept), lambda header: True)) == 1


def test_the_file_of_a_host_is_named_after_it() -> None:
    assert timeline.file_name("n1") == "monitor-n1.jsonl"
