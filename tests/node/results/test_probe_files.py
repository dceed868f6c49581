"""Files of the probe as other machines and other programs may leave them."""

from __future__ import annotations

import json
import os
import sys
from array import array
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.node.results.probe_files import read_all

OTHER = "big" if sys.byteorder == "little" else "little"
HEAD = {"format": 1, "host": "n1", "rank": 0, "ranks": None, "epoch": 0.0, "byteorder": sys.byteorder}

Write = Callable[..., Path]


def numbers(kind: str, values: list[Any], *, swapped: bool = False) -> str:
    made = array(kind, values)
    if swapped:
        made.byteswap()
    return b64encode(made.tobytes()).decode()


def steps(start: float, end: float, items: int, waited: float = -1.0, *, swapped: bool = False) -> dict[str, str]:
    return {"steps": numbers("d", [start, end, items, waited], swapped=swapped)}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def made(*lines: Any, name: str = "n1-1-0.jsonl", end: str = "\n") -> Path:
        folder = tmp_path / "run" / ".hpcbench_probe"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("\n".join(map(json.dumps, lines)) + end)
        return tmp_path

    return made


def test_another_byte_order_is_read(write: Write) -> None:
    head = {**HEAD, "byteorder": OTHER}
    (process,), _ = read_all(str(write(head, steps(1.0, 2.5, 64, swapped=True))))
    assert (process.starts.tolist(), process.ends.tolist(), process.items.tolist()) == ([1.0], [2.5], [64])


def test_a_torn_last_line_is_left_out(write: Write) -> None:
    whole, torn = steps(1.0, 2.0, 1), steps(2.0, 3.0, 1)
    scratch = write(HEAD, whole, torn, end="")
    (process,), refused = read_all(str(scratch))
    assert (process.ends.tolist(), refused) == ([2.0], [])


def test_processes_without_steps_are_read_in_rank_order(write: Write) -> None:
    write({**HEAD, "rank": None}, steps(1.0, 2.0, 1), name="a.jsonl")
    write({**HEAD, "rank": 1}, steps(1.0, 2.0, 1), name="b.jsonl")
    write(HEAD, steps(1.0, 2.0, 1), name="c.jsonl")
    write({**HEAD, "rank": 2}, {"log": "a", "at": numbers("q", [0]), "values": numbers("d", [1.0])}, name="d.jsonl")
    scratch = write({"anything": 1}, name="notes.txt")
    found, refused = read_all(str(scratch))
    assert [(process.rank, len(process.ends)) for process in found] == [(0, 1), (1, 1), (2, 0), (None, 1)]
    assert refused == []


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([{**HEAD, "format": 2}], "its format is 2, not 1"),
        ([HEAD, {"steps": numbers("d", [1.0])}], "a line has 1 numbers; steps have four each"),
        ([HEAD, {"steps": "AAAA"}], "cannot be read"),
        ([HEAD, {"log": "loss"}], "'at'"),
        ([HEAD, {"log": "loss", "at": "", "values": ""}], "a series is empty"),
        ([HEAD, 5], "cannot be read"),
        ([{"format": 1}], "'byteorder'"),
        ([HEAD, steps(2.0, 1.0, 1)], "invalid steps"),
        ([HEAD, steps(1.0, float("nan"), 1)], "invalid steps"),
        ([HEAD, steps(1.0, 2.0, -1)], "invalid steps"),
        ([{**HEAD, "rank": float("inf")}], "cannot convert float infinity"),
    ],
)
def test_invalid_files_are_rejected_by_name(write: Write, lines: list[Any], reason: str) -> None:
    found, (refused,) = read_all(str(write(*lines)))
    assert found == []
    assert refused.startswith("probe file 'n1-1-0.jsonl' cannot be read: ")
    assert reason in refused


def test_deep_nesting_is_rejected(write: Write) -> None:
    scratch = write(HEAD)
    (scratch / "run" / ".hpcbench_probe" / "deep.jsonl").write_text("[" * 100_000 + "\n")
    assert len(read_all(str(scratch))[1]) == 1


def test_special_files_are_rejected_without_waiting(write: Write) -> None:
    folder = write(HEAD, steps(1.0, 2.0, 1)) / "run" / ".hpcbench_probe"
    os.mkfifo(folder / "fifo.jsonl")
    (folder / "link.jsonl").symlink_to(folder / "n1-1-0.jsonl")
    found, (fifo, link) = read_all(str(folder.parents[1]))
    assert len(found) == 1
    assert "not a regular file" in fifo
    assert "link.jsonl" in link


def test_a_command_without_the_probe_has_no_steps(tmp_path: Path) -> None:
    assert read_all(str(tmp_path)) == ([], [])
