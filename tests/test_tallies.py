"""The counts that `make soak` prints, on sweeps in which something went wrong."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.tallies import Files, count_files, tally, tally_of


def test_a_sweep_in_which_all_is_well_has_lost_and_doubled_nothing() -> None:
    assert tally(3, [(2, "completed"), (1, "completed"), (3, "completed")]) == (0, 0, 0)


def test_what_is_lost_double_or_did_not_complete_is_counted() -> None:
    records = [(1, "completed"), (1, "completed"), (1, "completed"), (2, "failed"), (4, "timeout"), (4, "completed")]
    found = tally(6, records)
    assert (found.lost, found.double, found.failed) == (3, 3, 1)


def test_records_are_read_from_all_files_of_all_batches(tmp_path: Path) -> None:
    for batch, numbers in (("job-001.aa", (1, 2)), ("job-001.bb", (2,))):
        lines = [
            json.dumps({"user_parameters": {"number": number}, "status": "completed"}) + "\n" for number in numbers
        ]
        (tmp_path / batch).mkdir()
        (tmp_path / batch / "7_0.jsonl").write_text("".join(lines))
    assert tally_of(3, tmp_path) == (1, 1, 0)


def test_the_largest_folder_is_that_with_most_files_and_folders(tmp_path: Path) -> None:
    for name in ("a/1", "a/2", "a/b/3", "c/4"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert count_files([tmp_path / "a", tmp_path / "c"]) == Files(files=4, folders=3, largest=3)
