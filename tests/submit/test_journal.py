from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from hpcbench.errors import UserError
from hpcbench.submit.journal import Journal, Submission, compact_elements, expand_elements, locked

FIRST = Submission("aa", "job-001", (0, 1, 2, 7))
SECOND = Submission("bb", "job-002", (0,))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def test_a_journal_reads_as_it_was_written(path: Path) -> None:
    journal = Journal(path)
    journal.submitting(FIRST)
    journal.submitted("aa", "123")
    journal.submitting(SECOND)
    journal.rejected("bb", 'no: "such" partition\nnowhere')
    journal.submitting(Submission("cc", "job-002", (0,)))
    journal.cancelled(["123"])
    assert journal.submissions == [
        Submission("aa", "job-001", (0, 1, 2, 7), "123"),
        Submission("bb", "job-002", (0,), None, rejected=True),
        Submission("cc", "job-002", (0,)),
    ]
    assert Journal.read(path) == journal


def test_every_event_is_a_line_of_json_with_a_time(path: Path) -> None:
    journal = Journal(path)
    journal.submitting(FIRST)
    journal.submitted("aa", "123")
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert [event["event"] for event in events] == ["submitting", "submitted"]
    assert all("at" in event for event in events)
    assert events[0]["elements"] == "0-2,7"


def test_a_sweep_without_a_journal_has_no_submissions(path: Path) -> None:
    assert Journal.read(path).submissions == []


@pytest.mark.parametrize("cut", range(1, 20))
def test_a_line_that_a_death_cut_off_is_ignored_and_does_not_swallow_the_next(cut: int, path: Path) -> None:
    journal = Journal(path)
    journal.submitting(FIRST)
    whole = path.read_bytes()
    journal.submitted("aa", "123")
    path.write_bytes(whole + path.read_bytes()[len(whole) :][:-cut])
    read = Journal.read(path)
    assert read.submissions[0].slurm_id == ("123" if cut == 1 else None)  # 1: only the line break is missing
    read.submitted("aa", "456")
    assert Journal.read(path).submissions == [Submission("aa", "job-001", (0, 1, 2, 7), "456")]


def test_bytes_that_are_no_text_spoil_only_their_line(path: Path) -> None:
    Journal(path).submitting(FIRST)
    path.write_bytes(path.read_bytes() + b"\xff\x00{\n[1]\n8\n")
    assert Journal.read(path).submissions == [FIRST]


@pytest.mark.parametrize(
    ("elements", "text"),
    [((5,), "5"), ((0, 1), "0-1"), ((0, 1, 2, 3, 7), "0-3,7"), ((9, 4, 5), "4-5,9"), (tuple(range(1000)), "0-999")],
)
def test_elements_are_written_as_sbatch_writes_them(elements: tuple[int, ...], text: str) -> None:
    assert compact_elements(elements) == text
    assert expand_elements(text) == tuple(sorted(elements))


@hypothesis_settings(derandomize=True)
@given(st.sets(st.integers(0, 1000), max_size=60))
@example(set())
def test_elements_survive_being_written_in_short(elements: set[int]) -> None:
    assert expand_elements(compact_elements(tuple(elements))) == tuple(sorted(elements))


def test_the_lock_of_a_sweep_refuses_another_process_and_ends_with_its_holder(tmp_path: Path) -> None:
    program = "import pathlib, sys\nfrom hpcbench.submit.journal import locked\nwith locked(pathlib.Path(sys.argv[1])):"
    program += " print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout
        holder.stdout.readline()
        with pytest.raises(UserError, match="another hpcbench is working on this sweep"), locked(tmp_path):
            pass
        holder.kill()
    with locked(tmp_path):
        pass
    with locked(tmp_path):
        pass
