"""What is skipped because something smaller ran out of memory, and what never is."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.core.run_spec import PlannedRun, parse
from hpcbench.core.start_rules import oom_pruning
from hpcbench.core.start_rules.oom_pruning import Note, note, notes, too_large
from hpcbench.core.status import COMPLETED, STATUSES
from hpcbench.core.status import OUT_OF_MEMORY as OOM

GROUP = "ab54a98ceb1f0ad2"


def run(group: str = GROUP, **values: float) -> PlannedRun:
    case = "c" + "-".join(f"{value:g}" for value in values.values())
    return PlannedRun(case, 0, 1, 0, {}, {}, {}, {"group": group, "values": values} if values else None)


def skipped(planned: PlannedRun, results: Path) -> str | None:
    return too_large(planned, notes(planned, str(results)))


def told(results: Path, status: str, **values: float) -> None:
    note(run(**values), status, str(results))


def test_what_is_larger_than_what_ran_out_of_memory_is_skipped_and_says_why(tmp_path: Path) -> None:
    told(tmp_path, OOM, batch_size=512)
    assert skipped(run(batch_size=1024), tmp_path) == (
        "batch_size=512 ran out of memory (case c512, run 1), and batch_size=1024 is larger"
    )


@pytest.mark.parametrize("size", [256, 511.5, 512])
def test_what_is_smaller_or_the_very_case_is_tried(size: float, tmp_path: Path) -> None:
    told(tmp_path, OOM, batch_size=512)
    assert skipped(run(batch_size=size), tmp_path) is None


def test_of_several_the_smallest_is_the_reason(tmp_path: Path) -> None:
    for size in (512, 64, 256):
        told(tmp_path, OOM, batch_size=size)
    assert "batch_size=64 ran out of memory" in str(skipped(run(batch_size=1024), tmp_path))


@pytest.mark.parametrize(
    ("batch_size", "length", "is_skipped"),
    [(64, 512, True), (128, 256, True), (128, 512, True), (64, 256, False), (128, 128, False), (32, 512, False)],
)
def test_of_two_values_none_may_be_smaller(batch_size: int, length: int, is_skipped: bool, tmp_path: Path) -> None:
    told(tmp_path, OOM, batch_size=64, length=256)
    assert (skipped(run(batch_size=batch_size, length=length), tmp_path) is not None) == is_skipped


def test_another_group_is_none_of_its_business(tmp_path: Path) -> None:
    told(tmp_path, OOM, batch_size=512)
    assert skipped(run("ab54a98ceb1f0ad3", batch_size=1024), tmp_path) is None


@pytest.mark.parametrize("status", sorted(set(STATUSES) - {OOM}))
def test_no_other_outcome_skips_anything(status: str, tmp_path: Path) -> None:
    told(tmp_path, status, batch_size=512)
    assert skipped(run(batch_size=1024), tmp_path) is None


@pytest.mark.parametrize("first", [OOM, COMPLETED])
@pytest.mark.parametrize("fits", [512, 2048])
def test_what_completes_at_that_size_or_beyond_refutes_it(first: str, fits: int, tmp_path: Path) -> None:
    """It was a neighbour's doing, or it has been resumed with more room; whichever was first."""
    for status in sorted((OOM, COMPLETED), key=lambda each: each != first):
        told(tmp_path, status, batch_size=512 if status == OOM else fits)
    assert skipped(run(batch_size=4096), tmp_path) is None
    told(tmp_path, OOM, batch_size=3000)
    assert "batch_size=3000" in str(skipped(run(batch_size=4096), tmp_path))


def test_what_completes_below_it_does_not(tmp_path: Path) -> None:
    told(tmp_path, OOM, batch_size=512)
    told(tmp_path, COMPLETED, batch_size=511)
    assert skipped(run(batch_size=1024), tmp_path)


def test_without_monotone_nothing_is_noted_or_skipped(tmp_path: Path) -> None:
    note(run(), OOM, str(tmp_path))
    assert list(tmp_path.iterdir()) == []
    assert too_large(run(), []) is None
    assert parse(json.dumps({**run()._asdict(), "size": None})).size is None


def test_only_what_is_new_is_noted_so_that_a_folder_stays_small(tmp_path: Path) -> None:
    for size in range(2000, 0, -1):
        told(tmp_path, COMPLETED, batch_size=size)
    for size in range(3000, 6000):
        told(tmp_path, OOM, batch_size=size)
    (folder,) = tmp_path.glob("*/*/*")
    assert folder == tmp_path / "larger_than_oom" / GROUP[:2] / GROUP
    assert sorted(file.name for file in folder.iterdir()) == ["c2000-completed.json", "c3000-out_of_memory.json"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"status": "out_of_mem',
        "[]",
        "null",
        '{"status": "out_of_memory", "case": "c", "run": 1, "values": {"batch_size": "1"}}',
        '{"status": "out_of_memory", "case": "c", "run": 1, "values": {"seed": 1}}',
        '{"status": "out_of_memory", "case": "c", "run": 1, "values": {"batch_size": 1, "seed": 1}}',
        '{"status": "out_of_memory", "case": "c", "run": 1, "values": [1]}',
        '{"status": "out_of_memory", "case": "c", "run": 1, "values": {"batch_size": NaN}}',
        '{"status": "out_of_memory", "values": {"batch_size": 1}}',
        "\xff",
    ],
)
def test_a_note_that_is_damaged_or_half_written_skips_nothing(text: str, tmp_path: Path) -> None:
    told(tmp_path, OOM, batch_size=4096)
    (file,) = tmp_path.glob("*/*/*/*")
    file.with_name("damaged.json").write_bytes(text.encode("latin-1"))
    file.with_name("folder.json").mkdir()
    os.mkfifo(file.with_name("pipe.json"))  # nobody writes into it: to open it would wait for ever
    assert skipped(run(batch_size=1024), tmp_path) is None


def test_a_note_never_writes_through_a_link(tmp_path: Path) -> None:
    told(tmp_path, OOM, batch_size=512)
    (file,) = tmp_path.glob("*/*/*/*")
    victim = tmp_path / "victim"
    victim.write_text("mine")
    file.unlink()
    file.symlink_to(victim)
    told(tmp_path, OOM, batch_size=512)
    assert victim.read_text() == "mine"


def test_where_nothing_can_be_written_nothing_is_skipped_and_nothing_breaks(tmp_path: Path) -> None:
    (tmp_path / "larger_than_oom").write_text("no folder")
    told(tmp_path, OOM, batch_size=512)
    assert skipped(run(batch_size=1024), tmp_path) is None


sizes = st.fixed_dictionaries({"a": st.integers(0, 4), "b": st.integers(0, 4)})


@given(outcome=st.lists(st.tuples(st.sampled_from([OOM, COMPLETED]), sizes), max_size=8), asked=sizes)
def test_what_is_left_unnoted_makes_nothing_be_skipped_that_would_not_be(
    outcome: list[tuple[str, dict[str, int]]], asked: dict[str, int]
) -> None:
    """The rule, over all that has happened, against the same over what was new when it happened."""
    everything = [Note(status, "c", 1, dict(values)) for status, values in outcome]
    kept: list[Note] = []
    for each in everything:
        if not oom_pruning._says_nothing_new(each.status, each.values, kept):
            kept.append(each)
    planned = run(**asked)
    assert too_large(planned, everything) or not too_large(planned, kept)


@given(outcome=st.lists(st.tuples(st.sampled_from([OOM, COMPLETED]), sizes), max_size=8), limit=st.integers(0, 9))
def test_nothing_that_fits_is_skipped_where_memory_really_grows_with_the_values(
    outcome: list[tuple[str, dict[str, int]]], limit: int
) -> None:
    def fits(values: dict[str, int]) -> bool:
        return values["a"] + values["b"] <= limit

    known = [Note(COMPLETED if fits(values) else OOM, "c", 1, dict(values)) for _, values in outcome]
    for a in range(5):
        for b in range(5):
            if too_large(run(a=a, b=b), known):
                assert not fits({"a": a, "b": b})
